"""Growth of time and memory with rows, features and documents per query, on one thread.

A family takes drawn documents and a folder, and returns functions by name without arguments. What
it prepares, such as a fitted ranker, is not measured. Each family runs in a process of its own per
axis. Time is that of the processor; memory is the peak beside what was resident before, as a share
of X. The exponent is the slope of the time over the upper half of the sizes, both in logarithms.
Linux only.
"""

import ctypes
import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    read_letor,
    read_parquet,
)
from treerank.datasets import write_letor, write_parquet
from treerank.documents import QueryGroups
from treerank.documents.canonical_order import canonical_order
from treerank.metrics.registry import METRICS
from treerank.objectives.factory import LOSSES, make_objective

from .measurements import HERE, Measurement
from .processes import resident

PARTS = (LightGBMTrees, XGBoostTrees, HistogramTrees)
#: Rows that a ranker is fitted to where its fit is not measured.
FIT_ROWS = 2000


@dataclass(frozen=True)
class Data:
    """Drawn documents; five labels that depend on a few features."""

    n_rows: int
    n_features: int
    n_documents: int

    @cached_property
    def X(self):
        """Features in single precision."""
        rng = np.random.default_rng(0)
        return rng.standard_normal((self.n_rows, self.n_features), dtype=np.float32)

    @cached_property
    def scores(self):
        """Scores of the documents."""
        noise = np.random.default_rng(1).standard_normal(self.n_rows)
        return self.X[:, :5].sum(axis=1, dtype=np.float64) + 2 * noise

    @property
    def y(self):
        """Labels from 0 to 4."""
        return np.digitize(self.scores, [0, 2, 4, 6]).astype(np.float64)

    @property
    def qid(self):
        """Numbers of the queries, in ascending order."""
        return np.arange(self.n_rows) // self.n_documents

    def ranker(self, part):
        """Return a ranker of few trees on one thread."""
        return TreeDirectRanker(part(n_estimators=5, n_jobs=1), random_state=0)

    def fitted(self, part):
        """Return a ranker that was fitted to a part of the rows."""
        n = FIT_ROWS
        return self.ranker(part).fit(self.X[:n], self.y[:n], np.arange(len(self.X[:n])) // 100)


#: Pairs of documents that are explained.
PAIRS = 100


def orders(data, folder):
    """Rows by content, and queries by numbers and by texts in any order."""
    X, y, groups = data.X, data.y, QueryGroups.from_qid(data.qid)
    shuffled = np.random.default_rng(2).permutation(data.qid)
    return {
        "canonical order": lambda: canonical_order(X, groups, y),
        "queries by number": lambda: QueryGroups.from_qid(shuffled),
        "queries by text": partial(QueryGroups.from_qid, shuffled.astype(str)),
        "queries by text, objects": partial(QueryGroups.from_qid, shuffled.astype(str).tolist()),
    }


def fits(data, folder):
    """Fits of five trees, data and objective included."""
    X, y, qid = data.X, data.y, data.qid
    return {part.__name__: partial(data.ranker(part).fit, X, y, qid) for part in PARTS}


def scoring(data, folder):
    """What a fitted ranker does with documents."""
    X, qid = data.X, data.qid
    rankers = {part.__name__: data.fitted(part) for part in PARTS}
    ranker = rankers["HistogramTrees"]
    return {
        **{f"predict, {name}": partial(each.predict, X) for name, each in rankers.items()},
        "top_k": lambda: ranker.top_k(X, qid),
        "compare": lambda: ranker.compare(X, X[::-1]),
        f"explain, {PAIRS} pairs": lambda: ranker.explain(X[:PAIRS], X[-PAIRS:]),
    }


def metrics(data, folder):
    """All metrics, of distinct scores and of scores that are all equal."""
    y, qid, scores = data.y, data.qid, data.scores
    equal = np.zeros_like(scores)
    return {
        **{name: partial(metric, y, scores, qid) for name, metric in METRICS.items()},
        **{f"{name}, ties": partial(metric, y, equal, qid) for name, metric in METRICS.items()},
    }


def objectives(data, folder):
    """Derivatives of all losses, and of the default with its weights and noise."""
    y, qid, scores = data.y, data.qid, data.scores
    made = {name: make_objective(y, qid, loss=name) for name in LOSSES}
    made["default"] = make_objective(y, qid, loss="logistic", weight="ndcg", smoothing=1.0)
    return {name: partial(objective.derivatives, scores) for name, objective in made.items()}


def saving(data, folder):
    """Data files, written."""
    X, y, qid = data.X, data.y, data.qid
    return {
        "write LETOR": lambda: write_letor(folder / "data.txt", X, y, qid),
        "write Parquet": lambda: write_parquet(folder / "data.parquet", X, y, qid),
    }


def reading(data, folder):
    """The same files, read."""
    for write in saving(data, folder).values():
        write()
    return {
        "read LETOR": lambda: read_letor(folder / "data.txt", dtype=np.float32),
        "read LETOR, sparse": lambda: read_letor(
            folder / "data.txt", dtype=np.float32, sparse=True
        ),
        "read Parquet": lambda: read_parquet(folder / "data.parquet"),
    }


FAMILIES = {
    each.__name__: each for each in (orders, fits, scoring, metrics, objectives, saving, reading)
}


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
    return min(times), 2**20 * (resident("VmHWM") - before)


def measure_family(family, axis, most_seconds, most_rows):
    """Print time and memory of each function at each size as JSON."""
    axis_index = {"rows": 0, "rows of 10 features": 0, "features": 1, "documents per query": 2}
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
                size = sizes[axis_index[axis]]
                print(json.dumps([name, size, seconds, extra / data.X.nbytes]), flush=True)


ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
CHILD = """
import sys
from benchmarks import growth
family, axis, seconds, rows = sys.argv[1:]
growth.measure_family(family, axis, float(seconds), int(rows))
"""


@functools.cache
def points_of(family, axis, most_seconds, most_rows):
    """Return sizes, seconds and shares of X by name, measured in a process of its own."""
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", CHILD, family, axis, str(most_seconds), str(most_rows)]
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": paths}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    points = {}
    for name, *point in map(json.loads, done.stdout.splitlines()):
        points.setdefault(name, []).append(point)
    return {name: np.array(found) for name, found in points.items()}


def exponent(points):
    """Return the slope of the time over the upper half of the sizes."""
    sizes, seconds, _ = np.log(np.maximum(points[len(points) // 2 - 1 :], 1e-9)).T
    return np.polyfit(sizes, seconds, 1)[0] if len(sizes) > 1 else np.nan


def names_of(family):
    """Return the names of the functions of a family."""
    with tempfile.TemporaryDirectory() as folder:
        return [*FAMILIES[family](SMALL, Path(folder))]


def grown(family, axis, name, limits):
    """Return exponent, seconds and memory at the largest size of a function."""
    points = points_of(family, axis, *limits)[name]
    size, seconds, share = points[-1]
    return {
        "exponent": exponent(points),
        "largest size": size,
        "cpu seconds": seconds,
        "memory over X": share,
    }


def measurements(quick):
    """Yield the growth of each function along each axis."""
    families, axes = (["orders"], ["rows"]) if quick else (FAMILIES, AXES)
    limits = (10.0, 10_000) if quick else (60.0, 10_000_000)
    for family in families:
        for axis in axes:
            for name in names_of(family):
                measure = partial(grown, family, axis, name, limits)
                yield Measurement({"function": name, "axis": axis}, measure)
