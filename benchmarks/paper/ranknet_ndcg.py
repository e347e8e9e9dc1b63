"""Tables 3 and 4 of the RankNet paper on public data: RankNet against PRank and others by NDCG@15.

    python benchmarks/paper/ranknet_ndcg.py --data ../MQ2008

The paper's data are private. It compares PRank, quadratic PRank, OAP-BPM (``LargeMarginPRank``),
RankProp, and RankNet with one layer and with two. ``--data`` are folders of folds. The validation
set of a fold chooses the learning rate of networks, and the number of epochs of perceptrons, which
stop early by themselves.
Queries without a relevant document are left out.
"""

import functools
from pathlib import Path

from comparisons import compared
from data_sets import name_of, read_splits
from line_up import ranker
from parameters import about_rankers
from protocol import measure, parser_of

METRIC = "ndcg@15"
EPOCHS = {"full": 50, "quick": 30, "tiny": 1}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    arguments = parser.parse_args(argv)
    rankers, grids = contestants(arguments.protocol)
    for folder in arguments.data:
        about = {"data": name_of(folder), "metric": METRIC}
        run = functools.partial(run_folds, arguments, Path(folder), rankers, grids)
        points = [{"test": "folds"}]
        measure(arguments, "ranknet-ndcg", about["data"], about, points, run, shown=shown, jobs=1)


def shown(about):
    """Return the rankers as the file shows them."""
    return about_rankers(*contestants(about["protocol"]))


def contestants(protocol):
    """Return the rankers of the paper, and their grids."""
    n_epochs = EPOCHS[protocol]
    rankers = {
        "PRank": ranker("PRank", metric=METRIC),
        "quadratic PRank": ranker("QuadraticPRank", metric=METRIC),
        "OAP-BPM": ranker("LargeMarginPRank", metric=METRIC),
        "RankProp": ranker("RankProp", n_epochs=n_epochs),
        "RankNet, one layer": ranker("RankNet", hidden=(), n_epochs=n_epochs),
        "RankNet, two layers": ranker("RankNet", n_epochs=n_epochs),
    }
    if protocol == "tiny":
        return {name: rankers[name] for name in ("PRank", "RankNet, one layer")}, {}
    rates = {"learning_rate": [0.01, 0.1]}
    return rankers, {name: rates for name in rankers if name.startswith("RankN")} | {
        "RankProp": {"learning_rate": [0.001, 0.003]}
    }


def run_folds(arguments, folder, rankers, grids, about, test):
    """Compare on the folds."""
    splits = read_splits(folder, tiny=arguments.protocol == "tiny")
    return compared(arguments, "ranknet-ndcg", rankers, splits, grid=grids, metrics=[METRIC])


if __name__ == "__main__":
    main()
