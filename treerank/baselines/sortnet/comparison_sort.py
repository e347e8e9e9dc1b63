"""Comparison sort: sort the documents of many queries by a comparator, all at the same time.

A comparator is a function of two arrays of documents that says how much the first is preferred to
the second. It need not be transitive, so the result may depend on the order at the start. The sort
is a merge sort, which asks for O(n log n) comparisons. The merges of all queries take their steps
together: one call of the comparator compares the first documents of all runs.
"""

from collections.abc import Callable

import numpy as np

from treerank.inputs.grouping import QueryGroups

#: ``prefer(i, j)`` is positive where row ``i[n]`` belongs above row ``j[n]``.
Preference = Callable[[np.ndarray, np.ndarray], np.ndarray]


def sort_by_comparison(
    groups: QueryGroups, prefer: Preference
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sort each query, best first; of two that are preferred equally, the earlier stays ahead.

    Parameters
    ----------
    groups : QueryGroups
        Which rows form a query.
    prefer : callable
        ``prefer(i, j) -> array``, positive where row ``i[n]`` belongs above row ``j[n]``.

    Returns
    -------
    order : ndarray of shape (n_documents,)
        Rows, query by query, best first.
    compared : tuple of ndarray (i, j, preference)
        All comparisons that were made.

    Examples
    --------
    >>> height = np.array([3.0, 1.0, 2.0])
    >>> groups = QueryGroups.from_qid(None, 3)
    >>> order, _ = sort_by_comparison(groups, lambda i, j: height[i] - height[j])
    >>> order
    array([0, 2, 1])
    """
    order = groups.order.copy()
    compared = [(order[:0], order[:0], np.zeros(0))]
    width = 1
    while width < groups.sizes.max(initial=0):
        order = _merge_neighbors(order, _runs(groups, width), prefer, compared)
        width *= 2
    i, j, preference = (np.concatenate(parts) for parts in zip(*compared, strict=True))
    return order, (i, j, preference)


def _runs(groups, width):
    """Return begin, middle and end of all pairs of neighboring runs."""
    n_pairs = -(-groups.sizes // (2 * width))
    query = np.repeat(np.arange(groups.n_queries), n_pairs)
    number = np.arange(len(query)) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    begin = groups.indptr[query] + 2 * width * number
    last = groups.indptr[query + 1]
    return begin, np.minimum(begin + width, last), np.minimum(begin + 2 * width, last)


def _merge_neighbors(order, runs, prefer, compared):
    """Return the order with each pair of runs merged; add the comparisons to ``compared``."""
    begin, middle, end = runs
    merged = order.copy()
    left, right, place = begin.copy(), middle.copy(), begin.copy()
    active = np.flatnonzero((left < middle) & (right < end))
    while len(active):
        i, j = order[left[active]], order[right[active]]
        preference = prefer(i, j)
        compared.append((i, j, preference))
        from_right = preference < 0
        merged[place[active]] = np.where(from_right, j, i)
        place[active] += 1
        right[active] += from_right
        left[active] += ~from_right
        active = active[(left[active] < middle[active]) & (right[active] < end[active])]
    for n in np.flatnonzero(left < middle):  # the right run was used up first
        merged[place[n] : end[n]] = order[left[n] : middle[n]]
    return merged
