"""What ``bench_growth.py`` measures: functions of the data, by family.

A family takes :class:`Data` and a folder, and returns functions without arguments by name. What it
prepares, such as a fitted ranker, is not measured.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    QueryGroups,
    TreeDirectRanker,
    XGBoostTrees,
    load,
    read_letor,
    read_parquet,
    write_letor,
    write_parquet,
)
from treerank.inputs.canonical import canonical_order
from treerank.inspection import copies, data_sheet, drift
from treerank.metrics.registry import METRICS
from treerank.objectives.factory import LOSSES, make_objective

PARTS = (LightGBMTrees, XGBoostTrees, HistogramTrees)
#: Rows that a ranker is fitted to where its fit is not measured.
FIT_ROWS = 2000
#: Pairs of documents that are explained.
PAIRS = 100


@dataclass(frozen=True)
class Data:
    """Drawn documents; five labels that lean on a few features."""

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
    """Data files and a model file, written."""
    X, y, qid = data.X, data.y, data.qid
    ranker = data.fitted(HistogramTrees)
    return {
        "write LETOR": lambda: write_letor(folder / "data.txt", X, y, qid),
        "write Parquet": lambda: write_parquet(folder / "data.parquet", X, y, qid),
        "save": lambda: ranker.save(folder / "model"),
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
        "load": lambda: load(folder / "model"),
    }


def reports(data, folder):
    """Pages and tables about data and rankers."""
    X, y, qid = data.X, data.y, data.qid
    ranker = data.fitted(LightGBMTrees)
    return {
        "data sheet": lambda: data_sheet(X, y, qid),
        "drift": lambda: drift(X, X[::-1]),
        "copies": lambda: copies(X, qid),
        "report": lambda: ranker.report(X, y, qid),
    }


FAMILIES = {
    each.__name__: each
    for each in (orders, fits, scoring, metrics, objectives, saving, reading, reports)
}
