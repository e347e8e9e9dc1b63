"""Figure 5 of the DirectRanker paper: small training sets and rare relevant documents.

RankNet*, RankNet, LambdaRank and ListNet by (a, b) documents in the training set and (c, d) the
share of the relevant documents that are kept; (a, c) on Gaussian classes as in Figure 4, (b, d) on
a folder given by ``--data``. In c, classes 5, 4 and 3 of six lose documents; in d, labels above the
lowest two (of five) or above the lowest (of three). The paper does not say how often its pairs are
drawn from rare classes, so RankNet* is shown with equal weights for all documents and for all
classes.
"""

import functools

import numpy as np
from data_sets import name_of, read_splits
from parameters import about_rankers
from protocol import add_sets, measure, parser_of
from sklearn.utils.class_weight import compute_sample_weight
from synthetic import DEFAULTS, START, drawn_sets, normal, star, subset_ndcg

from treerank.metrics.graded_metrics import NDCG
from treerank.registry import ranker_class

RANKERS_SHOWN = ("RankNet*", "RankNet", "LambdaRank", "ListNet")
#: RankNet* with the same weight for every class, shown where classes are thinned.
BALANCED = "RankNet*, classes balanced"
SIZES = {
    "full": (100, 1_000, 10_000, 100_000, 1_000_000),
    "quick": (100, 300, 1_000, 3_000, 10_000),
    "tiny": (100,),
}
RATIOS = {
    "full": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "quick": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "tiny": (0.5,),
}
N_TRAIN = {"full": 100_000, "quick": 10_000, "tiny": 300}
N_TEST = {"full": 10_000, "quick": 10_000, "tiny": 200}
N_SETS = {"full": 5, "quick": 3, "tiny": 1}
#: So that small sets are learned from as long as large ones: epochs for at least so many batches.
N_STEPS = {"full": 2_000, "quick": 1_000, "tiny": 2}


def main(argv=None):
    parser = parser_of(__doc__)
    add_sets(parser)
    parser.add_argument("--panels", nargs="+", choices="abcd", default=list("abcd"))
    parser.add_argument("--data", default="synthetic", help="folder for panels b and d")
    arguments = parser.parse_args(argv)
    for panel in arguments.panels:
        run_panel(arguments, panel)


def run_panel(arguments, panel):
    """Measure one panel."""
    protocol, on_folder = arguments.protocol, panel in "bd"
    by_size = panel in "ab"
    values = (SIZES if by_size else RATIOS)[protocol]
    about = {
        "varied": "n_train" if by_size else "kept share of relevant documents",
        "n_test": N_TEST[protocol],
        "n_steps": N_STEPS[protocol],
        "data": name_of(arguments.data) if on_folder else "gaussian classes",
        "n_train": N_TRAIN[protocol],
        "metric": "NDCG@20" if on_folder else "mean NDCG@20 of 50 test subsets",
    }
    points = [
        {"ranker": ranker, "value": value, "seed": seed}
        for value in values
        for seed in range(arguments.sets or N_SETS[protocol])
        for ranker in (RANKERS_SHOWN if by_size else (*RANKERS_SHOWN, BALANCED))
    ]
    run = functools.partial(run_folder, arguments.data) if on_folder else run_gaussian
    part = f"{panel}, {about['data']}"
    measure(arguments, "figure5", part, about, points, run, shown=shown)


def shown(about):
    """Return the rankers as the file shows them: five classes, as many documents as a whole set."""
    names = RANKERS_SHOWN if about["varied"] == "n_train" else (*RANKERS_SHOWN, BALANCED)
    size = {"n_documents": about["n_train"], "n_classes": DEFAULTS["n_classes"]}
    return about_rankers({name: ranker_of(about, name, **size, seed=0) for name in names})


def run_gaussian(about, ranker, value, seed):
    """Train and test one ranker on Gaussian classes."""
    by_size = about["varied"] == "n_train"
    settings = DEFAULTS | ({} if by_size else {"n_classes": 6})
    n_train = value if by_size else about["n_train"]
    train, test, _ = drawn_sets(n_train, about["n_test"], seed, **settings)
    if not by_size:
        train = thinned(train, lowest=3, share=value, seed=seed)
    scores = scores_of(about, ranker, train, test[0], settings["n_classes"], seed)
    return {"ndcg@20": subset_ndcg(test[1], scores, seed), "n_documents": len(train[1])}


def run_folder(folder, about, ranker, value, seed):
    """Train one ranker on a part of a fold's training set, and test it on the fold's test set."""
    tiny = about["n_test"] < 1_000
    splits = read_splits(folder, tiny=tiny)
    split = splits[seed % len(splits)]
    train, test = tuple(split.train), split.test
    if about["varied"] == "n_train":
        train = first_queries(train, value, seed)
    else:
        train = thinned(train, lowest=2 if train[1].max() > 2 else 1, share=value, seed=seed)
    n_classes = len(np.unique(train[1]))
    scores = scores_of(about, ranker, train, test.X, n_classes, seed)
    return {"ndcg@20": NDCG(k=20)(test.y, scores, test.qid), "n_documents": len(train[1])}


def scores_of(about, name, train, test_X, n_classes, seed):
    """Fit a ranker and score the test set."""
    X, y, qid = train
    train_X, test_X = normal(X, test_X)
    ranker = ranker_of(about, name, n_documents=len(y), n_classes=n_classes, seed=seed)
    balanced = name == BALANCED
    weight = {"sample_weight": compute_sample_weight("balanced", y)} if balanced else {}
    return ranker.fit(train_X, y, qid, **weight).predict(test_X)


def ranker_of(about, name, *, n_documents, n_classes, seed):
    """Return a ranker for a training set of a size."""
    n_epochs = max(10, min(200, about["n_steps"] * 512 // n_documents))
    if name in ("RankNet*", BALANCED):
        decay_epochs = max(1, n_epochs // 3)
        return star(n_classes, n_epochs, seed, decay_epochs=decay_epochs, start=START)
    ranker = ranker_class(name)(n_epochs=n_epochs, random_state=seed)
    # The paper of RankNet does say how it starts.
    return ranker if name == "RankNet" else ranker.set_params(start=START)


def thinned(train, *, lowest, share, seed):
    """Keep a share of the documents of labels from ``lowest`` on, at least one of each label."""
    X, y, qid = train
    rng = np.random.default_rng(seed)
    kept = [
        rng.permutation(np.flatnonzero(y == label))[: _part(y, label, lowest, share)]
        for label in np.unique(y)
    ]
    rows = np.sort(np.concatenate(kept))
    return X[rows], y[rows], qid[rows]


def _part(y, label, lowest, share):
    n_documents = np.count_nonzero(y == label)
    return n_documents if label < lowest else max(1, round(share * n_documents))


def first_queries(train, n_documents, seed):
    """Draw whole queries until there are enough documents."""
    X, y, qid = train
    ids, codes = np.unique(qid, return_inverse=True)
    turn = np.random.default_rng(seed).permutation(len(ids))
    n_so_far = np.cumsum(np.bincount(codes)[turn])
    chosen = turn[: np.searchsorted(n_so_far, n_documents) + 1]
    rows = np.flatnonzero(np.isin(codes, chosen))
    return X[rows], y[rows], qid[rows]


if __name__ == "__main__":
    main()
