"""How near is a fit of our own trees to what one core can do?

Ceilings: a loop that only updates histograms in the fastest cache, and one that only reads bins. Of
each phase of a fit on one thread: its time, and what share of it its work would take at a ceiling.
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
#: The passes over documents of a growing tree, which are parts of one kernel there.
fill, partition = map(njit(error_model="numpy"), (histogram.fill, partition))


@njit(error_model="numpy")
def update(bins, words, sums):
    """Add a batch of documents to the histogram of one block many times."""
    for _ in range(CALLS):
        histogram._add(bins, np.uint64(0), words, sums)


@njit(error_model="numpy")
def read(words):
    """Read all bins in their order."""
    seen = np.uint64(0)
    for word in words.ravel():
        seen |= word
    return seen


def measure_ceilings():
    """Return seconds per update with one word and with two, and seconds per byte read."""
    rng = np.random.default_rng(0)
    bins, sums = rng.integers(2**63, size=histogram.BATCH), np.zeros(16 * histogram.STRIDE, int)
    words, many = rng.integers(2**20, size=(2, len(bins))), rng.integers(2**63, size=3_000_000)
    loops = {
        "one": lambda: update(bins, words[:1], sums),
        "two": lambda: update(bins, words, sums),
        "read": lambda: read(many.view(np.uint64)),
    }
    sizes = CALLS * 8 * len(bins), CALLS * 8 * len(bins), many.nbytes
    times = time_in_turn(loops, 9)
    return [times[name][0] / 1e3 / size for name, size in zip(loops, sizes, strict=True)]


def time_calls(name, seconds):
    """Let the fit note the time of one of its functions."""
    function = getattr(boost, name)

    def call(*arguments, **options):
        start = time.perf_counter()
        found = function(*arguments, **options)
        seconds[name] += time.perf_counter() - start
        return found

    setattr(boost, name, call)


def repeat_passes(seconds, rows):
    """Let the fit do the passes over the documents of each tree once more, and note their time."""
    grow = boost.grow

    def grow_and_repeat(data, words, layout, rules, by_leaf):
        found = grow(data, words, layout, rules, by_leaf)
        seconds["repeated"] -= time.perf_counter()
        pass_again(data, words, found, by_leaf, seconds, rows)
        seconds["repeated"] += time.perf_counter()
        return found

    boost.grow = grow_and_repeat


def pass_again(data, words, found, by_leaf, seconds, rows):
    """Do the passes over the documents of a tree once more; note their time and their rows."""
    nodes, goes_left = found
    into, bins = np.empty_like(data.histograms[0]), (data.binned, data.zeros)
    for number, node in enumerate(nodes):
        own = np.sort(by_leaf[node["begin"] : node["end"]])  # as they were before it was split
        sister = nodes[max(number + (1 if number % 2 else -1), 0)]
        smaller = (node["n_documents"], number % 2 == 0) < (sister["n_documents"], number % 2 == 1)
        start = time.perf_counter()
        if number == 0 or smaller:
            fill(0, len(into), bins, words, own, into)
            rows["fill"] += len(own)
        middle = time.perf_counter()
        if node["place"] >= 0:
            partition(own, data.columns[node["place"]], goes_left[number])
            rows["partition"] += len(own)
        seconds["fill"] += middle - start
        seconds["partition"] += time.perf_counter() - middle


def main():
    say_versions("numba")
    one, two, byte = measure_ceilings()
    print(f"an update {1e9 * one:.2f} ns, of two words {1e9 * two:.2f}; {1e-9 / byte:.1f} GB/s")
    X, y, qid = make_web_search(1500, random_state=0)
    size = {"num_leaves": 63, "colsample_bytree": 1.0, "learning_rate": 0.1, "n_jobs": 1}
    seconds, rows, names = Counter(), Counter(), ("bin_rows", "pack", "grow")
    for name in names:
        time_calls(name, seconds)
    repeat_passes(seconds, rows)
    for _ in range(2):  # the first fit compiles
        for found in (seconds, rows):
            found.clear()
        whole = -time.perf_counter()
        LambdaMART(60, random_state=0, **size).fit(X, y, qid)
        whole += time.perf_counter() - seconds.pop("repeated")
    rest = whole - sum(seconds[name] for name in names)
    seconds["search and choose"] = seconds.pop("grow") - seconds["fill"] - seconds["partition"]
    n_updates = rows["fill"] * X.shape[1]
    print(f"{n_updates / 60e6:.0f} million updates a tree, {rows['fill'] / 60 / len(X):.2f} passes")
    least = {"fill": n_updates * two, "partition": 13 * byte * rows["partition"]}
    seconds |= {"gradients and the rest": rest, "all": whole}
    for phase, used in seconds.items():
        share = f", {least[phase] / used:.0%} at its ceiling" if phase in least else ""
        print(f"{phase:24} {used:6.2f} s, {used / whole:4.0%} of the fit{share}")


if __name__ == "__main__":
    main()
