"""Sampling: the random rows and features of a tree, and random projections of several outputs.

Random numbers depend only on seed, purpose and iteration, see :mod:`treerank.numerics.random_keys`.
So a continued fit samples what one long fit would have sampled.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit
from treerank.numerics.random_keys import uniforms
from treerank.objectives.base import Objective

_DOCUMENTS, _QUERIES, _FEATURES, _OUTPUTS, ROUNDING = range(5)


def sample_rows(
    n_rows: int, objective: Objective, shares: tuple[float, float], seed: int, iteration: int
) -> np.ndarray:
    """Return the rows to grow a tree on, in ascending order.

    ``shares`` are the probabilities of each document and of each query. At least one row is
    returned.
    """
    share, share_of_queries = shares
    if share == share_of_queries == 1:
        return np.arange(n_rows, dtype=np.uint32)
    keep = np.ones(n_rows, dtype=bool)
    if share_of_queries < 1:
        groups = objective.groups
        keys = uniforms(key_seed(seed, _QUERIES), iteration, np.arange(groups.n_queries))
        keep &= (keys <= max(share_of_queries, keys.min()))[groups.codes]
    if share < 1:
        keys = uniforms(key_seed(seed, _DOCUMENTS), iteration, np.arange(n_rows))
        keep &= keys <= max(share, keys[keep].min())
    return np.flatnonzero(keep).astype(np.uint32)


def sample_features(places: np.ndarray, share: float, seed: int, iteration: int) -> None:
    """Mark the features that a tree may use in ``places["usable"]``."""
    exists = places["feature"] >= 0
    keys = np.where(exists, 0.0, 2.0)
    if share < 1:
        drawn = uniforms(key_seed(seed, _FEATURES), iteration, np.arange(len(places)))
        keys[exists] = drawn[exists]
    n_drawn = max(1, round(share * np.count_nonzero(exists)))
    places["usable"] = exists & (keys <= np.sort(keys)[:n_drawn].max(initial=0.0))


def project(
    gradient: np.ndarray, hessian: np.ndarray, seed: int, iteration: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return one gradient and hessian per document, by which the splits of a tree are chosen.

    With several outputs this is a random projection [1]_,
    :math:`\sum_k \epsilon_k G_k / \sqrt{\bar h_k}`, with random signs :math:`\epsilon_k` for
    each tree. Its square is on average the sum of the squares of the outputs. The mean hessian
    :math:`\bar h_k` of an output makes outputs comparable. With one output nothing is random.

    References
    ----------
    .. [1] Iosipoi and Vakhrushev (2022). SketchBoost: fast gradient boosted decision tree for
       multioutput problems. NeurIPS.
    """
    n_outputs = gradient.shape[1]
    if n_outputs == 1:
        return gradient[:, 0].astype(np.float64), hessian[:, 0].astype(np.float64)
    keys = uniforms(key_seed(seed, _OUTPUTS), iteration, np.arange(n_outputs))
    size = hessian.mean(axis=0, dtype=np.float64)
    scale = np.divide(size.mean(), size, out=np.zeros(n_outputs), where=size > 0)
    signs = np.where(keys < 0.5, -1.0, 1.0)
    g, h = np.empty((2, len(gradient)))
    _project(gradient, hessian, signs * np.sqrt(scale), scale / n_outputs, g, h)
    return g, h


def key_seed(seed: int, purpose: int) -> int:
    """Return a different seed for each purpose."""
    return seed * 8 + purpose


@njit(parallel=True, error_model="numpy")
def _project(gradient, hessian, to_gradient, to_hessian, g, h):
    for i in prange(len(g)):
        sum_gradient, sum_hessian = 0.0, 0.0
        for k in range(len(to_gradient)):
            sum_gradient += to_gradient[k] * gradient[i, k]
            sum_hessian += to_hessian[k] * hessian[i, k]
        g[i], h[i] = sum_gradient, sum_hessian
