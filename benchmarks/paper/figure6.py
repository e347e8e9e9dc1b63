"""Figure 6 of the DirectRanker paper: r of neighbors in a sorted list peaks between classes.

RankNet* learns Gaussian classes, all of them or merged into two, and sorts a test set. A boundary
of two classes is the best cut of the sorted list between them. It counts as found if a peak of r is
nearer to it than a quarter of a class; as many peaks are taken as there are boundaries. The share
found by chance comes from as many random cuts. Whether classes that were merged in training are
recovered is measured within each merged class: by the adjusted Rand index of discovered and true
classes, whose expectation under chance is 0, and against shuffled labels.

With ``--data``, one query of a folder is sorted, too: that of the first test set with the most
relevant documents (panels b and c). There, merged labels keep an order. It is measured on all folds
by the share of pairs within a merged class, of one query and of different labels, that are sorted
right; by chance it is one half.
"""

import functools

import numpy as np
from data_sets import binarized, name_of, read_splits
from parameters import about_rankers
from protocol import add_sets, measure, parser_of
from sklearn.metrics import adjusted_rand_score
from synthetic import START, drawn_sets, normal, star

from treerank.inspection.class_boundaries import find_peaks_of_r
from treerank.metrics import get_metric

N_TRAIN = {"full": 100_000, "quick": 20_000, "tiny": 300}
N_TEST = {"full": 10_000, "quick": 10_000, "tiny": 200}
N_SETS = {"full": 10, "quick": 5, "tiny": 1}
N_EPOCHS = {"full": 10, "quick": 10, "tiny": 1}
N_CLASSES = 5
GAUSSIAN = "gaussian classes"
SORTED_RIGHT = get_metric("pairwise_accuracy")
#: Documents and scores of this many places are kept, for the figure.
N_DRAWN = 400


def main(argv=None):
    parser = parser_of(__doc__)
    add_sets(parser)
    parser.add_argument("--data", nargs="*", default=[], help="folders for panels b and c")
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol
    about = {
        "n_train": N_TRAIN[protocol],
        "n_test": N_TEST[protocol],
        "n_epochs": N_EPOCHS[protocol],
        "n_classes": N_CLASSES,
        "n_features": 70,
        "found": "a peak nearer than a quarter of a class",
    }
    points = [
        {"merged": merged, "seed": seed}
        for merged in (False, True)
        for seed in range(arguments.sets or N_SETS[protocol])
    ]
    measure(arguments, "figure6", GAUSSIAN, about, points, run_gaussian, shown=shown)
    for folder in arguments.data:
        n_folds = 1 if protocol == "tiny" else 5
        points = [
            {"merged": merged} | part
            for part in ({}, *({"fold": fold} for fold in range(n_folds)))
            for merged in (False, True)
        ]
        about = {"data": name_of(folder), "n_epochs": 3 * N_EPOCHS[protocol]}
        run = functools.partial(run_folder, folder)
        measure(arguments, "figure6", about["data"], about, points, run, shown=shown)


def shown(about):
    """Return the ranker as the file shows it; folders may have fewer classes."""
    return about_rankers({"RankNet*": ranker_of(about, N_CLASSES, seed=0)})


def ranker_of(about, n_classes, seed):
    """Return RankNet*."""
    return star(n_classes, about["n_epochs"], seed, start=START)


def run_gaussian(about, merged, seed):
    """Find the classes of a test set by peaks."""
    n_classes = about["n_classes"]
    train, test, _ = drawn_sets(
        about["n_train"],
        about["n_test"],
        seed,
        n_classes=n_classes,
        n_features=about["n_features"],
    )
    labels = binarized(train[1], n_classes - 1) if merged else train[1]
    train_X, test_X = normal(train[0], test[0])
    ranker = ranker_of(about, n_classes, seed).fit(train_X, labels, train[2])
    y, scores = test[1], ranker.predict(test_X)
    true = class_boundaries(y, scores)
    found = found_positions(scores, n_classes)
    guessed = np.random.default_rng(seed).integers(1, len(y), size=(200, n_classes - 1))
    discovered = find_classes(scores, n_classes)
    result = {
        "share_found": share_found(true, found, len(y) / n_classes),
        "share_by_chance": np.mean(
            [share_found(true, guess, len(y) / n_classes) for guess in guessed]
        ),
        "rand_index": adjusted_rand_score(y, discovered),
    }
    if merged:
        result["rand_index_within"] = within_merged(y, discovered, labels_of=n_classes, seed=seed)
    return result | (drawn_list(y, scores, true, found) if seed == 0 else {})


