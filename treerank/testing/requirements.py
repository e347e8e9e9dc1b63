"""Requirements: what laws do with a ranker, and how they say what it failed by.

A law fits unfitted copies, never the ranker it is given, and skips what the ranker has not.
"""

import inspect
from unittest import SkipTest

import numpy as np
from sklearn.base import clone


def seeded(ranker, **changed):
    """Return an unfitted copy with ``changed`` parameters, and a seed where it has none."""
    copy = clone(ranker)
    parameters = copy.get_params()
    seeds = [name for name in parameters if name.split("__")[-1] == "random_state"]
    changed |= {name: 0 for name in seeds if parameters[name] is None}
    return copy.set_params(**changed) if changed else copy


def fit(ranker, data, **changed):
    """Fit a copy of ``ranker``, with ``changed`` parameters."""
    return fit_itself(seeded(ranker, **changed), data)


def fit_itself(ranker, data):
    """Fit ``ranker`` to copies: if it writes to them, no other law is to fail for it."""
    given = data.copy()
    return ranker.fit(given.X, given.y, qid=given.qid)


def require(condition, message):
    """Raise AssertionError with ``message`` unless ``condition``."""
    if not condition:
        raise AssertionError(message)


def require_same_scores(actual, expected, what_was_done):
    """Require that two arrays of scores are equal bit for bit."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    require(
        actual.shape == expected.shape,
        f"{what_was_done}, predict returned shape {actual.shape} instead of {expected.shape}.",
    )
    if np.array_equal(actual, expected, equal_nan=True):
        return
    moved = np.abs(np.subtract(actual, expected, dtype=np.float64))
    raise AssertionError(
        f"{what_was_done}, {np.count_nonzero(moved)} of {len(moved)} scores moved, by up to "
        f"{moved.max():.3g} where all scores span {np.ptp(expected):.3g}; they should be equal "
        "bit for bit."
    )


def require_finite_scores(ranker, X, what_was_done):
    """Require one finite score per document."""
    scores = np.asarray(ranker.predict(X))
    require(
        scores.shape == (len(X),),
        f"{what_was_done}, predict returned shape {scores.shape} for {len(X)} documents; it "
        "should return one score per document.",
    )
    n_wrong = np.count_nonzero(~np.isfinite(scores))
    require(
        n_wrong == 0,
        f"{what_was_done}, {n_wrong} of {len(scores)} scores are NaN or infinite; all should be "
        "finite.",
    )


def need_methods(ranker, *names):
    """Skip the law unless the ranker has the methods."""
    for name in names:
        if not hasattr(ranker, name):
            raise SkipTest(f"it has no {name}")


def need_score(ranker):
    """Skip the law unless ``ranker.score`` takes ``qid``."""
    need_methods(ranker, "score")
    if not scores_by_query(ranker):
        raise SkipTest("its score takes no qid")


def scores_by_query(ranker):
    """Tell whether the ranker has a ``score`` that takes ``qid``."""
    return hasattr(ranker, "score") and "qid" in inspect.signature(ranker.score).parameters
