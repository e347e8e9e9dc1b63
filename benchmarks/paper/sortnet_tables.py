"""Tables 1 and 2 of the SortNet paper, by NDCG@n, P@n and MAP.

Table 1: hidden units of the comparator. Table 2: SortNet that chooses its comparator by MAP or by
P@10, against RankBoost, RankSVM, FRank, ListNet and AdaRank. The paper's data are TD2003 and TD2004
of LETOR 2.0; any folder of folds can be used. Features are scaled within queries (equation 5), and
labels are binary. The validation set chooses SortNet's comparator, and stops those others that stop
early. SortNet sorts the test lists by its comparator. Queries without a relevant document are left
out.
"""

import functools

import numpy as np
from data_sets import name_of, read_splits
from parameters import about_rankers, as_compared
from protocol import measure, parser_of
from transforms import scaled_within_queries

from treerank.baselines.neural.sortnet import SortNet
from treerank.metrics import get_metric
from treerank.registry import ranker_class

N_HIDDEN = (10, 20, 30)
MAX_ITER = {"full": 20, "quick": 8, "tiny": 1}
N_FOLDS = {"full": 5, "quick": 2, "tiny": 1}
METRICS = [f"{stem}@{n}" for stem in ("ndcg", "p") for n in range(1, 11)] + ["map"]
TABLE1 = {
    "TD2003": {"10": 0.23, "20": 0.20, "30": 0.21},
    "TD2004": {"10": 0.41, "20": 0.45, "30": 0.41},
}
#: P@10 and NDCG@10 on TD2003, then on TD2004.
TABLE2 = {
    "SortNet, MAP": [0.17, 0.28, 0.27, 0.51],
    "SortNet, P@10": [0.20, 0.31, 0.27, 0.49],
    "RankBoost": [0.18, 0.29, 0.25, 0.47],
    "RankSVM": [0.21, 0.34, 0.23, 0.42],
    "FRank": [0.19, 0.34, 0.26, 0.47],
    "ListNet": [0.22, 0.37, 0.26, 0.46],
    "AdaRank, MAP": [0.10, 0.19, 0.22, 0.41],
    "AdaRank, NDCG": [0.16, 0.27, 0.21, 0.39],
}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    parser.add_argument("--tables", nargs="+", type=int, choices=(1, 2), default=[1, 2])
    arguments = parser.parse_args(argv)
    for folder in arguments.data:
        for table in arguments.tables:
            run_table(arguments, folder, table)


def run_table(arguments, folder, table):
    """Measure one table on one data set."""
    protocol = arguments.protocol
    about = {"data": name_of(folder), "max_iter": MAX_ITER[protocol]}
    about |= {"paper_map": TABLE1} if table == 1 else {"paper_p_and_ndcg": TABLE2}
    varied = {1: [{"n_hidden": n} for n in N_HIDDEN], 2: [{"ranker": name} for name in TABLE2]}
    points = [
        point | {"fold": fold}
        for fold in range(N_FOLDS[protocol])
        for point in varied[table][: 1 if protocol == "tiny" else None]
    ]
    run = functools.partial(run_point, folder)
    measure(arguments, f"sortnet-table{table}", about["data"], about, points, run, shown=shown)


def shown(about):
    """Return the rankers as the file shows them."""
    if "paper_map" in about:
        return about_rankers({f"{n} hidden": sortnet(about, n_hidden=n) for n in N_HIDDEN})
    return about_rankers({name: contestant(about, name) for name in TABLE2})


def sortnet(about, n_hidden=20, metric="map"):
    """Return a comparator."""
    max_iter = about["max_iter"]
    return SortNet(n_hidden, max_iter=max_iter, metric=metric, random_state=0)


def contestant(about, name):
    """Return a ranker of Table 2."""
    stem, _, metric = name.partition(", ")
    if stem == "SortNet":
        return sortnet(about, metric=metric.lower())
    if stem == "AdaRank":
        return ranker_class(stem)(metric={"MAP": "map", "NDCG": "ndcg@10"}[metric])
    return ranker_class(stem)(**{"random_state": 0} if stem == "ListNet" else {})


def share_of_circles(model, X, qid, n_triples=10_000):
    """Return how often, of three documents of a query, a beats b, b beats c, and c beats a."""
    rng, drawn = np.random.default_rng(0), []
    queries = [rows for q in np.unique(qid) if len(rows := np.flatnonzero(qid == q)) >= 3]
    n_possible = np.array([float(len(rows)) ** 3 for rows in queries])
    for query in rng.choice(len(queries), n_triples, p=n_possible / n_possible.sum()):
        drawn.append(rng.choice(queries[query], 3, replace=False))
    a, b, c = np.transpose(drawn)
    signs = [np.sign(model.compare(X[i], X[j])) for i, j in ((a, b), (b, c), (c, a))]
    return float((np.abs(sum(signs)) == 3).mean())


def run_point(folder, about, fold, ranker=None, **sizes):
    """Train one ranker and measure how it sorts the test lists."""
    splits = read_splits(folder, binary=True, tiny=about["max_iter"] == 1)
    split = splits[fold]
    parts = split.train, split.validation, split.test
    train, validation, test = ((scaled_within_queries(X, q), y, q) for X, y, q in parts)
    model = contestant(about, ranker) if ranker else sortnet(about, **sizes)
    model = as_compared(model)
    model.fit(*train, eval_set=validation)
    X, y, qid = test
    is_sortnet = isinstance(model, SortNet)
    # SortNet ranks by its comparator, which need not agree with its scores.
    scores = -model.rank(X, qid).astype(float) if is_sortnet else model.predict(X)
    values = {name: float(get_metric(name)(y, scores, qid)) for name in METRICS}
    return values | ({"share_of_circles": share_of_circles(model, X, qid)} if is_sortnet else {})


if __name__ == "__main__":
    main()
