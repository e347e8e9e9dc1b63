"""How do time and memory grow with rows, features and documents per query?

Every function of ``growth_verbs.py`` runs on one thread, in a process per family and axis. Time is
that of the processor; memory is the peak beside what was resident before, as a share of X. The
exponent is the slope of the time over the upper half of the sizes, both in logarithms. Linux only.
"""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
from growth_child import AXES, measure_family
from growth_verbs import FAMILIES
from timing import say_versions

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    parser.add_argument("--axes", nargs="+", choices=AXES, default=[*AXES])
    parser.add_argument("--seconds", type=float, default=60, help="slower ones stop growing")
    parser.add_argument("--rows", type=int, default=10_000_000, help="at most")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    limits = arguments.seconds, arguments.rows
    if arguments.child:
        measure_family(*arguments.child, *limits)
        return
    say_versions("numpy", "numba", "lightgbm", "xgboost")
    for family in arguments.families:
        for axis in arguments.axes:
            print(f"\n{family}: {axis}, exponent, seconds and share of X at the largest size")
            for name, points in points_of(family, axis, *limits).items():
                size, seconds, share = points[-1]
                line = f"{name:32} {size:9.0f} {exponent(points):6.2f} {seconds:9.4f} {share:8.2f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
