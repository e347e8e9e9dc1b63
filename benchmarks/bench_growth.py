"""How do time and memory grow with rows, features and documents per query?

Every function of ``growth_verbs.py`` runs on one thread, in a process per family and axis. Time is
that of the processor; memory is the peak beside what was resident before, as a share of X. The
exponent is the slope of the time over the upper half of the sizes, both in logarithms. Linux only.
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from growth_verbs import FAMILIES, Data
from timing import say_versions

from treerank.plots.style import line_styles, tidy

#: Sizes of each axis, as rows, features and documents per query.
AXES = {
    "rows": [(n, 136, 100) for n in (10_000, 100_000, 1_000_000)],
    "rows of 10 features": [(n, 10, 100) for n in (10_000, 100_000, 1_000_000, 10_000_000)],
    "features": [(4000, d, 100) for d in (10, 100, 1000, 5000)],
    "documents per query": [(100_000, 100, m) for m in (1, 10, 100, 1000, 10_000, 100_000)],
}
SMALL = Data(1000, 10, 10)
#: Calls are repeated until they took so many seconds, and up to three times if that takes no longer
#: than the second number: the first one also waits for memory that is fresh from the system.
LEAST_SECONDS, MOST_SECONDS, CALLS = 0.05, 10, 3
ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def resident(which):
    """Return the resident bytes of this process: those now (VmRSS), or their peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(which)))


def measured(function):
    """Return the processor time of a call and the bytes that it holds at most."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # sets the peak to what is now
    before, times = resident("VmRSS"), []
    while not times or sum(times) < (MOST_SECONDS if len(times) < CALLS else LEAST_SECONDS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times), resident("VmHWM") - before


def measure_family(family, axis, most_seconds, most_rows):
    """Print time and memory of each function at each size as JSON."""
    places = {"rows": 0, "rows of 10 features": 0, "features": 1, "documents per query": 2}
    slow = set()
    with tempfile.TemporaryDirectory() as folder:
        for function in FAMILIES[family](SMALL, Path(folder)).values():
            function()  # compiles
        for sizes in (each for each in AXES[axis] if each[0] <= most_rows):
            data = Data(*sizes)
            for name, function in FAMILIES[family](data, Path(folder)).items():
                if name in slow:
                    continue
                try:
                    seconds, extra = measured(function)
                except ValueError:  # such as a report on queries of a single document
                    continue
                if seconds > most_seconds:
                    slow.add(name)
                size = sizes[places[axis]]
                print(json.dumps([name, size, seconds, extra / data.X.nbytes]), flush=True)


def points_of(family, axis, most_seconds, most_rows):
    """Return sizes, seconds and shares of X by name, measured in a process of its own."""
    limits = ["--seconds", str(most_seconds), "--rows", str(most_rows)]
    command = [sys.executable, __file__, "--child", family, axis, *limits]
    result = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
    )
    points = {}
    for name, *point in map(json.loads, result.stdout.splitlines()):
        points.setdefault(name, []).append(point)
    return {name: np.array(found) for name, found in points.items()}


def exponent(points):
    """Return the slope of the time over the upper half of the sizes."""
    sizes, seconds, _ = np.log(np.maximum(points[len(points) // 2 - 1 :], 1e-9)).T
    return np.polyfit(sizes, seconds, 1)[0] if len(sizes) > 1 else np.nan


def draw(family, path):
    """Draw time over memory, a column for each axis, a line for each function."""
    import matplotlib.pyplot as plt

    size = 3.2 * len(family) + 2.4, 5
    figure, panels = plt.subplots(
        2, len(family), squeeze=False, sharex="col", figsize=size, layout="constrained"
    )
    names = list(dict.fromkeys(name for by_name in family.values() for name in by_name))
    styles = dict(zip(names, line_styles(len(names)), strict=True))
    for column, (axis, by_name) in enumerate(family.items()):
        for row, label in enumerate(("seconds of the processor", "memory beside X, in X")):
            for name, points in by_name.items():
                panels[row, column].loglog(
                    points[:, 0], points[:, 1 + row], label=name, linewidth=1, **styles[name]
                )
            tidy(panels[row, column], x=axis, y=label)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right", fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    parser.add_argument("--axes", nargs="+", choices=AXES, default=[*AXES])
    parser.add_argument("--seconds", type=float, default=60, help="slower ones stop growing")
    parser.add_argument("--rows", type=int, default=10_000_000, help="at most")
    parser.add_argument("--plot", type=Path, help="folder of an SVG file for each family")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    limits = arguments.seconds, arguments.rows
    if arguments.child:
        measure_family(*arguments.child, *limits)
        return
    say_versions("numpy", "numba", "lightgbm", "xgboost")
    for family in arguments.families:
        found = {}
        for axis in arguments.axes:
            found[axis] = points_of(family, axis, *limits)
            print(f"\n{family}: {axis}, exponent, seconds and share of X at the largest size")
            for name, points in found[axis].items():
                size, seconds, share = points[-1]
                line = f"{name:32} {size:9.0f} {exponent(points):6.2f} {seconds:9.4f} {share:8.2f}"
                print(line, flush=True)
        if arguments.plot:
            draw(found, arguments.plot / f"growth-{family}.svg")


if __name__ == "__main__":
    main()
