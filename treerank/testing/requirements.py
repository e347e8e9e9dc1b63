"""Requirements: functions with which laws fit a ranker and report a failure.

A law fits copies of the ranker it is given. It is skipped if the ranker has not what it needs.
"""

import inspect
from typing import Any
from unittest import SkipTest

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from treerank.testing.sample import RankingSample


def seeded(ranker: Any, **changed: Any) -> Any:
    """Return an unfitted copy with ``changed`` parameters; ``random_state=None`` becomes 0."""
    copy = clone(ranker)
    parameters = copy.get_params()
    seeds = [name for name in parameters if name.split("__")[-1] == "random_state"]
    changed |= {name: 0 for name in seeds if parameters[name] is None}
    return copy.set_params(**changed) if changed else copy


def fit(ranker: Any, data: RankingSample, **changed: Any) -> Any:
    """Return a fitted copy of ``ranker`` with ``changed`` parameters."""
    return fit_itself(seeded(ranker, **changed), data)


def fit_itself(ranker: Any, data: RankingSample) -> Any:
    """Fit ``ranker`` to a copy of the data, because a wrong ``fit`` may change it."""
    given = data.copy()
    return ranker.fit(given.X, given.y, qid=given.qid)


def require(condition: Any, message: str) -> None:
    """Raise AssertionError with ``message`` unless ``condition``."""
    if not condition:
        raise AssertionError(message)


def require_same_scores(actual: ArrayLike, expected: ArrayLike, what_was_done: str) -> None:
    """Require that two arrays of scores are equal bit for bit."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    require(
        actual.shape == expected.shape,
        f"{what_was_done}, predict returned shape {actual.shape} instead of {expected.shape}.",
    )
    if np.array_equal(actual, expected, equal_nan=True):
        return
    change = np.abs(np.subtract(actual, expected, dtype=np.float64))
    raise AssertionError(
        f"{what_was_done}, {np.count_nonzero(change)} of {len(change)} scores changed, by up to "
        f"{change.max():.3g}, and the range of all scores is {np.ptp(expected):.3g}; they should "
        "be equal bit for bit."
    )


def require_finite_scores(ranker: Any, X: np.ndarray, what_was_done: str) -> None:
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


def need_methods(ranker: Any, *names: str) -> None:
    """Skip the law if the ranker has not all of the methods."""
    for name in names:
        if not hasattr(ranker, name):
            raise SkipTest(f"it has no {name}")


def need_score(ranker: Any) -> None:
    """Skip the law if ``ranker.score`` does not take ``qid``."""
    need_methods(ranker, "score")
    if not scores_by_query(ranker):
        raise SkipTest("its score takes no qid")


def scores_by_query(ranker: Any) -> bool:
    """Tell whether the ranker has a ``score`` that takes ``qid``."""
    return hasattr(ranker, "score") and "qid" in inspect.signature(ranker.score).parameters
