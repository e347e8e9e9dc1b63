"""Table 1 of the SortNet paper: hidden units of the comparator, by NDCG@n, P@n and MAP.

The paper's data are TD2003 and TD2004 of LETOR 2.0; any folder of folds can be used. Features are
scaled within queries (equation 5), and labels are binary. The comparator is chosen by the MAP of
the validation set, and sorts the test lists. Queries without a relevant document are left out.
"""

import functools

from data_sets import name_of, read_splits
from parameters import about_rankers
from protocol import measure, parser_of

from treerank.baselines.sortnet.sortnet import SortNet
from treerank.datasets.transforms import QueryScaler
from treerank.metrics import get_metric

N_HIDDEN = (10, 20, 30)
MAX_ITER = {"full": 20, "quick": 8, "tiny": 1}
N_FOLDS = {"full": 5, "quick": 2, "tiny": 1}
METRICS = [f"{stem}@{n}" for stem in ("ndcg", "p") for n in range(1, 11)] + ["map"]
PAPER = {
    "TD2003": {"10": 0.23, "20": 0.20, "30": 0.21},
    "TD2004": {"10": 0.41, "20": 0.45, "30": 0.41},
}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol
    for folder in arguments.data:
        about = {"data": name_of(folder), "max_iter": MAX_ITER[protocol], "paper_map": PAPER}
        points = [
            {"n_hidden": n_hidden, "fold": fold}
            for fold in range(N_FOLDS[protocol])
            for n_hidden in N_HIDDEN[: 1 if protocol == "tiny" else None]
        ]
        run = functools.partial(run_point, folder)
        measure(arguments, "sortnet-table1", about["data"], about, points, run, shown=shown)


def shown(about):
    """Return the comparators as the file shows them."""
    return about_rankers(
        {f"{n_hidden} hidden": ranker_of(about, n_hidden) for n_hidden in N_HIDDEN}
    )


def ranker_of(about, n_hidden):
    """Return a comparator."""
    return SortNet(
        n_hidden, max_iter=about["max_iter"], metric="map", calibration=None, random_state=0
    )


def run_point(folder, about, n_hidden, fold):
    """Train one comparator, sort the test lists by it, and test whether it goes in circles."""
    splits = read_splits(folder, binary=True, tiny=about["max_iter"] == 1)
    split = splits[fold]
    parts = split.train, split.validation, split.test
    train, validation, test = ((QueryScaler().fit_transform(X, qid=q), y, q) for X, y, q in parts)
    ranker = ranker_of(about, n_hidden)
    ranker.fit(*train, eval_set=validation)
    X, y, qid = test
    scores = -ranker.rank(X, qid).astype(float)
    values = {name: float(get_metric(name)(y, scores, qid)) for name in METRICS}
    return values | {"share_of_circles": ranker.transitivity(X, qid).share}


if __name__ == "__main__":
    main()
