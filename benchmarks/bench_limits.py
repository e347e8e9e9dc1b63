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
from treerank.feature_parts.histogram import boost, grower, histogram, splitter

CALLS = 2000
#: The phases of a fit: where their functions are called, and which argument holds the rows.
PHASES = {
    "bin rows": (boost, "bin_rows", None),
    "round and pack": (boost, "pack", None),
    "fill": (grower, "fill", 4),
    "search": (splitter, "search_blocks", None),
    "partition": (grower, "partition", 0),
}


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


def note(phase, module, name, place, seconds, rows):
    """Let a function note its time, and the rows of the leaf if it gets any."""
    function = getattr(module, name)

    def call(*arguments, **options):
        start = time.perf_counter()
        found = function(*arguments, **options)
        seconds[phase] += time.perf_counter() - start
        rows[phase] += 0 if place is None else len(arguments[place])
        return found

    setattr(module, name, call)


def main():
    say_versions("numba")
    one, two, byte = measure_ceilings()
    print(f"an update {1e9 * one:.2f} ns, of two words {1e9 * two:.2f}; {1e-9 / byte:.1f} GB/s")
    X, y, qid = make_web_search(1500, random_state=0)
    size = {"num_leaves": 63, "colsample_bytree": 1.0, "learning_rate": 0.1, "n_jobs": 1}
    ranker = LambdaMART(60, random_state=0, **size).fit(X, y, qid)
    seconds, rows = Counter(), Counter()
    for phase, place in PHASES.items():
        note(phase, *place, seconds, rows)
    whole = -time.perf_counter()
    ranker.fit(X, y, qid)
    whole += time.perf_counter()
    n_updates = rows["fill"] * X.shape[1]
    print(f"{n_updates / 60e6:.0f} million updates a tree, {rows['fill'] / 60 / len(X):.2f} passes")
    least = {"fill": n_updates * two, "partition": 13 * byte * rows["partition"]}
    seconds |= {"gradients and the rest": whole - sum(seconds.values()), "all": whole}
    for phase, used in seconds.items():
        share = f", {least[phase] / used:.0%} at its ceiling" if phase in least else ""
        print(f"{phase:24} {used:6.2f} s, {used / whole:4.0%} of the fit{share}")


if __name__ == "__main__":
    main()
