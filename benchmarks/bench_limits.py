"""How near is a fit of our own trees to what one core can do?

Two ceilings are measured on this machine: a loop that only updates histograms, whose documents and
sums are in the fastest cache, and a loop that only reads the bins. Then a fit on one thread tells
how long each of its phases takes, and what share of its ceiling the phase reaches: how long its
updates would take at the first, or its bytes at the second, over the time that it takes.
"""

import argparse
import time
from collections import Counter

import numpy as np
from numba import njit
from timing import say_versions

from treerank.baselines.boosted import LambdaMART
from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.histogram import boost, grower, histogram, splitter, trees

_TURNS, _CALLS, _FEATURES = 9, 2000, 136
#: The phases of a fit, and where their functions are called.
PHASES = {
    "find bins": (trees, "find_bins"),
    "bin rows": (boost, "bin_rows"),
    "round and pack": (boost, "pack"),
    "fill": (grower, "fill"),
    "search": (splitter, "search_blocks"),
    "partition": (grower, "part_chunks"),
    "join": (grower, "join_chunks"),
    "leaf values": (boost, "add_leaves"),
}


@njit(error_model="numpy")
def add(n, bins, words, sums):
    """Add the documents of a batch to the histogram of one block, ``n`` times."""
    for _ in range(n):
        histogram._add(bins, words, sums)


@njit(error_model="numpy")
def add_wide(n, bins, upper, lower, sums):
    """Do the same with documents of two words."""
    for _ in range(n):
        histogram._add_wide(bins, upper, lower, sums)


@njit(error_model="numpy")
def read(words):
    """Read all bins in their order."""
    seen = np.uint64(0)
    for word in words.ravel():
        seen |= word
    return seen


def least_seconds(function, *arguments):
    """Return the least time of several calls, the first of which is not timed."""
    function(*arguments)
    times = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def measure_ceilings():
    """Return seconds per update with one word and with two, and seconds per byte read."""
    rng = np.random.default_rng(0)
    bins = rng.integers(2**63, size=histogram.BATCH)
    words, sums = rng.integers(2**20, size=(2, len(bins))), np.zeros(16 * histogram.STRIDE, int)
    n_updates = _CALLS * len(bins) * 8
    many = rng.integers(2**63, size=(180_000, _FEATURES // 8), dtype=np.uint64)
    return (
        least_seconds(add, _CALLS, bins, words[0], sums) / n_updates,
        least_seconds(add_wide, _CALLS, bins, *words, sums) / n_updates,
        least_seconds(read, many) / many.nbytes,
    )


def timed(phase, function, seconds, rows):
    """Return a function that notes its time, and the rows of the leaf if it has any."""

    def call(*arguments, **options):
        if phase == "fill":
            rows[phase] += len(arguments[3])
        elif phase in ("partition", "join"):
            rows[phase] += len(arguments[2] if phase == "partition" else arguments[4])
        start = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            seconds[phase] += time.perf_counter() - start

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    say_versions("numba")
    one, two, per_byte = measure_ceilings()
    print(f"an update {1e9 * one:.2f} ns, of two words {1e9 * two:.2f} ns")
    print(f"reading {1e-9 / per_byte:.1f} GB/s")
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    ranker = LambdaMART(
        arguments.trees,
        num_leaves=arguments.leaves,
        precision=arguments.precision,
        colsample_bytree=1.0,
        learning_rate=0.1,
        n_jobs=1,
        random_state=0,
    ).fit(X, y, qid)
    seconds, rows = Counter(), Counter()
    for phase, (module, name) in PHASES.items():
        setattr(module, name, timed(phase, getattr(module, name), seconds, rows))
    start = time.perf_counter()
    ranker.fit(X, y, qid)
    whole = time.perf_counter() - start
    n_updates = rows["fill"] * X.shape[1]
    n_passes = rows["fill"] / arguments.trees / len(X)
    update = two if arguments.precision == "float32" else one
    # A byte and two row numbers are read or written for each row that is sorted by side.
    least = {"fill": n_updates * update, "partition": 13 * rows["partition"] * per_byte}
    least["join"] = 8 * rows["join"] * per_byte
    print(f"{n_updates / arguments.trees / 1e6:.0f} million updates a tree, {n_passes:.2f} passes")
    seconds["gradients and the rest"] = whole - sum(seconds.values())
    for phase, used in [*seconds.items(), ("all", whole)]:
        share = f", {least[phase] / used:.0%} of it at the ceiling" if phase in least else ""
        print(f"{phase:24} {used:6.2f} s, {used / whole:4.0%} of the fit{share}")


if __name__ == "__main__":
    main()
