"""Are TreeDirectRanker's defaults good? Each setting against the default, on validation parts.

NDCG@10 of each validation query in two columns: after 100 trees, which is what a fit without an
``eval_set`` keeps, and stopped where the other half of the queries is best. MSRD's test folds are
never read: each of its folds 0 to 2 validates once, and the other two of them train. A difference
is paired over queries, with its 95 % interval; ``*`` marks those that leave out 0. Results go to a
folder, and a second run measures only what is missing there.
"""

import argparse
from pathlib import Path

import numpy as np
from best_rankers import MSRD
from validation_curves import LENGTH, columns_of, measure, parts_of

from treerank.statistics import bootstrap_interval

SETS = (MSRD, "mq2008", "ohsumed", "clueweb09", "mslr_web30k_sample", "synthetic")
#: XGBoost with LightGBM's shape of trees, rate and penalties.
ALIKE = (
    "feature_part=xgboost,num_leaves=31,grow_policy=lossguide,max_depth=0,learning_rate=0.1,"
    "min_child_weight=0.001,reg_lambda=0.0"
)
SETTINGS = (
    "smoothing=0.0",
    "loss=half_squared_tanh",
    "num_leaves=15",
    "learning_rate=0.05",
    "weight=uniform",
    "min_child_weight=1.0",
    "num_leaves=63",
    "smoothing=2.0",
    ALIKE,
    f"{ALIKE},min_child_weight=1.0,reg_lambda=1.0",
    "feature_part=xgboost,learning_rate=0.3",
    "feature_part=xgboost",
    "learning_rate=0.2",
)


def stored(arguments, name, setting):
    """Return two columns of all validation queries, measured now or earlier; mean of seeds."""
    columns = []
    for seed in range(arguments.seeds):
        path = arguments.results / f"{name}-{setting or 'default'}-{seed}.npz"
        if not path.exists():
            parts = parts_of(name, arguments.data)
            found = [measure(setting, *part, LENGTH[name == MSRD], seed) for part in parts]
            np.savez_compressed(path, *found)
        columns.append(np.hstack([columns_of(values) for values in np.load(path).values()]))
    return np.mean(columns, axis=0)


def say(label, differences):
    """Print both differences with their intervals."""
    cells = []
    for values in differences:
        interval = bootstrap_interval(values)
        mark = "*" if interval.low > 0 or interval.high < 0 else " "
        cells.append(f"{values.mean():+.4f} ({interval.low:+.4f} to {interval.high:+.4f}){mark}")
    print(f"  {label:20} {'   '.join(cells)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--settings", nargs="+", default=SETTINGS)
    parser.add_argument("--against", default="")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    arguments.results.mkdir(exist_ok=True)
    for setting in arguments.settings:
        print(f"{setting}, less {arguments.against or 'the default'}")
        for name in arguments.sets:
            values = [stored(arguments, name, each) for each in (setting, arguments.against)]
            say(name, values[0] - values[1])


if __name__ == "__main__":
    main()
