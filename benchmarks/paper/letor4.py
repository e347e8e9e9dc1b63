"""Official scores: rankers under the convention of LETOR's Eval-Score-4.0.pl, on its five folds.

Published tables of MQ2007 and MQ2008 count queries without a relevant document as 0, and lists
shorter than k as 0 in NDCG@k. MQ2008 has many of both. So the same ranker has an NDCG@10 of about
0.23 there and above 0.70 under the DirectRanker paper's convention. All queries are used for
training and testing; parameters are chosen on the fold's validation set by MAP, under the same
convention. Our RankSVM gives every query the same weight; "pairs alike" gives every pair the same
weight, as SVMlight does.
"""

import functools
from pathlib import Path

import numpy as np
from comparisons import compared
from data_sets import name_of, read_splits
from line_up import ranker, trees
from parameters import about_rankers
from protocol import measure, parser_of

from treerank.rankers.tree_direct_ranker import TreeDirectRanker

#: NDCG@10 and MAP that a RankSVM has on MQ2008.
PUBLISHED = {"RankSVM": {"ndcg@10": 0.2254, "map": 0.4677}}
METRICS = ("map", "ndcg@10")


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    arguments = parser.parse_args(argv)
    rankers, grids = contestants(arguments.protocol)
    for folder in arguments.data:
        about = {"data": name_of(folder), "published_mq2008": PUBLISHED}
        run = functools.partial(run_folds, arguments, Path(folder), rankers, grids)
        points = [{"test": "folds"}]
        measure(arguments, "letor4", about["data"], about, points, run, shown=shown, jobs=1)


def shown(about):
    """Return the rankers as the file shows them."""
    return about_rankers(*contestants(about["protocol"]))


def contestants(protocol):
    """Return quick rankers and their grids."""
    if protocol == "tiny":
        return {"RankSVM": ranker("RankSVM"), "AdaRank": ranker("AdaRank", n_estimators=5)}, {}
    rankers = {
        "RankSVM": ranker("RankSVM"),
        "RankSVM, pairs alike": ranker("RankSVM", normalized=False),
        "RankBoost": ranker("RankBoost"),
        "AdaRank": ranker("AdaRank"),
        "TreeDirectRanker": TreeDirectRanker(trees(learning_rate=0.05)),
    }
    costs = {"C": np.logspace(-2, 2, 5).tolist()}
    return rankers, {name: costs for name in rankers if name.startswith("RankSVM")}


def run_folds(arguments, folder, rankers, grids, about, test):
    """Compare on the folds."""
    splits = read_splits(folder, keep_empty=True, tiny=arguments.protocol == "tiny")
    options = {"grid": grids, "metrics": METRICS, "convention": "letor4"}
    return compared(arguments, "letor4", rankers, splits, **options)


if __name__ == "__main__":
    main()
