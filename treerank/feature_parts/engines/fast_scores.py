"""Fast scores: the trees of an engine, read once as a forest, score faster than the engine.

The scores are the same, bit for bit. Reading takes as long as the engine needs for thousands of
rows, so the first rows of a model are scored by the engine. The engine also scores what a forest
cannot: sparse matrices, several outputs, leaves that are linear functions, and rows on a graphics
card.
"""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_scores

#: Forests of fitted models.
_FORESTS: WeakKeyDictionary[Any, Forest] = WeakKeyDictionary()
#: Forests that score faster than the engine; ``None`` where the engine scores.
_FAST: WeakKeyDictionary[Any, Forest | None] = WeakKeyDictionary()
#: Number of rows that the engine has scored.
_N_SCORED: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def forest_of(part: Any) -> Forest:
    """Return the trees of a fitted part as a forest, which is read once."""
    if part.booster_ not in _FORESTS:
        _FORESTS[part.booster_] = part.forest()
    return _FORESTS[part.booster_]


def scores_of(part: Any, values: Any) -> np.ndarray:
    """Return the scores of rows, of shape (n_documents, n_scores_)."""
    forest = _fast_forest(part, values)
    if forest is None:
        scores: np.ndarray = part.predict_scores(values)
        return scores
    return forest_scores(forest, values, n_threads=part.n_threads)


def _fast_forest(part, values):
    """Return a forest that scores these rows faster than the engine, or ``None``."""
    is_dense = isinstance(values, np.ndarray) and values.dtype in (np.float64, np.float32)
    if part.rows_before_forest is None or not is_dense or getattr(part, "device", "cpu") != "cpu":
        return None
    booster = part.booster_
    if booster not in _FAST:
        n_scored = _N_SCORED[booster] = _N_SCORED.get(booster, 0) + len(values)
        if booster not in _FORESTS and n_scored < part.rows_before_forest:
            return None
        _FAST[booster] = _forest_if_fast(part)
    return _FAST[booster]


def _forest_if_fast(part):
    try:
        forest = forest_of(part)
    except ValueError:  # leaves that are linear functions, and others that no forest holds
        return None
    return forest if forest.n_outputs == 1 else None
