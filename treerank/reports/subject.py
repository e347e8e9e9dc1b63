"""Subject: the ranker, the documents and the baseline that a report is about."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.documents.features import shown_names
from treerank.documents.queries import QueryGroups
from treerank.inspection.data_sheets import columns_of
from treerank.inspection.query_slices import Slice, slices
from treerank.metrics.base import Metric
from treerank.metrics.graded_metrics import NDCG
from treerank.metrics.registry import FunctionMetric
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import metric_of
from treerank.statistics.clusters import ClusterSums
from treerank.statistics.paired import format_p
from treerank.statistics.randomization import (
    bootstrap_interval,
    randomization_interval,
    randomization_test,
)
from treerank.statistics.resampled import Interval

#: Numbers of samples of each bootstrap interval, and of each test of a difference.
_N_RESAMPLES, _N_FLIPS = 999, 9_999


@dataclass(frozen=True, eq=False)
class Subject:
    """The data, ranker and settings that the sections of a report show.

    Attributes
    ----------
    ranker : Ranker
        The fitted ranker.
    documents : array-like or data frame
        Features as the ranker takes them, by row.
    X : ndarray or sparse matrix
        Features as numbers.
    y : ndarray
        Labels.
    groups : QueryGroups
        Rows of each query.
    query_ids, query_names : ndarray of str
        Id of each query, and the name to show, which begins with it, in the order of ``groups``.
    document_names : ndarray of str
        Name of each document, by row.
    metrics : sequence of Metric or FunctionMetric
        What is measured; the first decides which queries are worst.
    scores : ndarray
        Scores of the ranker.
    baseline : ndarray or None
        Scores to compare with.
    train : tuple of (features, labels, QueryGroups), or None
        Training data as numbers.
    n_unjudged : int
        Number of documents without a label, which were left out.
    slices : dict
        The user's columns to divide queries by, besides features.
    about : dict of str to str
        Lines for the section on what was compared.
    n_examples : int
        Number of example queries.
    clusters : ndarray of int of shape (n_queries,), or None
        Cluster of each query, None if queries are independent.
    random_state : int
        Seed of all sampling.
    """

    ranker: Ranker
    documents: Any
    X: Any
    y: np.ndarray
    groups: QueryGroups
    query_ids: np.ndarray
    query_names: np.ndarray
    document_names: np.ndarray
    metrics: Sequence[Metric | FunctionMetric]
    scores: np.ndarray
    baseline: np.ndarray | None
    train: tuple[Any, np.ndarray, QueryGroups] | None
    n_unjudged: int
    slices: dict[str, Any]
    about: dict[str, str]
    n_examples: int
    clusters: np.ndarray | None
    random_state: int

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Value of each query, by name of the metric.

        NaN for a query without a relevant document.
        """
        return self._measured(self.scores)

    @cached_property
    def baseline_values(self) -> dict[str, np.ndarray]:
        """The same for the baseline's scores; empty without a baseline."""
        return {} if self.baseline is None else self._measured(self.baseline)

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features, or their numbers from 0."""
        return shown_names(self.ranker)

    @property
    def main(self) -> str:
        """Name of the first metric."""
        return self.metrics[0].name

    @cached_property
    def ndcg(self) -> NDCG | None:
        """NDCG that is drawn by cutoff and that misranked pairs cost; None if labels have no gain.

        It is the first metric if that is an NDCG, else the ranker's own, else one with its gain.
        """
        main, own = self.metrics[0], metric_of(self.ranker)
        if isinstance(main, NDCG):
            return main
        if isinstance(own, NDCG):
            ndcg = replace(own, n_relevant=None)  # its counts may be those of other queries
        else:
            ndcg = NDCG(10, gain=getattr(self.ranker, "gain", "exponential"))
        try:
            ndcg.gains(self.y)
        except ValueError:
            return None
        return ndcg

    @cached_property
    def gaps(self) -> np.ndarray:
        """Value of each query less the baseline's, by the first metric; 0 without a baseline."""
        values = self.values[self.main]
        return np.asarray(values - self.baseline_values.get(self.main, values))

    @cached_property
    def kinds(self) -> list[Slice]:
        """Slices of queries by the first metric, those that differ most surely first."""
        return self.slices_of(self.values[self.main])

    def slices_of(self, values: np.ndarray) -> list[Slice]:
        """Return slices of queries, compared by one value per query.

        Queries are divided by the means of features, by their size and share of relevant documents,
        and by the user's columns.
        """
        sizes = self.groups.sizes[self.groups.codes]
        columns = {"number of documents": sizes, "share of relevant documents": self.y > 0}
        coded = {self.feature_names[j] for j in self.ranker.columns_.categories}
        features = zip(self.feature_names, columns_of(self.X), strict=True)
        columns |= {f"mean of {name}": column for name, column in features if name not in coded}
        return slices(values, columns | self.slices, self.groups, clusters=self.cluster_of_row)

    @property
    def cluster_of_row(self) -> np.ndarray | None:
        """Cluster of each document; None if queries are independent."""
        return None if self.clusters is None else self.clusters[self.groups.codes]

    @property
    def trained_on_clicks(self) -> bool:
        """Whether the training labels are clicks, 0 or 1, with a model of position bias."""
        if self.train is None or self.ranker.propensities_ is None:
            return False
        return bool(np.isin(self.train[1], [0, 1]).all())

    def rows_of_some_queries(self, n_documents: int) -> np.ndarray:
        """Return the rows of random whole queries with at most ``n_documents`` rows in all.

        There is at least one query, however long.
        """
        order = np.random.default_rng(self.random_state).permutation(self.groups.n_queries)
        n = int(np.searchsorted(np.cumsum(self.groups.sizes[order]), n_documents, side="right"))
        return np.flatnonzero(np.isin(self.groups.codes, order[: max(n, 1)]))

    def values_of(self, rows: np.ndarray, feature: int) -> np.ndarray:
        """Return the values of a feature in the given rows, without missing ones."""
        (column,) = columns_of(self.X[rows][:, [feature]])
        return column[~np.isnan(column)]

    @cached_property
    def untested(self) -> dict[str, str]:
        """Why values are not paired with the baseline's, by metric; without metrics that pair all.

        Functions may have a value of a query for one of the two alone.
        """
        sentences = {}
        for name, against in self.baseline_values.items():
            alone = np.isnan(self.values[name]) != np.isnan(against)
            if alone.any():
                queries = counted(int(alone.sum()), "query has", "queries have")
                reason = f"{queries} a value for the ranker or the baseline alone"
                sentences[name] = f"Not tested by {name}: {reason}."
        return sentences

    @cached_property
    def p_values(self) -> dict[str, float]:
        """P-value of the difference to the baseline by metric.

        None where nothing differs, values are not paired, or fewer than two queries or clusters
        have a value.
        """
        p_values = {}
        for name, against in self.baseline_values.items():
            gaps = self.values[name] - against
            is_paired = name not in self.untested and self.n_units(gaps) >= 2
            if is_paired and np.nan_to_num(gaps).any():
                test = randomization_test(self.values[name], against, **self._flips)
                p_values[name] = test.p_value
        return p_values

    def difference_interval(self, name: str) -> Interval | None:
        """Return the interval of the mean difference to the baseline by the metric ``name``.

        None if there is no p-value, or if so few queries bound it on no side.
        """
        if name not in self.p_values:
            return None
        pair = self.values[name], self.baseline_values[name]
        interval = randomization_interval(*pair, **self._flips)
        return interval if np.isfinite(interval.low) else None

    def n_units(self, values: np.ndarray) -> int:
        """Return how many queries have a value that is not NaN, or how many clusters of them."""
        measured = np.flatnonzero(~np.isnan(values))
        return len(measured if self.clusters is None else np.unique(self.clusters[measured]))

    def interval(self, values: np.ndarray) -> Interval | None:
        """Return a bootstrap interval for the mean of values by query, without NaN.

        None if fewer than two values are left, or all are equal; so are those of clusters.
        """
        is_measured = ~np.isnan(values)
        measured = values[is_measured]
        clusters = None if self.clusters is None else self.clusters[is_measured]
        units = ClusterSums.of(measured, clusters)
        if len(units.means) < 2 or units.have_equal_means:
            return None
        return bootstrap_interval(measured, clusters=clusters, **self._draws)

    @property
    def _draws(self) -> dict[str, Any]:
        """How many samples intervals draw, and from which seed."""
        return {"n_resamples": _N_RESAMPLES, "random_state": self.random_state}

    @property
    def _flips(self) -> dict[str, Any]:
        """How many sign patterns tests draw, and from which seed."""
        settings: dict[str, Any] = {"clusters": self.clusters, "n_resamples": _N_FLIPS}
        return settings | {"random_state": self.random_state}

    def p_text(self, name: str) -> str:
        """Return "p = 0.012" or "p < 0.001" of a metric's difference; "" if it has no p-value."""
        return p_text(self.p_values[name]) if name in self.p_values else ""

    def value_text(self, row: int, feature: int) -> str:
        """Return a document's value of a feature as text: a number, a category, or "missing"."""
        value = self.X[row, feature]
        if np.isnan(value):
            return "missing"
        categories = self.ranker.columns_.categories.get(feature)
        return f"{value:.5g}" if categories is None else str(categories[int(value)])

    def _measured(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        measured = {m.name: m.per_query(self.y, scores, self.groups) for m in self.metrics}
        for name, values in measured.items():
            if np.isinf(values).any():
                query = int(np.argmax(np.isinf(values)))
                rule = f"metric {quote(name)} must be finite for each query, or NaN to leave it out"
                got = f"{values[query]} for query {quote(self.query_names[query])}"
                raise ValueError(f"{rule}; got {got}.")
        return measured


def p_text(p_value: float) -> str:
    """Return "p = 0.012" or "p < 0.001", with spaces at which lines do not break.

    Examples
    --------
    >>> p_text(0.0123).split(), p_text(0.0002).split()
    (['p', '=', '0.012'], ['p', '<', '0.001'])
    """
    p_text = format_p(p_value)
    return f"p {p_text if p_text.startswith('<') else f'= {p_text}'}".replace(
        " ", "\N{NO-BREAK SPACE}"
    )


def counted(n: int, one: str, many: str) -> str:
    """Return how many there are, and the words for one or for many.

    Examples
    --------
    >>> counted(1, "query has", "queries have"), counted(2000, "query has", "queries have")
    ('1 query has', '2,000 queries have')
    """
    return f"{n:,} {one if n == 1 else many}"
