"""Drawing: which documents and features a tree is grown on, and how outputs share one tree.

All is drawn by keys of seed, purpose and iteration, so a continued fit draws what one long
fit would have drawn.
"""

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit
from treerank.numerics.random_keys import uniforms

_DOCUMENTS, _QUERIES, _FEATURES, _OUTPUTS, ROUNDING = range(5)


def draw_rows(n_rows, share, objective, share_of_queries, seed, iteration):
    """Return the rows to grow a tree on, ascending; each document or query by its own chance."""
    keep = np.ones(n_rows, dtype=bool)
    if share_of_queries < 1:
        groups = objective.groups
        keys = uniforms(key_seed(seed, _QUERIES), iteration, np.arange(groups.n_queries))
        keep &= (keys <= max(share_of_queries, keys.min()))[groups.codes]
    if share < 1:
        keys = uniforms(key_seed(seed, _DOCUMENTS), iteration, np.arange(n_rows))
        keep &= keys <= max(share, keys[keep].min())
    return np.flatnonzero(keep).astype(np.uint32)


def draw_features(places, share, seed, iteration):
    """Mark the features that a tree may use."""
    there = places["feature"] >= 0
    keys = np.where(there, 0.0, 2.0)
    if share < 1:
        drawn = uniforms(key_seed(seed, _FEATURES), iteration, np.arange(len(places)))
        keys[there] = drawn[there]
    n_drawn = max(1, round(share * np.count_nonzero(there)))
    places["usable"] = there & (keys <= np.sort(keys)[:n_drawn].max(initial=0.0))


def project(gradient, hessian, seed, iteration):
    r"""Return one gradient and hessian per document, which the splits of a tree go by.

    With signs :math:`\epsilon_k` drawn anew for each tree, the square of
    :math:`\sum_k \epsilon_k G_k / \sqrt{\bar h_k}` is on average the sum of the outputs' own
    squares, so splits are by random projection [1]_; :math:`\bar h_k` is the mean hessian of an
    output and makes outputs comparable. With one output nothing is drawn.

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


def key_seed(seed, purpose):
    """Return a seed of its own for each purpose."""
    return seed * 8 + purpose


@njit(parallel=True, error_model="numpy")
def _project(gradient, hessian, to_gradient, to_hessian, g, h):
    for i in prange(len(g)):
        sum_gradient, sum_hessian = 0.0, 0.0
        for k in range(len(to_gradient)):
            sum_gradient += to_gradient[k] * gradient[i, k]
            sum_hessian += to_hessian[k] * hessian[i, k]
        g[i], h[i] = sum_gradient, sum_hessian
