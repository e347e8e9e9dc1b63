r"""Diversification: a list of good documents that are unlike each other.

Documents are chosen one after the other. With relevance :math:`r_i`, which are the scores between
0 and 1, and a trade-off :math:`\lambda`, the next one has the largest

.. math:: (1 - \lambda) r_i - \lambda \max_{j \text{ chosen}} \cos(v_i, v_j)

by vectors, which is maximal marginal relevance (MMR); or, by groups,

.. math:: (1 - \lambda) r_i + \lambda\, r_i \prod_{j \text{ chosen, of the same group}} (1 - r_j)

which is xQuAD with the groups as aspects that matter alike. Of equal documents, the earlier
row is chosen.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import as_numbers, check_column, check_counts, quote
from treerank.documents.queries import QueryGroups, check_qid
from treerank.numerics.compiling import njit
from treerank.parameters import Count, Probability, check_arguments

#: No limit.
_ANY = np.iinfo(np.int64).max


@check_arguments
def diversify(
    scores: ArrayLike,
    k: Count = 10,
    *,
    groups: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    trade_off: Probability = 0.5,
    at_most: int | Mapping[int, int] | None = None,
) -> np.ndarray:
    """Choose documents of one query that are good and unlike each other, best first.

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
        Scores of the candidates of one query.
    k : int, default=10
        Number of documents to choose. There are fewer if ``at_most`` allows no more.
    groups : array-like of shape (n_candidates,), default=None
        Group of each candidate, such as its brand or its topic.
    vectors : array-like of shape (n_candidates, n_dimensions), default=None
        A vector of each candidate, such as an embedding, also as a column of lists of a data frame:
        likeness is their cosine.
    trade_off : float, default=0.5
        0 is the order of the scores, 1 looks at variety alone.
    at_most : int or dict from int to int, default=None
        Largest number of documents of a group in the list, or among its first positions: with
        ``{3: 1, 10: 4}``, one among the first 3 and four among the first 10.

    Returns
    -------
    ndarray of int of shape (at most k,)
        Rows of the chosen candidates, in the order in which to show them.

    References
    ----------
    Carbonell and Goldstein (1998). The use of MMR, diversity-based reranking.

    Santos et al. (2010). Exploiting query reformulations for web search result diversification.

    Examples
    --------
    >>> scores, brands = [0.9, 0.8, 0.7, 0.1], ["a", "a", "b", "b"]
    >>> diversify(scores, 3, groups=brands)
    array([0, 2, 1])
    >>> diversify(scores, 3, groups=brands, trade_off=0.0, at_most={2: 1})
    array([0, 2, 1])
    """
    scores = check_column("scores", scores) / 2  # so that their range is finite
    n = len(scores)
    if groups is not None and vectors is not None:
        raise ValueError("vectors must be None if groups are given; got both.")
    if groups is None and at_most is not None:
        raise ValueError(f"groups must be given for at_most; got at_most={quote(at_most)}.")
    spread = np.ptp(scores)
    relevance = (scores - scores.min()) / spread if spread > 0 else np.ones(n)
    if vectors is not None:
        return _by_vectors(relevance, _unit_vectors(vectors, n), min(k, n), trade_off)
    units = np.arange(n) if groups is None else check_qid(groups, n, name="groups")
    codes = QueryGroups.from_qid(units).codes
    return _by_groups(relevance, codes, _limits(at_most, min(k, n)), trade_off)


def _unit_vectors(vectors: ArrayLike, n_candidates: int) -> np.ndarray:
    """Return vectors of length 1, or 0, one row per candidate."""
    matrix = as_numbers("vectors", _rows_of(vectors))
    if matrix.ndim != 2 or len(matrix) != n_candidates or not np.isfinite(matrix).all():
        raise ValueError(
            f"vectors must have a row of finite numbers for each of the {n_candidates} "
            f"candidates; got {quote(vectors)} of shape {matrix.shape}."
        )
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0)
    matrix = matrix / np.where(largest > 0, largest, 1)  # avoids overflow of squares
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _rows_of(vectors: ArrayLike) -> ArrayLike:
    """Return a column of lists as a list of them, of which NumPy makes a matrix.

    Refuses lists of unequal length. Other vectors are returned unchanged.
    """
    array = np.asarray(vectors) if hasattr(vectors, "__array__") else None
    is_column = array is not None and array.dtype == object and array.ndim == 1
    rows: Any = array.tolist() if array is not None and is_column else vectors
    if not isinstance(rows, list | tuple):
        return vectors
    sizes = [len(row) if hasattr(row, "__len__") else 0 for row in rows]
    row = next((row for row, size in enumerate(sizes) if size != sizes[0]), None)
    if row is not None:
        raise ValueError(
            f"vectors must have equally many numbers in each row; got {sizes[0]} in row 0 and "
            f"{sizes[row]} in row {row}."
        )
    return rows


def _limits(at_most: int | Mapping[int, int] | None, k: int) -> np.ndarray:
    """Return the largest number of documents of one group up to each of ``k`` positions."""
    limits = np.full(k, _ANY)
    if at_most is None:
        return limits
    by_position = at_most if isinstance(at_most, Mapping) else {k: at_most}
    check_counts("at_most", [*by_position, *by_position.values()])
    for position, limit in by_position.items():
        limits[:position] = np.minimum(limits[:position], limit)
    return limits


@njit
def _by_groups(relevance, codes, limits, trade_off):
    """Return the rows chosen greedily by xQuAD over groups, one for each entry of ``limits``.

    ``codes`` are numbers of groups, and ``limits`` the largest number of documents of a group up to
    each position. The result is shorter if no document is allowed.
    """
    n_shown = np.zeros(codes.max() + 1, dtype=np.int64)
    uncovered = np.ones(codes.max() + 1)
    chosen = np.empty(len(limits), dtype=np.int64)
    is_free = np.ones(len(relevance), dtype=np.bool_)
    for position in range(len(limits)):
        best, most = -1, -np.inf
        for i in range(len(relevance)):
            group = codes[i]
            if is_free[i] and n_shown[group] < limits[position]:
                value = relevance[i] * (1 - trade_off + trade_off * uncovered[group])
                if value > most:
                    best, most = i, value
        if best < 0:
            return chosen[:position]
        chosen[position], is_free[best] = best, False
        n_shown[codes[best]] += 1
        uncovered[codes[best]] *= 1 - relevance[best]
    return chosen


@njit(fastmath={"contract"})
def _by_vectors(relevance, vectors, k, trade_off):
    """Return ``k`` rows chosen greedily by maximal marginal relevance; vectors have length 1."""
    likeness = np.full(len(relevance), -np.inf)
    chosen = np.empty(k, dtype=np.int64)
    is_free = np.ones(len(relevance), dtype=np.bool_)
    for position in range(k):
        best, most = -1, -np.inf
        for i in range(len(relevance)):
            if is_free[i]:
                like = likeness[i] if position > 0 else 0.0
                value = (1 - trade_off) * relevance[i] - trade_off * like
                if value > most:
                    best, most = i, value
        chosen[position], is_free[best] = best, False
        cosines = vectors @ vectors[best]
        for i in range(len(relevance)):
            likeness[i] = max(likeness[i], cosines[i])
    return chosen
