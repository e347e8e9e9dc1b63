"""What ``bench_growth.py`` measures: functions of the data, by family.

A family takes data of ``growth_data.py`` and a folder, and returns functions by name that take no
arguments. What it prepares, such as a fitted ranker, is not measured.
"""

from functools import partial

import numpy as np
from growth_data import PARTS

from treerank import read_letor, read_parquet
from treerank.datasets import write_letor, write_parquet
from treerank.documents import QueryGroups
from treerank.documents.canonical_order import canonical_order
from treerank.metrics.registry import METRICS
from treerank.objectives.factory import LOSSES, make_objective

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
