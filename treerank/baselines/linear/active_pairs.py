r"""Active pairs: the pairs of a query whose margin is below 1, stored as two numbers per document.

Sort the documents of a query by falling score. Then the partners within the margin of a document
are the first ones in this order, and how many they are only grows from document to document. A
Fenwick tree over levels sums those of a lower level. So a sum over all active pairs takes
O(n log n), no pair is ever stored, and nothing is sorted again until the scores change.

One product serves value, gradient and curvature. With :math:`(Au)_i = \sum_j w_i w_j (u_i - u_j)`
over the active partners j of i, and :math:`c_i` the weight of the active partners below document i
minus the weight of those above, the sum of squared hinges is :math:`M - 2 c^T s + s^T A s`, where
M is the weight of all active pairs. Its gradient is :math:`2 (A s - c)`.
"""

from typing import NamedTuple, Self

import numpy as np
from numba import prange

from treerank.baselines.linear.products import N_BLOCKS, add_multiple, dot
from treerank.numerics.compiling import njit
from treerank.numerics.fenwick import add, sum_below
from treerank.rankers.training_set import TrainingSet


class PairSides(NamedTuple):
    """Labels and weights of documents, from which the pairs and their weights follow.

    Attributes
    ----------
    indptr : ndarray of shape (n_queries + 1,)
        Where queries start; their documents are next to each other.
    level : ndarray of shape (n_documents,)
        Level of relevance within the query, from 0.
    weight : ndarray of shape (n_documents,)
        Weight of each document; that of a pair is the product times ``factor`` of its query.
    factor : ndarray of shape (n_queries,)
        Weight of each query's pairs.
    """

    indptr: np.ndarray
    level: np.ndarray
    weight: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, data: TrainingSet, normalized: bool) -> Self:
        """Read a training set; ``normalized`` gives the pairs of every query the same sum."""
        indptr = data.groups.indptr
        weight = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
        level = _levels(data.y, indptr)
        mass = _mass(indptr, level, weight)
        factor = np.divide(1.0, mass, out=np.zeros(len(mass)), where=mass > 0)
        factor = factor if normalized else np.ones(len(mass))
        by_query = data.weight_of_queries
        factor = factor if by_query is None else factor * by_query
        total = float(np.sum(factor * mass))
        return cls(indptr, level, weight, factor / total if total > 0 else factor * 0)


class ActivePairs(NamedTuple):
    """The pairs that are active under some scores.

    Attributes
    ----------
    order : ndarray of shape (n_documents,)
        The rows of each query, by falling score.
    reach : ndarray of shape (n_documents,)
        How many documents of its query, counted in this order, are within the margin of the
        document at each place, as partners below.
    mass : ndarray of shape (n_documents,)
        For each row, the weight of all its active partners.
    surplus : ndarray of shape (n_documents,)
        The c of the formula.
    total : ndarray of shape (n_queries,)
        Weight of all active pairs of each query.
    """

    order: np.ndarray
    reach: np.ndarray
    mass: np.ndarray
    surplus: np.ndarray
    total: np.ndarray


def active_pairs(scores: np.ndarray, sides: PairSides) -> ActivePairs:
    """Return the pairs that are active under the given scores."""
    n, n_queries = len(scores), len(sides.factor)
    order, reach = np.empty((2, n), np.int64)
    active = ActivePairs(order, reach, np.empty(n), np.empty(n), np.empty(n_queries))
    _find(scores, sides, active)
    return active


def squared_hinges(
    scores: np.ndarray, sides: PairSides, active: ActivePairs
) -> tuple[float, np.ndarray]:
    """Return the weighted sum of squared hinges and its gradient."""
    product = np.empty(len(scores))
    _multiply(scores, sides, active, product)
    value = active.total.sum() - 2 * (active.surplus * scores).sum() + (product * scores).sum()
    return float(value), 2 * (product - active.surplus)


def curvature_product(
    Z: np.ndarray, v: np.ndarray, sides: PairSides, active: ActivePairs
) -> np.ndarray:
    """Return the second derivative along ``v``: Z' 2 A Z v, in one pass over ``Z``."""
    n_blocks = min(N_BLOCKS, len(sides.factor))
    cuts = np.searchsorted(sides.indptr, np.linspace(0, len(Z), n_blocks + 1)[1:-1])
    cuts = np.concatenate([[0], cuts, [len(sides.factor)]])
    parts = np.zeros((n_blocks, Z.shape[1]))
    _multiply_between(Z, v, sides, active, cuts, parts)
    return 2 * parts.sum(axis=0)


