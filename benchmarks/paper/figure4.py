"""Figure 4 of the DirectRanker paper: NDCG of RankNet* by classes, features, noise and size.

Each point is the mean NDCG@20 of 50 subsets of 50 to 150 test documents, over data sets drawn anew
(section 4.5): (a) number of classes, (b) number of features, (c) noise on the labels of both sets,
(d) documents in the training set. The full protocol trains on 100,000 documents, with five data
sets per point; the quick one on 20,000, with three.
"""

from parameters import about_rankers
from protocol import add_sets, measure, parser_of
from synthetic import DEFAULTS, START, drawn_sets, normal, star, subset_ndcg

N_TRAIN = {"full": 100_000, "quick": 20_000, "tiny": 300}
N_TEST = {"full": 10_000, "quick": 10_000, "tiny": 200}
N_SETS = {"full": 5, "quick": 3, "tiny": 1}
N_EPOCHS = {"full": 10, "quick": 10, "tiny": 1}
SIZES = {
    "full": (100, 1_000, 10_000, 100_000, 1_000_000),
    "quick": (100, 300, 1_000, 3_000, 10_000, 30_000),
    "tiny": (100, 200),
}
PANELS = {
    "a": ("n_classes", (2, 3, 4, 5, 6, 8, 10)),
    "b": ("n_features", (5, 10, 20, 35, 50, 70, 100)),
    "c": ("label_noise", (0.0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75)),
}


def main(argv=None):
    parser = parser_of(__doc__)
    add_sets(parser)
    parser.add_argument("--panels", nargs="+", choices="abcd", default=list("abcd"))
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol
    panels = PANELS | {"d": ("n_train", SIZES[protocol])}
    few = 2 if protocol == "tiny" else None
    for panel in arguments.panels:
        varied, values = panels[panel]
        about = {
            "varied": varied,
            "fixed": DEFAULTS | {"n_train": N_TRAIN[protocol]},
            "n_test": N_TEST[protocol],
            "n_epochs": N_EPOCHS[protocol],
            "metric": "mean NDCG@20 of 50 test subsets of 50 to 150 documents",
        }
        seeds = range(arguments.sets or N_SETS[protocol])
        points = [{"value": value, "seed": seed} for value in values[:few] for seed in seeds]
        measure(arguments, "figure4", panel, about, points, run_point, shown=shown)


def shown(about):
    """Return the ranker as the file shows it, where nothing is varied."""
    return about_rankers({"RankNet*": ranker_of(about, about["fixed"]["n_classes"], seed=0)})


def ranker_of(about, n_classes, seed):
    """Return RankNet*."""
    return star(n_classes, about["n_epochs"], seed, start=START)


def run_point(about, value, seed):
    """Train and test on one data set; with the labels as given, and as they were before noise."""
    settings = about["fixed"] | {about["varied"]: value}
    n_train = settings.pop("n_train")
    train, test, _ = drawn_sets(n_train, about["n_test"], seed, **settings)
    train_X, test_X = normal(train[0], test[0])
    ranker = ranker_of(about, settings["n_classes"], seed)
    scores = ranker.fit(train_X, train[1], train[2]).predict(test_X)
    return {"ndcg@20": subset_ndcg(test[1], scores, seed)}


if __name__ == "__main__":
    main()
