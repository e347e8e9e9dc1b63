"""Shrinkage: how far the clicks of documents are from what is expected, beyond chance."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

#: Bounds of the logarithm of a Gamma distribution's shape.
_LOG_SHAPES = (-4.0, 8.0)


def gamma_shape(clicks: np.ndarray, expected: np.ndarray) -> float:
    """Return the most likely shape of Gamma factors of mean 1 on expected numbers of clicks.

    A prior of this shape is worth as many clicks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> expected = np.full(10_000, 3.0)
    >>> round(gamma_shape(rng.poisson(expected * rng.gamma(2, 1 / 2, size=10_000)), expected), 1)
    2.0
    """

    def loss(log_shape: float) -> float:
        a = np.exp(log_shape)
        terms = gammaln(clicks + a) - gammaln(a) - a * np.log1p(expected / a)
        return -float((terms - clicks * np.log(expected + a)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHAPES, method="bounded").x))