@njit
def _levels(y, indptr):
    level = np.empty(len(y), np.int64)
    for q in range(len(indptr) - 1):
        own = y[indptr[q] : indptr[q + 1]]
        level[indptr[q] : indptr[q + 1]] = np.searchsorted(np.unique(own), own)
    return level


@njit
def _mass(indptr, level, weight):
    """Return the weight of all pairs of each query."""
    mass = np.zeros(len(indptr) - 1)
    for q in range(len(mass)):
        own, w = level[indptr[q] : indptr[q + 1]], weight[indptr[q] : indptr[q + 1]]
        of_level = np.bincount(own, w)
        below = 0.0
        for c in range(len(of_level)):
            mass[q] += of_level[c] * below
            below += of_level[c]
    return mass


@njit(parallel=True)
def _find(scores, sides, active):
    for q in prange(len(sides.factor)):
        # Variables that a prange assigns in a nested loop would be lost, hence a function.
        _find_in_query(scores, q, sides, active)


@njit
def _find_in_query(scores, q, sides, active):
    a, b = sides.indptr[q], sides.indptr[q + 1]
    order, reach = active.order[a:b], active.reach[a:b]
    order[:] = a + np.argsort(-scores[a:b])
    end = 0
    for t in range(b - a):
        while end < b - a and scores[order[end]] > scores[order[t]] - 1:
            end += 1
        reach[t] = end
    below, above = np.empty(b - a), np.empty(b - a)
    _sums_over_partners(np.ones(b - a), a, sides, order, reach, below, above)
    own = sides.weight[a:b] * sides.factor[q]
    active.mass[a:b] = own * (below + above)
    active.surplus[a:b] = own * (below - above)
    active.total[q] = (own * below).sum()


@njit(parallel=True)
def _multiply(u, sides, active, product):
    for q in prange(len(sides.factor)):
        a, b = sides.indptr[q], sides.indptr[q + 1]
        _multiply_query(u[a:b], q, sides, active, product[a:b])


@njit
def _multiply_query(u, q, sides, active, product):
    a, b = sides.indptr[q], sides.indptr[q + 1]
    below, above = np.empty(b - a), np.empty(b - a)
    _sums_over_partners(u, a, sides, active.order[a:b], active.reach[a:b], below, above)
    for i in range(b - a):
        own = sides.weight[a + i] * sides.factor[q]
        product[i] = active.mass[a + i] * u[i] - own * (below[i] + above[i])


@njit
def _sums_over_partners(u, a, sides, order, reach, below, above):
    """Sum w_j u_j over the active partners below, and above, of each document of a query."""
    n = len(order)
    n_levels = 1
    for i in range(n):
        n_levels = max(n_levels, sides.level[a + i] + 1)
    lower, higher = np.zeros(n_levels + 1), np.zeros(n_levels + 1)
    end = 0
    for t in range(n):
        while end < reach[t]:
            j = order[end]
            add(lower, sides.level[j], sides.weight[j] * u[j - a])
            end += 1
        below[order[t] - a] = sum_below(lower, sides.level[order[t]])
    start = n
    for t in range(n - 1, -1, -1):
        while start > 0 and reach[start - 1] > t:
            start -= 1
            j = order[start]
            add(higher, n_levels - 1 - sides.level[j], sides.weight[j] * u[j - a])
        above[order[t] - a] = sum_below(higher, n_levels - 1 - sides.level[order[t]])


@njit(parallel=True)
def _multiply_between(Z, v, sides, active, cuts, parts):
    """Add up Z' A Z v over the queries of each block; a query's rows are still in the cache."""
    for block in prange(len(cuts) - 1):
        for q in range(cuts[block], cuts[block + 1]):
            rows = Z[sides.indptr[q] : sides.indptr[q + 1]]
            along, product = np.empty(len(rows)), np.empty(len(rows))
            for i in range(len(rows)):
                along[i] = dot(rows[i], v)
            _multiply_query(along, q, sides, active, product)
            for i in range(len(rows)):
                add_multiple(rows[i], product[i], parts[block])
