"""Permutation importance: how much a metric drops if the values of a feature are shuffled.

Values are shuffled among the documents of each query, or among all documents. A feature of the
query, such as its length, is constant within a query: shuffling within queries does not change it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse

from treerank.checks import check_count, check_sequence, quote
from treerank.display.charts import MOST_ROWS, Intervals
from treerank.display.results import Shown
from treerank.display.tables import MOST_ROWS as TABLE_ROWS
from treerank.display.tables import Table, counted
from treerank.documents.embeddings import features_of
from treerank.documents.features import shown_names
from treerank.documents.labels import check_labels
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import read_documents, take_columns
from treerank.metrics.registry import AnyMetric
from treerank.parameters import Count, Whole, check_arguments
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import metric_of, scores_of, warn_of_one_query
from treerank.statistics.clusters import ClustersOfRows, clusters_by_query
from treerank.statistics.randomization import mean_interval
from treerank.statistics.resampled import Interval


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Shown):
    """Permutation importances of features, or groups of features, by query.

    Parameters
    ----------
    names : tuple of str
        Names of the groups.
    metric : str
        Name of the metric.
    drops : ndarray of shape (n_groups, n_queries)
        Metric of each query minus its mean with shuffled features; NaN for queries without a
        relevant document.
    clusters : ndarray of int of shape (n_queries,), default=None
        Cluster of each query; None if queries are independent.

    Examples
    --------
    >>> importances = Importances(("price", "age"), "map", np.array([[0.1, 0.3], [0.0, 0.0]]))
    >>> importances.means, importances.order
    (array([0.2, 0. ]), array([0, 1]))
    >>> importances
    Permutation importance of 2 features: drop of map over 2 queries.
    feature    drop     low    high
    -------  ------  ------  ------
    price    0.2000  0.1000  0.3000
    age      0.0000  0.0000  0.0000
    """

    names: tuple[str, ...]
    metric: str
    drops: np.ndarray
    clusters: np.ndarray | None = None

    @property
    def means(self) -> np.ndarray:
        """Mean drop of each group over queries."""
        is_defined = ~np.isnan(self.drops)
        counts = is_defined.sum(axis=1)
        sums = np.where(is_defined, self.drops, 0.0).sum(axis=1)
        return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)

    @property
    def order(self) -> np.ndarray:
        """Indices of the groups, most important first."""
        return np.argsort(-self.means, kind="stable")

    def interval(self, group: int, *, level: float = 0.95, random_state: int = 0) -> Interval:
        """Return the mean drop of a group with its bootstrap confidence interval over queries."""
        measured = ~np.isnan(self.drops[group])
        clusters = None if self.clusters is None else self.clusters[measured]
        settings: dict[str, Any] = {"level": level, "random_state": random_state}
        drops = self.drops[group][measured]
        return mean_interval(drops, clusters=clusters, n_resamples=999, **settings)

    def chart(self, *, most: int = MOST_ROWS) -> Intervals:
        """Return the most important groups with their intervals, as :meth:`plot` shows them."""
        order = self.order[:most]
        ends = [
            (np.nan,) * 3 if np.isnan(self.means[group]) else self.interval(group).ends
            for group in order
        ]
        names = [self.names[group] for group in order]
        label = f"drop of {self.metric} when the values are shuffled"
        return Intervals.of(names, ends, x=label, title="Permutation importance")

    @check_arguments
    def plot(self, ax: Any = None, *, most: Count = MOST_ROWS) -> Any:
        """Plot the most important groups with 95 % confidence intervals; needs Matplotlib.

        Groups whose interval includes 0 are gray.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.
        most : int, default=20
            Largest number of groups.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart(most=most).plot(ax)

    def _shown(self) -> Table:
        chart = self.chart(most=TABLE_ROWS)
        n_queries = int(np.count_nonzero(~np.isnan(self.drops).all(axis=0)))
        features = counted(len(self.names), "feature")
        title = f"Permutation importance of {features}: drop of {self.metric} over "
        rows = list(zip(chart.names, chart.estimates, chart.low, chart.high, strict=True))
        title += f"{counted(n_queries, 'query', 'queries')}."
        notes = ["A single query has no interval."] * (n_queries == 1)
        return Table(title, ["feature", "drop", "low", "high"], rows, len(self.names), notes)


