"""How near is a fit of our own trees to what one core can do?

Ceiling: a loop that only updates histograms in the fastest cache. Of each phase of a fit on one
thread: its time, and of filling what share of it its updates would take at the ceiling.
"""

import time
from collections import Counter

import numpy as np
from numba import njit
from timing import say_versions, time_in_turn

from treerank.baselines.boosted import LambdaMART
from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.histogram import boost, histogram
from treerank.feature_parts.histogram.partition import partition

CALLS = 2000
fill, partition = map(njit(error_model="numpy"), (histogram.fill, partition))


@njit(error_model="numpy")
def update(bins, packed, sums):
    """Add a batch of documents to the histogram of one block many times."""
    for _ in range(CALLS):
        histogram._add(bins, np.uint64(0), packed, sums)


def measure_ceilings():
    """Return seconds per update with one word and with two."""
    rng = np.random.default_rng(0)
    bins, sums = rng.integers(2**63, size=histogram.BATCH), np.zeros(16 * histogram.STRIDE, int)
    packed = rng.integers(2**20, size=(2, len(bins)))
    loops = {n: lambda n=n: update(bins, packed[:n], sums) for n in (1, 2)}
    return [wall / 1e3 / (CALLS * 8 * len(bins)) for wall, _ in time_in_turn(loops, 9).values()]


def watch(name, seconds, repeat):
    """Let the fit note the time of one of its functions, and then repeat what it did."""
    function = getattr(boost, name)

    def call(*arguments, **options):
        start = time.perf_counter()
        found = function(*arguments, **options)
        seconds[name] += time.perf_counter() - start
        seconds["repeat"] -= time.perf_counter()
        repeat(arguments, found)
        seconds["repeat"] += time.perf_counter()
        return found

    setattr(boost, name, call)


def pass_again(arguments, found, seconds, rows):
    """Do the passes over the documents of a tree once more; note their time and their rows."""
    (data, packed, _, _, by_leaf, *_), (nodes, goes_left) = arguments, found
    into, bins = np.empty_like(data.histograms[0]), (data.binned, data.zeros)
    for number, node in enumerate(nodes):
        own = np.sort(by_leaf[node["begin"] : node["end"]])  # as they were before it was split
        sister = nodes[max(number + (1 if number % 2 else -1), 0)]
        smaller = (node["n_documents"], number % 2 == 0) < (sister["n_documents"], number % 2 == 1)
        start = time.perf_counter()
        if number == 0 or smaller:
            fill(0, np.arange(len(into)), bins, packed, own, into)
            rows["fill"] += len(own)
        middle = time.perf_counter()
        if node["column"] >= 0:
            partition(own, data.binned_by_column[node["column"]], goes_left[number])
        seconds["fill"] += middle - start
        seconds["partition"] += time.perf_counter() - middle


def main():
    say_versions("numba")
    one, two = measure_ceilings()
    print(f"an update {1e9 * one:.2f} ns, of two words {1e9 * two:.2f}")
    X, y, qid = make_web_search(1500, random_state=0)
    size = {"num_leaves": 63, "colsample_bytree": 1.0, "learning_rate": 0.1, "n_jobs": 1}
    seconds, rows = Counter(), Counter()
    for name in ("bin_rows", "pack", "grow"):
        watch(name, seconds, lambda *tree, n=name: n == "grow" and pass_again(*tree, seconds, rows))
    for _ in range(2):  # the first fit compiles
        seconds.clear()
        rows.clear()
        whole = -time.perf_counter()
        LambdaMART(60, random_state=0, **size).fit(X, y, qid)
        whole += time.perf_counter() - seconds.pop("repeat")
    seconds["the rest"] = whole - sum(seconds[name] for name in ("bin_rows", "pack", "grow"))
    seconds["search and choose"] = seconds.pop("grow") - seconds["fill"] - seconds["partition"]
    n_updates, passes = rows["fill"] * X.shape[1], rows["fill"] / 60 / len(X)
    print(f"{n_updates / 60e6:.0f} million updates a tree in {passes:.2f} passes")
    for phase, used in seconds.items():
        print(f"{phase:24} {used:6.2f} s, {used / whole:4.0%} of the fit of {whole:.2f} s")
    print(f"fill at {n_updates * two / seconds['fill']:.0%} of its ceiling")


if __name__ == "__main__":
    main()
