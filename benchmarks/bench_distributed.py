"""What does a tree cost each of several workers, as rows, features, leaves and workers grow?

Fits by processes of one thread each, with few and with more trees. The difference of their
processor times, over that of the trees, is the time per tree, without start, exchange and bins.
"peak" is the peak of the resident memory of a worker, with about 250 MB for Python and packages.
One setting at a time differs from the first line.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from timing import say_versions

from treerank import TreeDirectRanker
from treerank.distributed import fit
from treerank.distributed.processes import Processes
from treerank.feature_parts.registry import make_feature_part

FIRST = {"rows": 100_000, "features": 40, "leaves": 31, "workers": 1}
OTHERS = {"rows": [200_000], "features": [80], "leaves": [127], "workers": [2, 3]}
XGBOOST = {"grow_policy": "lossguide", "max_depth": 0}


def documents(rows, features):
    """Return documents in queries of 40."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features), dtype=np.float32)
    y = np.clip(np.round(X[:, :5].sum(axis=1) + rng.standard_normal(rows)), 0, 4)
    return X, y, np.arange(rows) // 40


def processor_times(launcher):
    """Return the seconds that each worker has used, and the peak of its memory in MB."""
    found = []
    for process, _ in launcher._workers:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = status.partition("VmHWM:")[2].split()[0]
        found.append(((int(fields[11]) + int(fields[12])) / 100, int(peak) / 1000))
    return np.array(found)


def cost(name, case, few, more):
    """Return seconds per tree of the busiest worker, and the largest peak of memory."""
    data = documents(case["rows"], case["features"])
    special = XGBOOST if name == "xgboost" else {}
    with Processes(case["workers"]) as launcher:
        used = []
        for n_trees in (1, few, more):  # the first one compiles
            part = make_feature_part(name)
            size = {"num_leaves": case["leaves"], "learning_rate": 0.1, "colsample_bytree": 1.0}
            part.set_params(n_estimators=n_trees, n_jobs=1, **size, **special)
            fit(TreeDirectRanker(part, random_state=0), *data, workers=launcher)
            used.append(processor_times(launcher))
    first, second = np.diff([each[:, 0] for each in used], axis=0)
    return max(second - first) / (more - few), used[-1][:, 1].max()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["histogram", "xgboost"])
    parser.add_argument("--trees", type=int, nargs=2, default=[5, 25], help="few and more")
    arguments = parser.parse_args()
    say_versions("xgboost")
    varied = [{name: value} for name, values in OTHERS.items() for value in values]
    for name in arguments.parts:
        for case in [FIRST, *(FIRST | each for each in varied)]:
            began = time.perf_counter()
            seconds, peak = cost(name, case, *arguments.trees)
            wall = time.perf_counter() - began
            sizes = " ".join(f"{value:>8}" for value in case.values())
            line = f"{name:<10} {sizes} {1000 * seconds:8.1f} ms {peak:7.0f} MB"
            print(f"{line} ({wall:.0f} s in all)", flush=True)


if __name__ == "__main__":
    main()
