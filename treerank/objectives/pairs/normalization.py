"""Normalization: the number that the pair weights of one query are scaled to.

Without it a query counts as much as the sum of its pair weights. To add a rule, list its function
of that sum in ``NORMALIZATIONS``.
"""

import numpy as np


def _as_it_is(mass, typical_size):
    return np.ones_like(mass)


def _equal(mass, typical_size):
    return typical_size / mass


def _log(mass, typical_size):
    return np.log2(1 + mass) / mass


#: ``(sum of weights, documents of a typical query) -> factor``: unscaled; the same sum for every
#: query; or the logarithm of the sum, as LightGBM's ``lambdarank_norm`` does.
NORMALIZATIONS = {None: _as_it_is, "equal": _equal, "log": _log}


def query_factors(normalization: str | None, mass: np.ndarray, typical_size: float) -> np.ndarray:
    """Return the factor of each query; queries without weight get 1."""
    used = np.where(mass > 0, mass, 1.0)
    return np.where(mass > 0, NORMALIZATIONS[normalization](used, typical_size), 1.0)
