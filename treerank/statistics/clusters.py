r"""Clusters: groups of queries that are not independent of each other, such as those of one user.

A test set of many users, each in several weeks, has fewer independent values than queries. Tests
and intervals then draw and flip whole clusters. The mean is still that over queries: with the sum
:math:`S_c` of the :math:`n_c` values of cluster c it is :math:`\bar x = \sum_c S_c / \sum_c n_c`,
whose standard error is

.. math:: \sqrt{\frac{C}{C - 1} \sum_{c=1}^C (S_c - n_c \bar x)^2} \Big/ \sum_{c=1}^C n_c

over C clusters (Liang and Zeger, 1986). With one query in each, all results are those without
clusters.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import quote
from treerank.documents.queries import ByRow, QueryGroups, check_qid
from treerank.spelling import has_spelling
from treerank.statistics.paired import are_equal

#: The cluster of each document, or the name of a column of them; None without clusters.
ClustersOfRows = ArrayLike | str | None


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Sums and numbers of values by cluster, in the order in which clusters first occur.

    Attributes
    ----------
    sums : ndarray of shape (n_clusters,)
        Sum of the values of each cluster.
    sizes : ndarray of int of shape (n_clusters,)
        Number of values of each cluster.

    Examples
    --------
    >>> units = ClusterSums.of(np.array([1.0, 2.0, 4.0]), np.array(["b", "a", "b"]))
    >>> units.sums, units.sizes
    (array([5., 2.]), array([2, 1]))
    """

    sums: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, clusters: np.ndarray | None) -> "ClusterSums":
        """Return the sums of values; without clusters, each value is one of its own."""
        if clusters is None:
            return cls(values, np.ones(len(values), dtype=np.int64))
        _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        codes = rank[codes]
        return cls(np.bincount(codes, values), np.bincount(codes))

    @property
    def means(self) -> np.ndarray:
        """Mean of the values of each cluster."""
        return self.sums / self.sizes

    @property
    def have_equal_means(self) -> bool:
        """Whether the means of all clusters are equal, but for the rounding of their sums."""
        return are_equal(self.means, size=np.abs(self.sums).max())


def check_clusters(clusters: ByRow, values: np.ndarray) -> np.ndarray | None:
    """Return the clusters of the values that are not NaN, equal where clusters are; None for None.

    Refuses missing clusters, another number of them, and a single one.

    Examples
    --------
    >>> check_clusters(["ann", "bob", "ann"], np.array([0.5, np.nan, 1.0]))
    Traceback (most recent call last):
    ...
    ValueError: clusters must be at least two, which are independent of each other; got one, 'ann'.
    """
    if clusters is None:
        return None
    codes = check_qid(clusters, name="clusters")
    if len(codes) != len(values):
        raise ValueError(
            f"clusters must have an entry for each of the {len(values)} values; got {len(codes)}."
        )
    measured = ~np.isnan(values)
    rows = np.flatnonzero(measured)
    if len(rows) and (codes[rows] == codes[rows[0]]).all():
        raise ValueError(_rule_of_two(_item(clusters, rows[0])))
    return codes[measured]


def standard_error(values: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return the standard error of the mean of values that may be correlated within clusters.

    Examples
    --------
    >>> values = np.array([1.0, 1.0, 3.0, 3.0])
    >>> round(standard_error(values), 3), standard_error(values, np.array([0, 0, 1, 1]))
    (0.577, 1.0)
    """
    units = ClusterSums.of(values, clusters)
    n_units = len(units.sums)
    if n_units < 2:
        return float("nan")
    if clusters is None:
        return float(np.std(values, ddof=1) / np.sqrt(len(values)))
    deviations = units.sums - units.sizes * values.mean()
    return float(np.sqrt(n_units / (n_units - 1) * (deviations**2).sum()) / len(values))


def clusters_by_query(clusters: ArrayLike, groups: QueryGroups, ids: Any = None) -> np.ndarray:
    """Return the cluster of each query, as a number, given that of each document.

    Refuses a query whose documents are of two clusters, and a single cluster. ``ids`` are the query
    ids by document, for messages.

    Examples
    --------
    >>> groups = QueryGroups.from_qid([7, 7, 3])
    >>> clusters_by_query(["ann", "ann", "bob"], groups)
    array([1, 0])
    """
    codes = check_qid(clusters, groups.n_documents, name="clusters")
    codes = np.unique(codes, return_inverse=True)[1]
    by_query = groups.first_of(codes)
    wrong = codes != by_query[groups.codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        first = int(groups.sorted_rows(groups.indptr[groups.codes[row]]))
        of_query = "" if ids is None else f" {quote(_item(ids, row))}"
        example = ', as in qid=("user", "week")' if has_spelling("qid") else ""
        raise ValueError(
            f"clusters must be constant within a query; got {quote(_item(clusters, first))} and "
            f"{quote(_item(clusters, row))} in query{of_query}. If these are two queries, make the "
            f"cluster a part of the query{example}."
        )
    if by_query.max(initial=0) == 0:
        raise ValueError(_rule_of_two(_item(clusters, 0) if len(codes) else None))
    return np.asarray(by_query)


def take_clusters(clusters: ArrayLike | str, qid: Any) -> ArrayLike:
    """Return the cluster of each document, where text names a level of ``qid``.

    ``qid`` is then an index of pandas of several levels.

    Examples
    --------
    >>> import pandas as pd
    >>> qid = pd.MultiIndex.from_tuples([("ann", 1), ("bob", 1)], names=["user", "week"])
    >>> list(take_clusters("user", qid))
    ['ann', 'bob']
    """
    if not isinstance(clusters, str):
        return clusters
    names = [*qid.names] if hasattr(qid, "get_level_values") else []
    if clusters not in names:
        got = f"levels {quote(names)}" if names else "query ids without names"
        raise ValueError(
            f"clusters must be an entry for each document, or name a level of qid; got "
            f"{quote(clusters)} and {got}."
        )
    return np.asarray(qid.get_level_values(clusters))


def refuse_clusters(name: str) -> None:
    """Refuse clusters beside labels by people, the argument ``name``.

    Examples
    --------
    >>> refuse_clusters("human_labels")
    Traceback (most recent call last):
    ...
    ValueError: clusters must be None where human_labels are given, which are of queries drawn one \
by one. Pass one query of each cluster, or compare by human labels alone, as y.
    """
    raise ValueError(
        f"clusters must be None where {name} are given, which are of queries drawn one by one. "
        "Pass one query of each cluster, or compare by human labels alone, as y."
    )


def _item(values: Any, row: int) -> Any:
    """Return an entry of an array, a column or a list as an object of Python."""
    value = values.iloc[row] if hasattr(values, "iloc") else values[row]
    return value.item() if isinstance(value, np.generic) else value


def _rule_of_two(only: Any) -> str:
    return (
        "clusters must be at least two, which are independent of each other; got one, "
        f"{quote(only)}."
    )
