"""How long does a user wait before training starts? The import, and the first fit.

Every figure is the median over fresh processes, started in turn. Compile caches are warm, and so is
that of Python's own bytecode, as after an installation: the first round, which fills them, is not
counted. ``--compile`` measures fits in a cache that is empty.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
from timing import say_versions

IMPORTS = {
    "import sklearn.base, numba": "import sklearn.base, numba",
    "from treerank import TreeDirectRanker": "from treerank import TreeDirectRanker",
}
FIRST_FIT = """
import numpy as np, lightgbm
from treerank import TreeDirectRanker
from treerank.feature_parts.trees.lightgbm import LightGBMTrees
rng = np.random.default_rng(0)
X, y, qid = rng.normal(size=(1000, 10)), rng.integers(0, 5, 1000), np.repeat(np.arange(50), 20)
ranker = TreeDirectRanker()
"""
FIT = "ranker.fit(X, y, qid)"
FIRST_KERNELS = FIRST_FIT.replace("(1000, 10)", "(1000, 20)")
OTHER_KERNELS = (
    FIRST_KERNELS
    + "ranker.fit(X, y, qid); ranker.set_params(loss='half_squared_tanh', weight='map')"
)
HISTOGRAM_KERNELS = (
    FIRST_KERNELS
    + "from treerank import HistogramTrees; ranker = TreeDirectRanker(HistogramTrees())"
)
TIMED = """
import time
{before}
wall, cpu = time.perf_counter(), time.process_time()
{timed}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def seconds(before, timed):
    """Return wall and CPU seconds of a statement in a fresh process."""
    script = TIMED.format(before=before, timed=timed)
    command = [sys.executable, "-c", script]
    storing = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}  # some machines for tests set it
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=storing)
    return [float(word) for word in done.stdout.split()]


def compiling(repetitions):
    """Print wall and CPU seconds of very first fits, and of one with another loss and weight."""
    fits = {
        "very first fit": (FIRST_KERNELS, FIT),
        "another": (OTHER_KERNELS, FIT),
        "histogram trees, with predict": (HISTOGRAM_KERNELS, f"{FIT}; ranker.predict(X)"),
    }
    for name, script in fits.items():
        found = []
        for _ in range(repetitions):
            with tempfile.TemporaryDirectory() as os.environ["NUMBA_CACHE_DIR"]:
                found.append(seconds(*script))
        wall, cpu = np.median(found, axis=0)
        print(f"{name:40} {wall:6.2f} s wall {cpu:6.2f} s CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    say_versions("numba", "scikit-learn", "lightgbm")
    if arguments.compile:
        return compiling(arguments.repetitions)
    scripts = {name: ("", script) for name, script in IMPORTS.items()}
    scripts["first fit"] = FIRST_FIT, FIT
    rounds = [
        {name: seconds(*script) for name, script in scripts.items()}
        for _ in range(arguments.repetitions + 1)
    ][1:]
    medians = {name: np.median([r[name] for r in rounds], axis=0) for name in scripts}
    for name, (wall, cpu) in medians.items():
        print(f"{name:40} {wall:6.3f} s wall {cpu:6.3f} s CPU")
    reference, ours = (medians[name] for name in IMPORTS)
    wall, cpu = ours / reference
    print(f"import: {wall:.2f}x by wall, {cpu:.2f}x by CPU time (bar: <= 1.2)")
    print(f"first fit: {medians['first fit'][0]:.2f} s (bar: <= 0.5 s)")


if __name__ == "__main__":
    main()
