"""Do exact gradients of all pairs of one huge query take linear time? Closed forms, 5 levels."""

import argparse

import numpy as np
from timing import say_times, say_versions, time_in_turn

from treerank.objectives import make_objective

BARS = {"half_squared": 100, "exponential": 100, "hinge": 250, "squared_hinge": 250}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    say_versions("numba", "numpy")
    rng = np.random.default_rng(0)
    for loss, bar in BARS.items():
        functions = {}
        for size in arguments.sizes:
            objective = make_objective(rng.integers(0, 5, size), loss=loss)
            scores = rng.normal(size=size)
            functions[f"{loss}, {size} documents"] = lambda o=objective, s=scores: o.derivatives(s)
        times = time_in_turn(functions, arguments.repetitions)
        say_times(times)
        walls = np.array([wall for wall, _ in times.values()])
        growth = np.polyfit(np.log(arguments.sizes), np.log(walls), 1)[0]
        print(f"{loss}: grows as n^{growth:.2f}; largest {walls[-1]:.1f} ms (bar: {bar} ms)\n")


if __name__ == "__main__":
    main()
