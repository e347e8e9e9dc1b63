"""Are TreeDirectRanker's defaults good? Each setting against the default, on validation parts.

NDCG@10 of each validation query in two columns: after 100 trees, which is what a fit without an
``eval_set`` keeps, and stopped where the other half of the queries is best. MSRD's test folds are
never read: each of its folds 0 to 2 validates once, and the other two of them train. A difference
is paired over queries, with its 95 % interval; ``*`` marks those that leave out 0. Results go to a
folder, and a second run measures only what is missing there.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
from bench_best import MSRD
from bench_quality import NDCG_AT_10, folds_of, read_variant

from treerank import TreeDirectRanker
from treerank.datasets.letor import read_letor
from treerank.feature_parts.registry import make_feature_part
from treerank.statistics import bootstrap_interval

SETS = (MSRD, "mq2008", "ohsumed", "clueweb09", "mslr_web30k_sample", "synthetic")
DEFAULT = "feature_part=lightgbm"
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
    "loss=half_squared_tanh,weight=uniform",
    "min_child_samples=100",
    "smoothing=0.5",
    "k=10",
    f"{ALIKE},min_child_weight=1.0",
    f"{ALIKE},reg_lambda=1.0",
    "min_child_weight=0.1",
    "min_child_samples=0",
    "num_leaves=7",
)
#: Trees of a fit without an eval_set; trees between two measurements.
USUAL, STEP = 100, 10
#: Trees times learning rate, on MSRD and elsewhere.
LENGTH = {True: 20, False: 10}


def parts_of(name, folder):
    """Yield (train, validation), each X, y, qid."""
    if name == MSRD:
        data = np.load(folder / MSRD / "msrd.npz")
        columns = [data[column] for column in ("X", "y", "qid")]
        for out in range(3):
            cuts = (data["fold"] < 3) & (data["fold"] != out), data["fold"] == out
            yield tuple(tuple(column[cut] for column in columns) for cut in cuts)
    elif name.startswith("mslr"):
        yield tuple(tuple(read_letor(folder / name / f"{p}.txt")) for p in ("train", "vali"))
    else:
        for train, valid, _ in folds_of(name, folder):
            yield train, valid


def measure(setting, train, valid, length, seed):
    """Return NDCG@10 of each validation query after every ten trees."""
    settings = read_variant(f"{DEFAULT},{setting}")
    part = make_feature_part(settings.pop("feature_part"))
    own = part.get_params().keys() & settings
    part.set_params(n_jobs=1, **{name: settings.pop(name) for name in own})
    part.set_params(n_estimators=max(USUAL, round(length / part.learning_rate)))
    found, trees = [], itertools.count(1)

    def ndcg(y, scores, qid):
        if next(trees) % STEP == 0:
            found.append(NDCG_AT_10.per_query(y, scores, qid))
        return 0.0  # nothing is stopped by it

    ranker = TreeDirectRanker(part, metric=ndcg, calibration=None, random_state=seed, **settings)
    ranker.fit(*train, eval_set=valid)
    return np.array(found)


def columns_of(values):
    """Return the values of queries after 100 trees, and where the other half is best."""
    values = values[:, ~np.isnan(values[0])]
    half = np.random.default_rng(0).permutation(values.shape[1]) % 2
    best = [values[:, half != side].mean(axis=1).argmax() for side in (0, 1)]
    stopped = values[np.array(best)[half], np.arange(values.shape[1])]
    return np.stack([values[USUAL // STEP - 1], stopped])


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