@check_arguments
def permutation_importance(
    ranker: Ranker,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    metric: AnyMetric | None = None,
    groups: Mapping[str, Iterable[str | int]] | None = None,
    shuffle: Literal["within", "across"] = "within",
    clusters: ClustersOfRows = None,
    n_repeats: Count = 3,
    random_state: Whole = 0,
) -> Importances:
    """Return the permutation importance of each feature: how much a metric drops if it is shuffled.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    X, y, qid
        Documents, labels and queries, as in ``fit``; best those that were not trained on.
    metric : str, Metric or callable, default=None
        The metric; ``None`` is the ranker's own.
    groups : dict from str to sequence of str or int, default=None
        Names or column numbers of features to shuffle together; others are not measured. ``None``
        shuffles each feature alone. A column that holds an embedding stands for its entries:
        ``{name: [name] for name in ["price", "title"]}``.
    shuffle : {"within", "across"}, default="within"
        Shuffle values within each query, or across all queries.
    clusters : array-like of shape (n_documents,) or str, default=None
        Cluster of each document, such as its user, if queries of a cluster are correlated, or
        the name of a column of ``X``; the intervals are then over clusters.
    n_repeats : int, default=3
        Number of shuffles of each group.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> from treerank.datasets.web_search import make_web_search
    >>> X, y, qid = make_web_search(60, n_features=4, random_state=0)
    >>> importances = permutation_importance(RankSVM().fit(X, y, qid), X, y, qid)
    >>> importances.names[importances.order[0]]
    'f2'
    """
    measured = metric_of(ranker, metric)
    X, (y, qid, clusters) = take_columns(X, y=y, qid=qid, clusters=clusters)
    X = read_documents(ranker, X)[0]
    warn_of_one_query(ranker, qid, X.shape[0])
    y = check_labels(y, X.shape[0])
    queries = QueryGroups.from_qid(qid, X.shape[0])
    columns = _columns_by_name(ranker, groups)
    of_queries = None if clusters is None else clusters_by_query(clusters, queries, qid)

    def values(features: Any) -> np.ndarray:
        return measured.per_query(y, scores_of(ranker, features), queries)

    intact, drops = values(X), np.empty((len(columns), queries.n_queries))
    for n, group in enumerate(columns.values()):
        rng = np.random.default_rng(random_state)  # a group does not depend on those before it
        orders = (_shuffled(queries, shuffle, rng) for _ in range(n_repeats))
        repeats = [intact - values(_permuted(X, order, group)) for order in orders]
        drops[n] = np.mean(repeats, axis=0)
    return Importances(tuple(columns), measured.name, drops, of_queries)


def column_of(ranker: Ranker, feature: str | int) -> int:
    """Return the index of a feature's column, given by name or index; refuse unknown ones.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> column_of(RankSVM().fit([[1.0, 2.0], [2.0, 0.0]], [0, 1]), "f1")
    1
    """
    names = shown_names(ranker)
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, str):
        raise ValueError(f"feature must be one of {quote(names)}; got {quote(feature)}.")
    check_count("feature", feature, at_least=0, at_most=len(names) - 1)
    return int(feature)


def _columns_by_name(ranker, groups):
    """Return the column indices of the features of each group, by name of the group.

    None is a group for each feature.
    """
    if groups is None:
        return {name: [j] for j, name in enumerate(shown_names(ranker))}
    for name, features in groups.items():
        check_sequence(f"groups[{quote(name)}]", features)
    return {
        name: [column for feature in features for column in _columns_of(ranker, feature)]
        for name, features in groups.items()
    }


def _columns_of(ranker, feature):
    """Return the column indices of a feature, or of the entries of an embedding."""
    if not isinstance(feature, str):
        return [column_of(ranker, feature)]
    names = shown_names(ranker)
    return [names.index(name) for name in features_of(feature, names)]


def _shuffled(queries, shuffle, rng):
    """Return a random permutation of the rows, within queries or across them."""
    if shuffle == "across":
        return rng.permutation(queries.n_documents)
    source = np.empty(queries.n_documents, dtype=np.int64)
    mixed = np.lexsort((rng.random(queries.n_documents), queries.codes))
    source[queries.order] = mixed  # both are sorted by query
    return source


def _permuted(X, order, columns):
    """Return a copy of X in which the columns with these indices are taken from other rows.

    Row ``i`` gets their values from row ``order[i]``.
    """
    if not issparse(X):
        changed = X.copy()
        changed[:, columns] = X[order[:, None], columns]
        return changed
    is_kept = ~np.isin(np.arange(X.shape[1]), columns)
    slots = np.argsort(np.argsort(~is_kept, kind="stable"))
    return csr_matrix(hstack([X[:, is_kept], X[order][:, ~is_kept]], format="csr")[:, slots])
