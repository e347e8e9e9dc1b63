"""How much slower is a fit beside other programs? A LightGBM fit of two threads.

Every figure is the median of fits in one process, in turn quiet and beside. The neighbour runs at
the same priority and at the lowest. A fair share is 2: two programs on the same processors.
``--spins`` sets how long waiting threads spin; ``keep`` leaves it to the runtimes.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
from neighbour_work import RANKERS, work_of
from timing import say_versions

LIGHTGBM = """
import lightgbm, numpy as np
rng = np.random.default_rng(1)
X, y = rng.normal(size=(50_000, 100)).astype(np.float32), rng.normal(size=50_000)
data = lightgbm.Dataset(X, y)
while True:
    lightgbm.train({"num_threads": 2, "verbosity": -1}, data, 100)
"""
#: What runs beside, by name, with its priority.
NEIGHBOURS = {"LightGBM": 0, "LightGBM, low": 19}


@contextmanager
def beside(priority):
    """Run a LightGBM fit inside the block."""
    command = ["nice", "-n", str(priority), sys.executable, "-c", LIGHTGBM]
    ordinary = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    # Of the same session: the system shares the processors by session before it looks at priority.
    with subprocess.Popen(command, env=ordinary) as process:
        time.sleep(5)
        try:
            yield
        finally:
            process.kill()


def seconds(function):
    """Return wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spins", default="default", help="a number, 'keep' or 'default'")
    parser.add_argument("--rows", type=int, default=48_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--rankers", nargs="+", default=RANKERS)
    arguments = parser.parse_args()
    if arguments.spins.isdecimal():
        os.environ["GOMP_SPINCOUNT"] = arguments.spins
    elif arguments.spins == "keep":
        import lightgbm  # noqa: F401  # before treerank, whose setting then comes too late
        import torch  # noqa: F401
        import xgboost  # noqa: F401
    import treerank  # noqa: F401  # before the engines, whose threads read what it sets

    say_versions("lightgbm", "xgboost", "numba")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(arguments.rows, 136)).astype(np.float32)
    y = np.clip(X[:, 0] + rng.normal(size=len(X)), 0, 4).astype(int)
    qid = np.arange(len(X)) // 120
    for name in arguments.rankers:
        work = work_of(name, X, y, qid)
        work()
        quiet, rest = [], {neighbour: [] for neighbour in NEIGHBOURS}
        for _ in range(arguments.repetitions):
            quiet.append(seconds(work))
            for neighbour, priority in NEIGHBOURS.items():
                with beside(priority):
                    rest[neighbour].append(seconds(work))
        wall, cpu = np.median(quiet, axis=0)
        line = f"{name:16} quiet {wall:6.2f} s (CPU {cpu:6.2f})"
        for neighbour, times in rest.items():
            beside_wall, beside_cpu = np.median(times, axis=0)
            ratios = f"{beside_wall / wall:5.2f}x wall {beside_cpu / cpu:5.2f}x CPU"
            line += f"; {neighbour}: {beside_wall:6.2f} s, {ratios}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
