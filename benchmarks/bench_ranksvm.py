"""How long does RankSVM take to come within a thousandth of its optimum, and in what memory?

All pairs of data of the size of an MSLR fold, for several C. The peak memory of arrays, without the
data, is compared with the memory of a list of the pairs (two integers each).
"""

import argparse
import tracemalloc

import numpy as np
from timing import say_times, say_versions, time_in_turn

from treerank.baselines.linear.ranksvm import RankSVM
from treerank.datasets.web_search import make_web_search
from treerank.objectives import make_objective


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 10.0, 100.0])
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    y = y.astype(np.float64)
    n_pairs = make_objective(y, qid).n_pairs
    say_versions("numba", "numpy")
    print(f"{X.shape[0]} x {X.shape[1]}, {n_pairs / 1e6:.1f} M pairs")
    fits = {
        f"C = {C:g}": lambda C=C: RankSVM(C, tolerance=1e-3).fit(X, y, qid) for C in arguments.C
    }
    say_times(time_in_turn(fits, arguments.repetitions))
    for C in arguments.C:
        value = RankSVM(C, tolerance=1e-3).fit(X, y, qid).objective_
        nearer = RankSVM(C, tolerance=1e-5).fit(X, y, qid).objective_
        print(f"C = {C:g}: {value / nearer - 1:.1e} above a value certain to 1e-5 (bar: 1e-3)")
    tracemalloc.start()
    fits[f"C = {arguments.C[0]:g}"]()
    peak = tracemalloc.get_traced_memory()[1]
    print(f"peak {peak / X.nbytes:.2f} of X; the pairs would take {16 * n_pairs / X.nbytes:.2f}")


if __name__ == "__main__":
    main()
