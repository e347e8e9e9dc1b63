"""Ranker comparison: values per query of several rankers on the same splits, and tests of them.

What counts as random depends on the test. For the corrected t-test it is the splits, and so the
training sets: it compares means over splits. For the randomization test it is the queries, and the
models are given: it compares values by query, each the mean over the splits that test the query.
An interval is always that of the test.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from treerank.checks import check_choice, quote
from treerank.documents.training_queries import QueryOverlap
from treerank.evaluation.summary import LEVEL, Difference, Summary, make_summary
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric
from treerank.parameters import check_arguments
from treerank.statistics.paired import PairedResult, paired_differences
from treerank.statistics.randomization import randomization_interval, randomization_test
from treerank.statistics.resampled import corrected_interval, corrected_resampled_t_test

#: Tests by name: of splits, and of queries.
TestName = Literal["corrected_t", "randomization"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of one ranker on one split.

    ``queries`` are ids, rising; ``values`` are those of each query by metric, NaN if it has nothing
    to find. ``test_to_train`` is the number of test queries over that of training queries,
    ``best_params`` is what the search chose, ``seconds`` are those of search, fit and predict, and
    ``judged`` is the share of the first 10 documents whose labels are known. ``watched`` tells
    whether a validation set was used for early stopping, None without one. ``fitted_before`` tells
    whether the ranker was scored as it is, and ``seen`` how many of the queries it was fitted to
    then, if it remembers.
    """

    ranker: str
    split: str
    queries: np.ndarray
    values: dict[str, np.ndarray]
    test_to_train: float
    best_params: dict[str, Any]
    seconds: tuple[float, float, float]
    judged: float = 1.0
    watched: bool | None = None
    fitted_before: bool = False
    seen: QueryOverlap | None = None


