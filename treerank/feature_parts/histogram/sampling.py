"""Sampling: the random rows and features of a tree, and random projections of several outputs.

Random numbers depend only on seed, purpose and iteration, see :mod:`treerank.numerics.random_keys`.
So a continued fit draws the same as one long fit, and several workers draw the same as one worker.
"""

import numpy as np

from treerank.documents.rows import Rows
from treerank.numerics.random_keys import uniforms
from treerank.objectives.base import Objective, as_objective

#: Seed of a fit and number of a tree.
Key = tuple[int, int]
_DOCUMENTS, _QUERIES, _FEATURES, _OUTPUTS, ROUNDING = range(5)


class RowSampler:
    """Draws the rows on which a tree is grown, among the rows of this worker.

    ``share`` and ``share_of_queries`` are the probabilities of each document, and of each query of
    the objective, to be drawn.
    """

    def __init__(self, rows: Rows, objective: Objective, share: float, share_of_queries: float):
        indices = np.arange(len(rows)) if rows.global_indices is None else rows.global_indices
        self.largest = rows.largest
        self.n_rows, self.draws = len(rows), []  # purpose and share, and the number of each row
        if share_of_queries < 1:
            groups = as_objective(objective).groups
            starts = groups.first_of(indices)
            all_starts = np.sort(rows.of_all(starts))
            queries = np.searchsorted(all_starts, starts)  # numbers among all workers' queries
            self.draws.append((_QUERIES, share_of_queries, queries[groups.codes]))
        if share < 1:
            self.draws.append((_DOCUMENTS, share, indices))

    def rows(self, key: Key) -> np.ndarray:
        """Return the rows of one tree, in ascending order; at least one row over all workers."""
        if not self.draws:
            return np.arange(self.n_rows, dtype=np.uint32)
        keep = np.ones(self.n_rows, dtype=bool)
        for purpose, share, numbers in self.draws:
            keys = uniforms(*key_for(purpose, key), numbers)
            smallest = -self.largest(np.array([-keys[keep].min(initial=np.inf)]))[0]
            keep &= keys <= max(share, smallest)
        return np.flatnonzero(keep).astype(np.uint32)


def sample_features(features: np.ndarray, share: float, key: Key) -> np.ndarray:
    """Return a mask of the columns of bins that a tree may use: a random ``share`` of the features.

    ``features`` are the features of the columns, -1 where a column holds none. At least one is
    drawn.
    """
    is_used = features >= 0
    if share == 1:
        return is_used
    numbers = np.searchsorted(np.sort(features[is_used]), features)  # whatever the order of columns
    keys = uniforms(*key_for(_FEATURES, key), numbers)
    keys[~is_used] = 2.0
    n_drawn = max(1, round(share * np.count_nonzero(is_used)))
    return is_used & (keys <= np.sort(keys)[:n_drawn].max(initial=0.0))


def project(gradient: np.ndarray, hessian: np.ndarray, key: Key) -> tuple[np.ndarray, np.ndarray]:
    r"""Return ``(gradient, hessian)`` with one entry per document, to choose a tree's splits by.

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
        return gradient[:, 0], hessian[:, 0]
    keys = uniforms(*key_for(_OUTPUTS, key), np.arange(n_outputs))
    mean = hessian.mean(axis=0, dtype=np.float64)
    scale = np.divide(mean.mean(), mean, out=np.zeros(n_outputs), where=mean > 0)
    to_gradient = np.where(keys < 0.5, -1.0, 1.0) * np.sqrt(scale)
    g, h = np.zeros((2, len(gradient)))
    for k in range(n_outputs):
        g += to_gradient[k] * gradient[:, k]
        h += (scale[k] / n_outputs) * hessian[:, k]
    return g, h


def key_for(purpose: int, key: Key) -> Key:
    """Return the key (seed, iteration) of random numbers for a purpose, different for each."""
    seed, iteration = key
    return seed * 8 + purpose, iteration
