"""Data sheet: sizes, labels and missing values of a data set, and drift from another one."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from treerank.display.results import Shown
from treerank.display.tables import Table
from treerank.documents.features import check_alike, check_matrix
from treerank.documents.labels import check_labels
from treerank.documents.queries import Queries, QueryGroups
from treerank.parameters import check_arguments

#: Rows of each sample that drift is measured on.
_MOST_ROWS = 50_000
#: Labels that are listed one by one.
_MOST_LABELS = 20
_SPREAD: dict[str, Any] = {"least": np.min, "median": np.median, "mean": np.mean, "most": np.max}


@dataclass(frozen=True, eq=False, repr=False)
class DataSheet(Shown):
    """Summary of the documents, labels and queries of a data set.

    Parameters
    ----------
    n_documents, n_queries, n_features : int
        Sizes.
    documents_per_query : dict from str to float
        Minimum, median, mean and maximum.
    labels : dict from float to int
        Number of documents by label. Unjudged documents (NaN) are not counted.
    without_pairs : int
        Number of queries whose documents all have the same label, so no pair can be learned.
    missing : ndarray of shape (n_features,)
        Share of the documents in which the feature is missing.
    distinct : ndarray of shape (n_features,)
        Number of distinct values of the feature.

    Examples
    --------
    >>> data_sheet([[1.0, 5.0], [np.nan, 5.0]], [0, 1]).distinct
    array([1, 1])
    """

    n_documents: int
    n_queries: int
    n_features: int
    documents_per_query: dict[str, float]
    labels: dict[float, int]
    without_pairs: int
    missing: np.ndarray
    distinct: np.ndarray

    def _shown(self) -> Table:
        sizes = ", ".join(f"{name} {value:g}" for name, value in self.documents_per_query.items())
        n_judged = sum(self.labels.values())
        shares = label_shares(self.labels).items()
        labels = ", ".join(f"{label}: {round(share * n_judged):,}" for label, share in shares)
        n_missing, n_constant = int(np.sum(self.missing > 0)), int(np.sum(self.distinct < 2))
        rows = [
            ["documents", f"{self.n_documents:,}"],
            ["queries", f"{self.n_queries:,}"],
            ["queries whose labels are all equal", f"{self.without_pairs:,}"],
            ["documents of a query", sizes],
            ["documents by label", labels],
            ["features", f"{self.n_features:,}"],
            ["features with missing values", f"{n_missing:,}"],
            ["features with a single value", f"{n_constant:,}"],
        ]
        return Table("Data sheet.", ["of the data", "value"], rows)


@check_arguments
def data_sheet(X: Any, y: ArrayLike, qid: Queries = None) -> DataSheet:
    """Return sizes, labels and missing values of documents.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n_documents, n_features)
        Features; NaN is a missing value.
    y : array-like of shape (n_documents,)
        Labels.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.

    Examples
    --------
    >>> sheet = data_sheet([[1.0, 5.0], [np.nan, 5.0], [2.0, 5.0]], [0, 1, 0], [7, 7, 8])
    >>> sheet.labels, sheet.without_pairs, sheet.missing.round(2)
    ({0.0: 2, 1.0: 1}, 1, array([0.33, 0.  ]))
    """
    X = check_matrix("X", X)
    y = check_labels(y, X.shape[0])
    groups = QueryGroups.from_qid(qid, len(y))
    sizes, (labels, counts) = groups.sizes, np.unique(y[~np.isnan(y)], return_counts=True)
    missing, distinct = np.array([_summary(column) for column in columns_of(X)]).T
    return DataSheet(
        n_documents=len(y),
        n_queries=groups.n_queries,
        n_features=X.shape[1],
        documents_per_query={name: float(of(sizes)) for name, of in _SPREAD.items()},
        labels=dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        without_pairs=int(groups.n_queries - groups.with_two_labels(y).sum()),
        missing=missing,
        distinct=distinct.astype(np.int64),
    )


def label_shares(
    labels: Mapping[float, int], of: Iterable["DataSheet"] | None = None
) -> dict[str, float]:
    """Return the share of the judged documents by label, or by bin of more than 20 labels.

    Labels from 0 to 1 have bins of a tenth. Others have bins between the deciles of their distinct
    values. 0, the label of documents without any use, stays alone.

    Parameters
    ----------
    labels : dict from float to int
        Number of documents by label.
    of : iterable of DataSheet, default=None
        Sheets whose labels all have a bin; ``None`` takes ``labels``.

    Examples
    --------
    >>> label_shares({0.0: 3, 1.0: 1})
    {'0': 0.75, '1': 0.25}
    >>> shares = label_shares({i / 100: 1 for i in range(100)})
    >>> [*shares][:3], shares["0.1 to 0.2"]
    (['0', '0 to 0.1', '0.1 to 0.2'], 0.1)
    """
    sheets = [labels] if of is None else [sheet.labels for sheet in of]
    distinct = np.array(sorted({label for one in sheets for label in one}))
    values, counts = np.array([*labels]), np.array([*labels.values()], dtype=np.float64)
    total = max(counts.sum(), 1.0)
    if len(distinct) <= _MOST_LABELS:
        names = _number_names(distinct)
        return {
            name: float(labels.get(label, 0) / total)
            for name, label in zip(names, distinct.tolist(), strict=True)
        }
    shares = {"0": labels.get(0.0, 0) / total} if 0 in distinct else {}
    not_zero = distinct[distinct != 0]
    edges = np.unique(np.quantile(not_zero, np.linspace(0, 1, 11), method="lower"))
    if distinct[0] >= 0 and distinct[-1] <= 1:
        edges = np.arange(11) / 10
    edge_names = pairwise(_number_names(edges))
    for (low, high), (from_, to) in zip(pairwise(edges.tolist()), edge_names, strict=True):
        ends_here = high == edges[-1]
        within = (values >= low) & ((values <= high) if ends_here else (values < high))
        share = counts[within & (values != 0)].sum() / total
        shares[f"{from_} to {to}"] = float(share)
    return shares


def _number_names(values: np.ndarray) -> list[str]:
    """Return short names of distinct numbers, with all their digits where short ones are equal."""
    names = [f"{value:g}" for value in values.tolist()]
    is_short = len(set(names)) == len(names)
    return names if is_short else [repr(value).removesuffix(".0") for value in values.tolist()]


@check_arguments
def drift(X: Any, reference: Any) -> np.ndarray:
    """Return the drift of each feature between two sets of documents.

    Drift is the two-sample Kolmogorov-Smirnov statistic: the largest difference between the
    empirical distribution functions. Missing values count as the highest value. Categories have no
    order: their drift is the total variation distance, the largest difference between the shares
    that any set of categories has. At most 50,000 evenly spaced rows of each set are compared.

    Parameters
    ----------
    X, reference : ndarray, sparse matrix or data frame of shape (n_documents, n_features)
        The two sets, such as test and training data. Columns of data frames are found by the names
        in ``X``.

    Returns
    -------
    ndarray of shape (n_features,)
        From 0 (the same distribution) to 1 (no overlap), in the order of the columns of ``X``.

    Examples
    --------
    >>> drift([[0.0, 1.0], [1.0, 1.0]], [[0.0, 5.0], [1.0, 6.0]])
    array([0., 1.])
    """
    return drift_of(*check_alike(X, reference))


def drift_of(X: Any, reference: Any, categorical: Collection[int]) -> np.ndarray:
    """Return :func:`drift` of two matrices, of which the ``categorical`` columns hold codes.

    Examples
    --------
    >>> codes = np.array([[0.0], [1.0], [2.0]])
    >>> drift_of(codes, codes[1:2], (0,)).round(2), drift_of(codes, codes[1:2], ()).round(2)
    (array([0.67]), array([0.33]))
    """
    pairs = zip(columns_of(_thinned(X)), columns_of(_thinned(reference)), strict=True)
    distances = []
    for number, pair in enumerate(pairs):
        shares = _shares_of_categories if number in categorical else _shares_up_to_values
        differences = np.abs(np.subtract(*shares(*pair)))
        distances.append(differences.sum() / 2 if number in categorical else differences.max())
    return np.array(distances)


def columns_of(X: Any) -> Iterator[np.ndarray]:
    """Yield each column as a dense array.

    Examples
    --------
    >>> [column.tolist() for column in columns_of(np.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    X = X.tocsc() if issparse(X) else X
    for j in range(X.shape[1]):
        yield X[:, [j]].toarray().ravel() if issparse(X) else X[:, j]


def _thinned(X):
    """Return evenly spaced rows, at most ``_MOST_ROWS`` of them."""
    return X[:: -(-X.shape[0] // _MOST_ROWS)]


def _summary(column):
    """Return ``(share of missing values, number of distinct other values)`` of a column."""
    present = column[~np.isnan(column)]
    return 1 - len(present) / len(column), len(np.unique(present))


def _shares_up_to_values(a, b):
    """Return the shares of both samples up to each value of either."""
    values = np.concatenate([a, b])
    return [np.searchsorted(np.sort(x), values, side="right") / len(x) for x in (a, b)]


def _shares_of_categories(a, b):
    """Return the shares of each category, or of missing ones, in both samples."""
    _, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = (np.bincount(x, minlength=codes.max() + 1) for x in (codes[: len(a)], codes[len(a) :]))
    return [count / count.sum() for count in counts]
