"""Subject: the ranker, the documents and the baseline that a report is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.documents.features import shown_names
from treerank.documents.queries import QueryGroups
from treerank.inspection.data_sheets import columns_of
from treerank.inspection.query_slices import Slice, slices
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric
from treerank.rankers.ranker import Ranker
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
    """What the sections of a report show.

    ``documents`` are features as the ranker takes them, ``X`` as numbers; ``query_names``, which
    begin with ``query_ids``, are in the order of ``groups``, ``document_names`` by row.
    The first metric decides which queries are worst. ``baseline`` are scores to compare with,
    ``train`` are training data as numbers. ``n_unjudged`` documents without a label were left out.
    ``slices`` are columns to divide queries by, besides features; ``about`` are lines for the
    section on what was compared.
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
    random_state: int

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Value of each query, by metric; NaN where there is nothing to find."""
        return self._measured(self.scores)

    @cached_property
    def baseline_values(self) -> dict[str, np.ndarray]:
        """Value of each query by the scores of the baseline, by metric; empty without one."""
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
    def gaps(self) -> np.ndarray:
        """Difference of each query to the baseline, by the first metric."""
        values = self.values[self.main]
        return np.asarray(values - self.baseline_values.get(self.main, values))

    @cached_property
    def kinds(self) -> list[Slice]:
        """Slices of queries by the first metric, those that differ most surely first."""
        return self.slices_of(self.values[self.main])

    def slices_of(self, values: np.ndarray) -> list[Slice]:
        """Return slices of queries by features, sizes, and columns of the user."""
        sizes = self.groups.sizes[self.groups.codes]
        columns = {"number of documents": sizes, "share of relevant documents": self.y > 0}
        coded = {self.feature_names[j] for j in self.ranker.columns_.categories}
        features = zip(self.feature_names, columns_of(self.X), strict=True)
        columns |= {f"mean of {name}": column for name, column in features if name not in coded}
        return slices(values, columns | self.slices, self.groups)

    @property
    def trained_on_clicks(self) -> bool:
        """Whether the labels of the training data are clicks at positions, and no judgments."""
        if self.train is None or self.ranker.propensities_ is None:
            return False
        return bool(np.isin(self.train[1], [0, 1]).all())

    def rows_of_some_queries(self, n_documents: int) -> np.ndarray:
        """Return rows of queries drawn without replacement, of so many documents at most.

        There is at least one query, and no query is cut.
        """
        order = np.random.default_rng(self.random_state).permutation(self.groups.n_queries)
        n = int(np.searchsorted(np.cumsum(self.groups.sizes[order]), n_documents, side="right"))
        return np.flatnonzero(np.isin(self.groups.codes, order[: max(n, 1)]))

    def values_of(self, rows: np.ndarray, feature: int) -> np.ndarray:
        """Return the known values of a feature in some documents."""
        (column,) = columns_of(self.X[rows][:, [feature]])
        return column[~np.isnan(column)]

    @cached_property
    def p_values(self) -> dict[str, float]:
        """The p-value of each difference to the baseline in which queries do not differ alike."""
        p_values = {}
        for name, against in self.baseline_values.items():
            if self.interval(self.values[name] - against) is not None:
                test = randomization_test(self.values[name], against, **self._flips)
                p_values[name] = test.p_value
        return p_values

    def difference_interval(self, name: str) -> Interval | None:
        """Return the interval that belongs to a p-value; None without one, or without bounds."""
        if name not in self.p_values:
            return None
        pair = self.values[name], self.baseline_values[name]
        interval = randomization_interval(*pair, **self._flips)
        return interval if np.isfinite(interval.low) else None

    def interval(self, values: np.ndarray) -> Interval | None:
        """Return the interval of a mean over queries; ``None`` if all of them are alike."""
        measured = values[~np.isnan(values)]
        if len(measured) < 2 or np.ptp(measured) == 0:
            return None
        return bootstrap_interval(measured, **self._draws)

    @property
    def _draws(self) -> dict[str, Any]:
        """How many samples intervals draw, and from which seed."""
        return {"n_resamples": _N_RESAMPLES, "random_state": self.random_state}

    @property
    def _flips(self) -> dict[str, Any]:
        """How many sign patterns tests draw, and from which seed."""
        return {"n_resamples": _N_FLIPS, "random_state": self.random_state}

    def p_text(self, name: str) -> str:
        """Return "p = 0.012" or "p < 0.001"; the empty string without a p-value."""
        return p_text(self.p_values[name]) if name in self.p_values else ""

    def value_text(self, row: int, feature: int) -> str:
        """Return the value of a feature of a document as text, categories by name."""
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
                rule = f"metric {name!r} must be finite for each query, or NaN to leave it out"
                got = f"{values[query]} for query {quote(self.query_names[query])}"
                raise ValueError(f"{rule}; got {got}.")
        return measured


def p_text(p_value: float) -> str:
    """Return a p-value as an equation that does not break, or as what it is less than.

    Examples
    --------
    >>> p_text(0.0123).split(), p_text(0.0002).split()
    (['p', '=', '0.012'], ['p', '<', '0.001'])
    """
    shown = format_p(p_value)
    return f"p {shown if shown.startswith('<') else f'= {shown}'}".replace(
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