def run_folder(folder, about, merged, fold=None):
    """Sort the test set of a fold, or draw the query with the most relevant documents of the first.

    All folds tell how well the classes within a merged one are sorted.
    """
    split = read_splits(folder, tiny=about["n_epochs"] < 10)[fold or 0]
    X, y, qid = split.train
    highest = y.max()
    labels = binarized(y, highest) if merged else y
    train_X, test_X = normal(X, split.test.X)
    n_classes = len(np.unique(y))
    ranker = ranker_of(about, n_classes, seed=0).fit(train_X, labels, qid)
    scores = ranker.predict(test_X)
    if fold is not None:
        return order_within(split.test, scores, highest)
    codes = np.unique(split.test.qid, return_inverse=True)[1]
    rows = np.flatnonzero(codes == np.bincount(codes, split.test.y > 0).argmax())
    test_y, scores = split.test.y[rows], scores[rows]
    found = found_positions(scores, n_classes)
    return drawn_list(test_y, scores, class_boundaries(test_y, scores), found)


def order_within(test, scores, highest):
    """Return by merged class the share of pairs sorted right, the mean over queries."""
    is_upper = binarized(test.y, highest) == 1
    found = {}
    for name, rows in (("lower", ~is_upper), ("upper", is_upper)):
        if len(np.unique(test.y[rows])) > 1:
            values = SORTED_RIGHT.per_query(test.y[rows], scores[rows], test.qid[rows])
            values = values[~np.isnan(values)]
            error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
            found[name] = {"mean": float(values.mean()), "error": error, "n_queries": len(values)}
    return {"sorted_right": found}


def class_boundaries(y, scores):
    """Return how many documents precede the best cut between each two neighboring classes."""
    falling = np.asarray(y)[np.argsort(-scores, kind="stable")]
    cuts = []
    for label in np.unique(y)[:0:-1]:
        gain = np.concatenate([[0], np.cumsum(np.where(falling >= label, 1, -1))])
        cuts.append(int(np.argmax(gain)))
    return np.array(cuts)


def found_positions(scores, n_classes):
    """Return the positions of the highest peaks; fewer where there are no more."""
    try:
        return find_peaks_of_r(scores, n_classes=n_classes).positions
    except ValueError:
        return find_peaks_of_r(scores).positions


def find_classes(scores, n_classes):
    """Return the discovered class of each document."""
    try:
        return find_peaks_of_r(scores, n_classes=n_classes).classes(scores)
    except ValueError:
        return find_peaks_of_r(scores).classes(scores)


def share_found(true, found, class_size):
    """Return the share of true boundaries that have a found one nearby."""
    if len(found) == 0:
        return 0.0
    distance = np.abs(np.subtract.outer(true, found)).min(axis=1)
    return float((distance <= class_size / 4).mean())


def within_merged(y, discovered, *, labels_of, seed, n_shuffles=200):
    """Return the adjusted Rand index within each merged class, and how often chance is as good."""
    rng = np.random.default_rng(seed)
    results = {}
    for name, inside in (
        (merged, binarized(y, labels_of - 1) == is_relevant)
        for merged, is_relevant in (("lower", 0), ("upper", 1))
    ):
        own, found = y[inside], discovered[inside]
        index = adjusted_rand_score(own, found)
        by_chance = [adjusted_rand_score(rng.permutation(own), found) for _ in range(n_shuffles)]
        p_value = (1 + sum(value >= index for value in by_chance)) / (1 + n_shuffles)
        results[name] = {"index": index, "p_value": p_value}
    return results


def places_drawn(n_documents):
    """Return evenly spaced places of a sorted list."""
    return np.unique(np.linspace(0, n_documents - 1, N_DRAWN).astype(int))


def drawn_list(y, scores, true, found):
    """Return labels, scores and smoothed r at evenly spaced places of the sorted list."""
    order = np.argsort(-scores, kind="stable")
    places = places_drawn(len(order))
    r = find_peaks_of_r(scores).r
    return {
        "list": {
            "n_documents": len(y),
            "labels": np.asarray(y)[order][places].astype(int).tolist(),
            "r": [round(float(value), 5) for value in r[places]],
            "true": [int(p) for p in true],
            "found": [int(p) for p in found],
        }
    }


if __name__ == "__main__":
    main()
