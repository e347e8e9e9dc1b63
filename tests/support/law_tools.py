"""With what laws fit a ranker and report a failure."""

import numpy as np
from sklearn.base import clone


def seeded(ranker, **changed):
    """Return an unfitted copy with ``changed`` parameters; ``random_state=None`` becomes 0."""
    copy = clone(ranker)
    parameters = copy.get_params()
    seeds = [name for name in parameters if name.split("__")[-1] == "random_state"]
    changed |= {name: 0 for name in seeds if parameters[name] is None}
    return copy.set_params(**changed) if changed else copy


def fit(ranker, data, **changed):
    """Return a fitted copy of ``ranker`` with ``changed`` parameters."""
    return fit_itself(seeded(ranker, **changed), data)


def fit_itself(ranker, data):
    """Fit ``ranker`` to a copy of the data, because a wrong ``fit`` may change it."""
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
    change = np.abs(np.subtract(actual, expected, dtype=np.float64))
    raise AssertionError(
        f"{what_was_done}, {np.count_nonzero(change)} of {len(change)} scores changed, by up to "
        f"{change.max():.3g}, and the range of all scores is {np.ptp(expected):.3g}; they should "
        "be equal bit for bit."
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
