"""Phases of a fit of own trees, and how near they are on one thread to what one core can do.

The ceiling is a loop that only updates histograms in the fastest cache.
"""

import time
from collections import Counter
from contextlib import contextmanager
from functools import partial

import lightgbm
import numpy as np
from numba import njit

from treerank import make_web_search
from treerank.baselines import LambdaMART
from treerank.feature_parts.histogram import boost, histogram, trees
from treerank.feature_parts.histogram.partition import join_parts, sort_part
from treerank.feature_parts.histogram.splitter import MEMORY, SPLIT
from treerank.feature_parts.trees.fixed_point import FixedPointDerivatives
from treerank.numerics.vectors import aligned

from . import timing
from .measurements import Measurement

CALLS = 2000
fill = njit(error_model="numpy")(histogram.fill)


@njit(error_model="numpy")
def update(batch, n, histograms):
    """Add a batch of ``n`` documents to the histogram of one block many times."""
    n, bins_at = np.uint64(n), np.uint64(len(batch) - n)
    for _ in range(CALLS):
        histogram._add(batch, bins_at, n, histograms, np.uint64(0))


@njit(error_model="numpy")
def sort_rows(leaf, split, rows, bins, right, memory):
    """Sort the rows of a leaf by side, as one thread does."""
    sort_part(0, 1, leaf, split, rows, bins, right, memory[0])
    join_parts(1, leaf, rows, right, memory)


def measure_ceilings():
    """Return seconds per update of one packed gradient and of two."""
    rng = np.random.default_rng(0)
    bins = rng.integers(2**63, size=histogram.BATCH)
    packed = rng.integers(2**20, size=(2, len(bins)))
    batches = {n: np.append(packed[:n].T, bins) for n in (1, 2)}
    sums = {n: np.zeros((1, n * histogram.WIDTH * histogram.STRIDE), int) for n in (1, 2)}
    loops = {n: lambda n=n: update(batches[n], len(bins), sums[n]) for n in (1, 2)}
    times = timing.time_turns(loops, 9).values()
    return [np.median(each[:, 0]) / 1e3 / (CALLS * 8 * len(bins)) for each in times]


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
    return function


def pass_again(arguments, found, seconds, rows):
    """Do the passes over the documents of a tree once more; note their time and their rows."""
    (data, packed, _, _, by_leaf, *_), (nodes, goes_left) = arguments, found
    into, bins = np.empty_like(data.histograms[0]), (data.binned, data.zeros)
    batch = aligned((histogram.size_of_batch(packed.shape[1], len(into)),), np.int64)
    for number, node in enumerate(nodes):
        own = np.sort(by_leaf[node["begin"] : node["end"]])  # as they were before it was split
        sister = nodes[max(number + (1 if number % 2 else -1), 0)]
        smaller = (node["n_documents"], number % 2 == 0) < (sister["n_documents"], number % 2 == 1)
        start = time.perf_counter()
        if number == 0 or smaller:
            fill(0, np.arange(len(into)), *bins, packed, own, into, batch)
            rows["fill"] += len(own)
        middle = time.perf_counter()
        seconds["fill"] += middle - start
        if node["column"] < 0:
            continue
        leaf, split = nodes[number : number + 1].copy(), np.zeros(1, dtype=SPLIT)
        leaf["begin"], leaf["end"], split["column"] = 0, len(own), node["column"]
        split["goes_left"], memory = goes_left[number], np.zeros(1, dtype=MEMORY)
        start = time.perf_counter()
        sort_rows(leaf[0], split[0], own, data.binned_by_column, np.empty_like(own), memory)
        seconds["partition"] += time.perf_counter() - start


def measured(n_queries, n_trees):
    """Return seconds of each phase of a fit, and the share of the ceiling that filling reaches."""
    one, two = measure_ceilings()
    X, y, qid = make_web_search(n_queries, random_state=0)
    size = {"num_leaves": 63, "colsample_bytree": 1.0, "learning_rate": 0.1, "n_jobs": 1}
    seconds, rows, before = Counter(), Counter(), {}
    try:
        for name in ("bin_rows", "pack", "grow"):
            repeat = lambda *tree, n=name: n == "grow" and pass_again(*tree, seconds, rows)  # noqa: E731
            before[name] = watch(name, seconds, repeat)
        for _ in range(2):  # the first fit compiles
            seconds.clear()
            rows.clear()
            whole = -time.perf_counter()
            LambdaMART(n_trees, random_state=0, **size).fit(X, y, qid)
            whole += time.perf_counter() - seconds.pop("repeat")
    finally:
        for name, function in before.items():
            setattr(boost, name, function)
    return {
        "seconds": whole,
        "binning": seconds["bin_rows"],
        "packing": seconds["pack"],
        "filling histograms": seconds["fill"],
        "partitioning": seconds["partition"],
        "filling over its ceiling": seconds["fill"] / (rows["fill"] * X.shape[1] * two),
        "nanoseconds an update": 1e9 * one,
        "million updates a tree": rows["fill"] * X.shape[1] / n_trees / 1e6,
    }


#: Functions whose time is that of a phase, whatever the number of threads.
STEPS = {
    "bins": [(trees, "find_bins"), (boost, "bin_rows"), (boost, "by_column")],
    "derivatives": [(FixedPointDerivatives, "__call__")],
    "packing": [(boost, "pack")],
    "trees": [(boost, "grow")],
    "leaf values": [(boost, "leaf_sums"), (boost, "add_leaves")],
}


@contextmanager
def steps_timed(seconds):
    """Add the time of each step of the fits within the block to ``seconds``."""

    def timed(step, function):
        def call(*arguments, **options):
            began = time.perf_counter()
            found = function(*arguments, **options)
            seconds[step] += time.perf_counter() - began
            return found

        return call

    places = [(step, *place) for step, found in STEPS.items() for place in found]
    functions = [getattr(owner, name) for _, owner, name in places]
    for (step, owner, name), function in zip(places, functions, strict=True):
        setattr(owner, name, timed(step, function))
    try:
        yield
    finally:
        for (_, owner, name), function in zip(places, functions, strict=True):
            setattr(owner, name, function)


def by_threads(n_queries, n_trees, n_threads, n_turns):
    """Return the seconds of a fit and of its steps on some threads, and those of LGBMRanker.

    They are medians of turns.
    """
    X, y, qid = make_web_search(n_queries, random_state=0)
    group, size = np.unique(qid, return_counts=True)[1], {"num_leaves": 63, "n_jobs": n_threads}
    own = {"colsample_bytree": 1.0, "learning_rate": 0.1, "random_state": 0, **size}
    peer = lightgbm.LGBMRanker(n_estimators=n_trees, verbosity=-1, **size)
    turns = []
    for _ in range(n_turns + 1):  # the first fit compiles
        turn = Counter(dict.fromkeys(STEPS, 0.0))
        began = time.perf_counter()
        with steps_timed(turn):
            LambdaMART(n_trees, **own).fit(X, y, qid)
        middle = time.perf_counter()
        peer.fit(X, y, group=group)
        times = {"seconds": middle - began, "LGBMRanker": time.perf_counter() - middle}
        turns.append(times | dict(turn))
    return {name: np.median([turn[name] for turn in turns[1:]]) for name in turns[0]}


def measurements(quick):
    """Yield the phases of a fit."""
    size, n_turns = ((5, 2), 1) if quick else ((1500, 60), 5)
    yield Measurement({"phases": "LambdaMART, one thread"}, lambda: measured(*size))
    for n in (1, 2):
        conditions = {"steps": "LambdaMART", "threads": n}
        yield Measurement(conditions, partial(by_threads, *size, n, n_turns))