@dataclass(frozen=True)
class Failure:
    """The error of a ranker that failed on a split.

    Parameters
    ----------
    ranker, split : str
        Names.
    error : str
        Type and message.
    trace : str
        Traceback of the error.

    Examples
    --------
    >>> print(Failure("linear", "2", "ValueError: no"))
    line failed on split 2: ValueError: no
    """

    ranker: str
    split: str
    error: str
    trace: str = field(default="", repr=False)

    def __str__(self) -> str:
        """Return the ranker, the split and the error in one line."""
        return f"{self.ranker} failed on split {self.split}: {self.error}"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The results of rankers on the same queries.

    :func:`~treerank.evaluation.compare` and :func:`~treerank.evaluation.compare_scores` make it.

    Parameters
    ----------
    rankers, splits, metrics : tuple of str
        Names.
    convention : str
        Convention of the metrics.
    outcomes : dict from (str, str) to Outcome
        Results by ranker and split.
    failures : tuple of Failure, default=()
        Errors of the rankers and splits without results.
    scoring : str, default=""
        How the metrics score, in words.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from treerank.datasets.web_search import make_web_search
    >>> from treerank.evaluation import compare
    >>> rankers = {"linear": LinearRegression(), "stump": DecisionTreeRegressor(max_depth=1)}
    >>> comparison = compare(rankers, make_web_search(60, random_state=0), cv=4)
    >>> comparison.by_query("ndcg@10").shape
    (60, 2)
    >>> comparison.test("ndcg@10", "linear", "stump").test
    'corrected resampled t-test'
    >>> list(comparison.values)
    ['ranker', 'split', 'query', 'metric', 'value']
    """

    rankers: tuple[str, ...]
    splits: tuple[str, ...]
    metrics: tuple[str, ...]
    convention: str
    outcomes: dict[tuple[str, str], Outcome]
    failures: tuple[Failure, ...] = ()
    scoring: str = ""

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """Columns with one entry per ranker, split, query and metric, for a data frame."""
        cells = [(o, metric) for o in self.outcomes.values() for metric in self.metrics]
        sizes = [len(o.queries) for o, _ in cells]

        def column(entries):
            return np.repeat(np.array(entries), sizes)

        empty = np.empty(0)
        return {
            "ranker": column([o.ranker for o, _ in cells]),
            "split": column([o.split for o, _ in cells]),
            "query": np.concatenate([o.queries for o, _ in cells] or [empty]),
            "metric": column([metric for _, metric in cells]),
            "value": np.concatenate([o.values[metric] for o, metric in cells] or [empty]),
        }

    @property
    def complete(self) -> tuple[str, ...]:
        """Rankers that have a result for every split."""
        return tuple(r for r in self.rankers if all((r, s) in self.outcomes for s in self.splits))

    @property
    def test_to_train(self) -> float:
        """Number of test queries over number of training queries, the mean over splits.

        It is NaN where all rankers were fitted before, without any training sets here.
        """
        by_split = {o.split: o.test_to_train for o in self.outcomes.values()}
        return float(np.mean(list(by_split.values())))

    def seen(self, ranker: str) -> QueryOverlap:
        """Return to how many of the test queries a ranker was fitted before, as far as is known."""
        seen = [o.seen for o in self.outcomes.values() if o.ranker == ranker and o.seen]
        counts = [(each.n_queries, each.n_same, each.n_cut) for each in seen]
        return QueryOverlap(*np.sum(counts or [(0, 0, 0)], axis=0).tolist())

    @cached_property
    def fitted_before(self) -> tuple[str, ...]:
        """Rankers that were fitted before, and were scored as they are."""
        names = {o.ranker for o in self.outcomes.values() if o.fitted_before}
        return tuple(name for name in self.rankers if name in names)

    def by_split(self, metric: str | Metric) -> np.ndarray:
        """Return means over queries, of shape (n_splits, n_rankers); NaN if a ranker failed."""
        metric = self._name_of(metric)
        means = np.full((len(self.splits), len(self.rankers)), np.nan)
        for (ranker, split), outcome in self.outcomes.items():
            values = outcome.values[metric]
            if not np.isnan(values).all():
                place = self.splits.index(split), self.rankers.index(ranker)
                means[place] = np.nanmean(values)
        return means

    def by_query(self, metric: str | Metric) -> np.ndarray:
        """Return values by query, of shape (n_queries, n_rankers); NaN if a ranker failed.

        Queries are in rising order of ids. A query that several splits test has the mean value.
        """
        metric = self._name_of(metric)
        ids = np.unique(np.concatenate([o.queries for o in self.outcomes.values()]))
        sums, counts = np.zeros((2, len(ids), len(self.rankers)))
        for (ranker, _), outcome in self.outcomes.items():
            cells = np.searchsorted(ids, outcome.queries), self.rankers.index(ranker)
            sums[cells] += outcome.values[metric]
            counts[cells] += 1
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    @check_arguments
    def test(
        self, metric: Any, first: str, second: str, *, test: TestName | None = None
    ) -> PairedResult:
        """Test whether two rankers differ.

        Parameters
        ----------
        metric : str or Metric
            One of ``metrics``.
        first, second : str
            Names of rankers.
        test : {"corrected_t", "randomization"}, default=None
            The first compares splits, the second compares queries. None takes the first if there
            are at least two splits, to whose training sets one of the two was fitted, else the
            second.

        Raises
        ------
        ValueError
            A ranker failed on a split, so that results are not paired; or a test over splits has
            only one split, or no training sets.
        """
        over_splits = self._is_over_splits(test, first, second)
        values = self._paired(metric, (first, second), over_splits)
        try:
            if over_splits:
                return corrected_resampled_t_test(*values, test_to_train=self.test_to_train)
            return randomization_test(*values)
        except ValueError as error:
            raise ValueError(f"{first} and {second} cannot be compared: {error}") from error

    @check_arguments
    def difference(
        self,
        metric: Any,
        first: str,
        second: str,
        *,
        level: float = LEVEL,
        test: TestName | None = None,
    ) -> Difference:
        """Return the difference of two rankers, and how many queries would show it.

        The interval is that of the test: it excludes 0 exactly where the p-value of :meth:`test` is
        below ``1 - level``.

        Parameters
        ----------
        metric : str or Metric
            One of ``metrics``.
        first, second : str
            Names of rankers; the second is subtracted from the first.
        level : float, default=0.95
            Share of such intervals that hold the true difference.
        test : {"corrected_t", "randomization"}, default=None
            As in :meth:`test`.
        """
        pair = (first, second)
        over_splits = self._is_over_splits(test, first, second)
        by_query = self._paired(metric, pair, over_splits=False)
        if over_splits:
            by_split = paired_differences(*self._paired(metric, pair, over_splits=True))
            ratio = self.test_to_train
            interval = corrected_interval(by_split, test_to_train=ratio, level=level)
        else:
            interval = randomization_interval(*by_query, level=level)
        n_queries = len(paired_differences(*by_query))
        return Difference(self._name_of(metric), first, second, interval, n_queries)

    @check_arguments
    def summary(self, *, reference: str = "best", alpha: float = 0.05) -> Summary:
        """Return a table of means, with marks for rankers that differ from a reference.

        Parameters
        ----------
        reference : str, default="best"
            A ranker's name, or ``"best"`` for the best of each metric.
        alpha : float, default=0.05
            Level for each metric. P-values are adjusted by Holm: for the pairs with the reference
            if it is named, else for all pairs, because the same values chose the best.

        Returns
        -------
        Summary
            Print it, or export it by ``to_markdown()`` or ``to_html()``.
        """
        return make_summary(self, reference, alpha)

    def __repr__(self) -> str:
        """Return the summary as text, or what failed where nothing was fitted."""
        return str(self.summary()) if self.outcomes else "\n".join(map(str, self.failures))

    def _repr_html_(self) -> str:
        """Return the summary as HTML, for notebooks."""
        return self.summary().to_html()

    def _is_over_splits(self, test: TestName | None, first: str, second: str) -> bool:
        """Return whether the test of two rankers compares splits, and not queries."""
        if test is None:
            is_given = {first, second} <= {*self.fitted_before}  # no training set matters to them
            return len(self.splits) > 1 and not is_given and not np.isnan(self.test_to_train)
        if test == "corrected_t" and len(self.splits) < 2:
            raise ValueError(
                f"test must be over queries if there is only one split, {self.splits[0]!r}; "
                "got 'corrected_t'."
            )
        if test == "corrected_t" and np.isnan(self.test_to_train):
            raise ValueError(
                "test must be over queries if there are no training sets; got 'corrected_t'."
            )
        return test == "corrected_t"

    def _name_of(self, metric: Any) -> str:
        """Return the name of a metric of the comparison, and refuse any other."""
        name = metric.name if isinstance(metric, Metric | FunctionMetric) else metric
        cut = [other for other in self.metrics if other.partition("@")[0] == name]
        if isinstance(name, str) and name not in self.metrics and cut:
            meant = " or ".join(map(repr, cut))
            raise ValueError(
                f"metric must be one of {sorted(self.metrics)}; got {quote(name)}. "
                f"Did you mean {meant}?"
            )
        check_choice("metric", name, self.metrics)
        return str(name)

    def _paired(self, metric, names, over_splits):
        """Return the values of rankers by split or by query; refuse one without all results."""
        for name in names:
            check_choice("ranker", name, self.rankers)
            if name not in self.complete:
                missing = [s for s in self.splits if (name, s) not in self.outcomes]
                raise ValueError(
                    f"rankers must have results for all splits to be paired; {name!r} has none "
                    f"for {', '.join(missing)}."
                )
        table = self.by_split(metric) if over_splits else self.by_query(metric)
        return [table[:, self.rankers.index(name)] for name in names]
