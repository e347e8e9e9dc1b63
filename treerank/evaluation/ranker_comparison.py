"""Comparison: metrics by query of several rankers on the same splits, with significance tests.

Tests differ in what is random. For the corrected resampled t-test, it is the splits and so the
training sets: it compares means over splits. For the randomization test, it is the queries, given
the models: it compares values by query, averaged over the splits that test the query. Confidence
intervals belong to the test.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from treerank.checks import check_choice, quote
from treerank.display.charts import Intervals
from treerank.display.results import ColumnTable, Shown
from treerank.display.tables import Table
from treerank.documents.queries import joined_ids
from treerank.documents.training_queries import QueryOverlap
from treerank.evaluation.summary import (
    LEVEL,
    Difference,
    Summary,
    find_reference,
    make_summary,
    means_and_errors,
)
from treerank.metrics.registry import get_metric
from treerank.parameters import check_arguments
from treerank.renamed import RenamedMembers
from treerank.statistics.double_sampling import PredictionPowered, prediction_powered
from treerank.statistics.paired import PairedResult, paired_differences
from treerank.statistics.randomization import randomization_interval, randomization_test
from treerank.statistics.resampled import corrected_resampled_t_test, interval_over_splits

#: Tests by name: of splits, and of queries.
TestName = Literal["corrected_t", "randomization"]


@dataclass(frozen=True, eq=False)
class ByPeople:
    """Metric values under human labels, beside values under an LLM's.

    Attributes
    ----------
    values : dict from str to ndarray of shape (n_queries,)
        Value of each query by metric; NaN if people have not judged it, or find nothing relevant.
    judged : ndarray of bool of shape (n_queries,)
        Whether people have judged documents of the query.
    fitted_to_both : bool, default=False
        Whether the human labels are one of two labels of ``y``, to which rankers are fitted.
    """

    values: dict[str, np.ndarray]
    judged: np.ndarray
    fitted_to_both: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of one ranker on one split.

    Attributes
    ----------
    ranker, split : str
        Names.
    queries : ndarray of shape (n_queries,)
        Ids of the test queries, ascending.
    values : dict from str to ndarray of shape (n_queries,)
        Value of each query by metric; NaN without a relevant document.
    test_to_train : float
        Number of test queries over the number of training queries.
    best_params : dict
        Hyperparameters that the search chose.
    seconds : tuple of float
        Times of search, fit and predict.
    judged : float, default=1.0
        judged@10, the share of the top 10 documents that are judged; of fewer, if all metrics have
        smaller cutoffs.
    watched : bool or None, default=None
        Whether a validation set was used for early stopping; None without one.
    fitted_before : bool, default=False
        Whether the ranker was fitted before, or learns from no labels, and is only scored here.
    learns : bool, default=True
        Whether fits of the ranker depend on labels, or it was fitted before.
    seen : QueryOverlap or None
        How many test queries a ranker that was fitted before was trained on, if it remembers.
    has_labels : ndarray of bool of shape (n_queries,) or None
        Whether some document of the query has a label; None is all.
    by_people : ByPeople or None
        Values under human labels, where ``values`` are under an LLM's.
    clusters : ndarray of int of shape (n_queries,) or None
        Cluster of each query; None if queries are independent.
    has_cut_clusters : bool, default=False
        Whether the training set has other queries of these clusters.
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
    learns: bool = True
    seen: QueryOverlap | None = None
    by_people: ByPeople | None = None
    has_labels: np.ndarray | None = None
    clusters: np.ndarray | None = None
    has_cut_clusters: bool = False


@dataclass(frozen=True, repr=False)
class Failure(Shown):
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
    linear failed on split 2: ValueError: no
    """

    ranker: str
    split: str
    error: str
    trace: str = field(default="", repr=False)

    def __str__(self) -> str:
        """Return the ranker, the split and the error in one line."""
        return f"{self.ranker} failed on split {self.split}: {self.error}"

    _shown = __str__


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(RenamedMembers, Shown):
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
        Description of the metrics.

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
    def values(self) -> ColumnTable:
        """Columns with one entry per ranker, split, query and metric, for a data frame.

        They are "ranker", "split", "query", "metric" and "value". With labels by people, "value" is
        under the LLM's labels, and a further column, "human", under human labels.
        """
        cells = [(o, metric) for o in self.outcomes.values() for metric in self.metrics]
        sizes = [len(o.queries) for o, _ in cells]

        def column(entries):
            return np.repeat(np.array(entries), sizes)

        empty = np.empty(0)
        by_people = [(o.by_people, metric) for o, metric in cells]
        human = [people.values[metric] for people, metric in by_people if people is not None]
        columns = {
            "ranker": column([o.ranker for o, _ in cells]),
            "split": column([o.split for o, _ in cells]),
            "query": joined_ids([o.queries for o, _ in cells] or [empty]),
            "metric": column([metric for _, metric in cells]),
            "value": np.concatenate([o.values[metric] for o, metric in cells] or [empty]),
        }
        return ColumnTable(columns | ({"human": np.concatenate(human)} if human else {}))

    @property
    def complete(self) -> tuple[str, ...]:
        """Rankers with results for all splits."""
        return tuple(r for r in self.rankers if all((r, s) in self.outcomes for s in self.splits))

    @property
    def test_to_train(self) -> float:
        """Mean over splits of the number of test queries over the number of training queries.

        NaN if all rankers were fitted before, so that there are no training sets.
        """
        by_split = {o.split: o.test_to_train for o in self.outcomes.values()}
        return float(np.mean(list(by_split.values())))

    def seen(self, ranker: str) -> QueryOverlap:
        """Return how many test queries a ranker that was fitted before was trained on.

        Counts are summed over splits. They are 0 if the ranker does not remember its training
        queries.
        """
        seen = [o.seen for o in self.outcomes.values() if o.ranker == ranker and o.seen]
        names = ("n_queries", "n_same", "n_cut", "n_shared")
        return QueryOverlap(**{name: sum(getattr(of, name) for of in seen) for name in names})

    @cached_property
    def fitted_before(self) -> tuple[str, ...]:
        """Rankers that were fitted before, or learn from no labels, and are only scored here."""
        names = {o.ranker for o in self.outcomes.values() if o.fitted_before}
        return tuple(name for name in self.rankers if name in names)

    @cached_property
    def without_labels(self) -> tuple[str, ...]:
        """Rankers of ``fitted_before`` that were not fitted, and learn from no labels."""
        names = {o.ranker for o in self.outcomes.values() if not o.learns}
        return tuple(name for name in self.fitted_before if name in names)

    @property
    def has_labels(self) -> np.ndarray:
        """Whether each query, in ascending order of ids, has a document with a label."""
        masks = self._by_query(
            lambda outcome: 1.0 if outcome.has_labels is None else outcome.has_labels
        )
        labeled: np.ndarray = np.nansum(masks, axis=1) > 0
        return labeled

    @cached_property
    def has_human_labels(self) -> bool:
        """Whether all queries have labels by an LLM, and some also by people."""
        return any(outcome.by_people is not None for outcome in self.outcomes.values())

    @cached_property
    def clusters(self) -> np.ndarray | None:
        """Number of the cluster of each query, in the order of :meth:`by_query`.

        None if queries are assumed to be independent.
        """
        if not any(outcome.clusters is not None for outcome in self.outcomes.values()):
            return None
        ids = self._query_ids
        clusters = np.zeros(len(ids), dtype=np.int64)
        for outcome in self.outcomes.values():
            if outcome.clusters is not None:
                clusters[np.searchsorted(ids, outcome.queries)] = outcome.clusters
        return clusters

    @property
    def has_cut_clusters(self) -> bool:
        """Whether a training set has queries of the same clusters as its test set."""
        return any(outcome.has_cut_clusters for outcome in self.outcomes.values())

    @cached_property
    def _query_ids(self) -> np.ndarray:
        """Ids of the tested queries, ascending."""
        return np.unique(joined_ids([o.queries for o in self.outcomes.values()]))

    def by_split(self, metric: str | Callable[..., float]) -> np.ndarray:
        """Return means over queries, of shape (n_splits, n_rankers); NaN if a ranker failed.

        With labels by people, they are by the LLM's labels; see :meth:`prediction_powered`.
        """
        metric = self._name_of(metric)
        means = np.full((len(self.splits), len(self.rankers)), np.nan)
        for (ranker, split), outcome in self.outcomes.items():
            values = outcome.values[metric]
            if not np.isnan(values).all():
                cell = self.splits.index(split), self.rankers.index(ranker)
                means[cell] = np.nanmean(values)
        return means

    def by_query(self, metric: str | Callable[..., float]) -> np.ndarray:
        """Return values by query, of shape (n_queries, n_rankers); NaN if a ranker failed.

        Queries are in ascending order of ids. Values of a query that several splits test are
        averaged. With labels by people, they are by the LLM's labels. With several labels, they are
        scaled so that their mean is the weighted mean over the labels, as in ``ranker.score``, and
        may exceed 1; values by one label, such as of "ndcg@10 of margin", are not scaled.
        """
        name = self._name_of(metric)
        return self._by_query(lambda outcome: outcome.values[name])

    def _by_query(self, values_of: Callable[[Outcome], np.ndarray | float]) -> np.ndarray:
        """Return values of outcomes of shape (n_queries, n_rankers), averaged over splits.

        ``values_of(outcome)`` returns the values of its queries. Queries are in ascending order of
        ids; NaN where a ranker has no result.
        """
        ids = self._query_ids
        sums, counts = np.zeros((2, len(ids), len(self.rankers)))
        for (ranker, _), outcome in self.outcomes.items():
            cells = np.searchsorted(ids, outcome.queries), self.rankers.index(ranker)
            sums[cells] += values_of(outcome)
            counts[cells] += 1
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    @check_arguments
    def prediction_powered(
        self, metric: Any, first: str, second: str | None = None, *, level: float = LEVEL
    ) -> PredictionPowered:
        """Estimate a metric, or a difference, under human labels of some queries.

        All queries have the labels of an LLM, whose errors are measured where people judged, too;
        see :func:`treerank.statistics.prediction_powered_mean`. :func:`treerank.compare` takes
        human labels as ``human_labels``.

        Parameters
        ----------
        metric : str, Metric or callable
            One of ``metrics``.
        first : str
            Name of a ranker.
        second : str, default=None
            Name of a ranker that is subtracted from the first; None estimates the first's metric.
        level : float, default=0.95
            Coverage of the confidence interval.
        """
        if not self.has_human_labels:
            raise ValueError(
                "human_labels must be given to compare, or to compare_scores, for estimates by "
                "human labels; got none."
            )
        name = self._name_of(metric)
        names = [first] if second is None else [first, second]
        self._check_complete(names)
        columns = [self.rankers.index(ranker) for ranker in names]
        llm = self._by_query(lambda outcome: outcome.values[name])
        human = self._by_query(lambda outcome: _of_people(outcome).values[name])
        judged = self._by_query(lambda outcome: _of_people(outcome).judged)[:, columns[0]] > 0
        of_first, of_second = columns[0], columns[-1]
        y, f = human[:, of_first], llm[:, of_first]
        if second is not None:
            y, f = y - human[:, of_second], f - llm[:, of_second]
        return prediction_powered(y, f, judged, level=level)

    @check_arguments
    def test(
        self, metric: Any, first: str, second: str, *, test: TestName | None = None
    ) -> PairedResult:
        """Test whether two rankers differ.

        Parameters
        ----------
        metric : str, Metric or callable
            One of ``metrics``.
        first, second : str
            Names of rankers.
        test : {"corrected_t", "randomization"}, default=None
            "corrected_t" tests over splits, "randomization" over queries or their clusters. By
            default, the former if there are at least two splits, one of the two rankers was fitted
            to them, and no cluster is in both a training set and its test set; else the latter.
            With ``human_labels`` it must be None: then :meth:`prediction_powered` has the test.

        Raises
        ------
        ValueError
            If a ranker failed on a split, or a test over splits has only one split, or no training
            sets.
        """
        if self.has_human_labels:
            self._refuse_test(test)
            return self.prediction_powered(metric, first, second).test()
        over_splits = self._is_over_splits(test, first, second)
        values = self._paired(metric, (first, second), over_splits)
        try:
            if over_splits:
                return corrected_resampled_t_test(*values, test_to_train=self.test_to_train)
            return randomization_test(*values, clusters=self.clusters)
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
        """Return the difference of two rankers with its confidence interval and statistical power.

        The interval matches the test: it excludes 0 exactly if the p-value of :meth:`test` is
        below ``1 - level``. A difference that is the same in all splits, but not 0, has no test and
        no bounds.

        Parameters
        ----------
        metric : str, Metric or callable
            One of ``metrics``.
        first, second : str
            Names of rankers; the second is subtracted from the first.
        level : float, default=0.95
            Coverage of the confidence interval.
        test : {"corrected_t", "randomization"}, default=None
            As in :meth:`test`.
        """
        pair = (first, second)
        if self.has_human_labels:
            self._refuse_test(test)
            estimate = self.prediction_powered(metric, *pair, level=level)
            name, n_human = self._name_of(metric), estimate.n_human
            return Difference(name, *pair, estimate.interval, n_human, estimate)
        over_splits = self._is_over_splits(test, first, second)
        by_query = self._paired(metric, pair, over_splits=False)
        if over_splits:
            a, b = self._paired(metric, pair, over_splits=True)
            differences, size = paired_differences(a, b), np.nanmax(np.abs(a))
            interval = interval_over_splits(differences, self.test_to_train, level, size=size)
        else:
            interval = randomization_interval(*by_query, clusters=self.clusters, level=level)
        n_queries, clusters = len(paired_differences(*by_query)), None
        if self.clusters is not None:
            clusters = len(np.unique(self.clusters[~np.isnan(by_query[0])]))
        return Difference(self._name_of(metric), *pair, interval, n_queries, n_clusters=clusters)

    @check_arguments
    def summary(self, *, reference: str = "best", alpha: float = 0.05) -> Summary:
        """Return a table of means, in which significant differences from a reference are marked.

        Parameters
        ----------
        reference : str, default="best"
            A ranker's name, or ``"best"`` for the best of each metric.
        alpha : float, default=0.05
            Significance level for each metric. P-values are adjusted by Holm: for the pairs with
            the reference if it is given, else for all pairs, since the best was chosen by the same
            values.

        Returns
        -------
        Summary
            Print it, or export it by ``to_markdown()`` or ``to_html()``.
        """
        return make_summary(self, reference, alpha)

    def chart(self, metric: Any = None, *, reference: str = "best") -> Intervals:
        """Return the difference of each ranker from a reference, with 95 % intervals.

        The arguments are as in :meth:`plot`, which draws the result: ``metric=None`` is the first
        metric, ``reference="best"`` the ranker of the highest mean. Rankers that failed are left
        out.
        """
        metrics = self._names_of(metric)
        if reference != "best":
            check_choice("reference", reference, self.complete)
        elif self.complete:
            reference = find_reference(self, reference, means_and_errors(self, metrics[0])[0])
        challengers = [ranker for ranker in self.complete if ranker != reference]
        rows = [(ranker, name) for ranker in challengers for name in metrics]
        ends = [self._ends(name, ranker, reference) for ranker, name in rows]
        if len(metrics) == 1:
            names, x = challengers, f"{metrics[0]} minus that of {reference}"
        elif len(challengers) == 1:
            names, x = metrics, f"{challengers[0]} minus {reference}"
        else:
            names = [f"{ranker}, {name}" for ranker, name in rows]
            x = f"difference from {reference}"
        return Intervals.of(names, ends, x=x, title="Differences with 95 % intervals")

    def _ends(self, metric: str, ranker: str, reference: str) -> tuple[float, float, float]:
        """Return ``(difference, low, high)`` of two rankers.

        The bounds are NaN where it cannot be tested.
        """
        try:
            return self.difference(metric, ranker, reference).interval.ends
        except ValueError:
            table = self.by_query(metric)
            columns = [table[:, self.rankers.index(name)] for name in (ranker, reference)]
            gaps = columns[0] - columns[1]
            return np.nan if np.isnan(gaps).all() else float(np.nanmean(gaps)), np.nan, np.nan

    @check_arguments
    def plot(self, ax: Any = None, *, metric: Any = None, reference: str = "best") -> Any:
        """Plot the difference of each ranker from a reference: a forest plot; needs Matplotlib.

        Intervals are as in :meth:`difference`, not adjusted for their number. Rankers whose
        interval includes 0 are gray: no difference is shown. Rankers that failed are left out.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.
        metric : str, Metric or callable, or sequence of them, default=None
            Some of ``metrics``, each of which has its row; ``None`` is the first.
        reference : str, default="best"
            A ranker's name, or ``"best"`` for the ranker of the highest mean by the first of these
            metrics.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart(metric, reference=reference).plot(ax)

    @property
    def failure_texts(self) -> list[str]:
        """A text for each ranker and error, with the splits on which the ranker failed."""
        by_error: dict[tuple[str, str], list[str]] = {}
        for failure in self.failures:
            by_error.setdefault((failure.ranker, failure.error), []).append(failure.split)
        return [
            f"{ranker} failed on split{'s' * (len(splits) > 1)} {', '.join(splits)}: {error}"
            for (ranker, error), splits in by_error.items()
        ]

    def _shown(self) -> Table | str:
        failures = "\n".join(self.failure_texts)
        return self.summary()._shown() if self.outcomes else failures or "No results."

    def __str__(self) -> str:
        """Return the summary as text, or the failures if there are no results."""
        return str(self.summary()) if self.outcomes else "\n".join(self.failure_texts)

    def _repr_html_(self) -> str | None:
        """Return the summary as HTML, for notebooks."""
        return self.summary().to_html() if self.outcomes else super()._repr_html_()

    def _is_over_splits(self, test: TestName | None, first: str, second: str) -> bool:
        """Tell whether two rankers are tested over splits, and not over queries.

        ``test`` decides, or if it is None, whether there are several splits with training sets and
        one of the two was fitted to them. Refuses a test over splits without these.
        """
        if test is None:
            both_fitted = {first, second} <= {*self.fitted_before}  # independent of training sets
            has_fits = not both_fitted and not np.isnan(self.test_to_train)
            return len(self.splits) > 1 and has_fits and not self.has_cut_clusters
        if test == "corrected_t" and len(self.splits) < 2:
            raise ValueError(
                f"test must be over queries if there is only one split, {quote(self.splits[0])}; "
                "got 'corrected_t'."
            )
        if test == "corrected_t" and np.isnan(self.test_to_train):
            raise ValueError(
                "test must be over queries if there are no training sets; got 'corrected_t'."
            )
        if test == "corrected_t" and self.has_cut_clusters:
            raise ValueError(
                "test must be over queries if clusters are in both a training set and its test "
                "set, since splits are then not independent; got 'corrected_t'. cv=5 keeps "
                "clusters whole."
            )
        return test == "corrected_t"

    def _refuse_test(self, test: TestName | None) -> None:
        """Refuse a test other than None, where there are labels by people and by an LLM."""
        if test is not None:
            raise ValueError(
                f"test must be None if human_labels are given; got {quote(test)}. Differences are "
                "then tested by both kinds of labels."
            )

    def _names_of(self, metric: Any) -> list[str]:
        """Return a list of names of one metric or several; None is the first metric."""
        if metric is None:
            return [self.metrics[0]]
        several = isinstance(metric, list | tuple)
        if several and not metric:
            raise ValueError(f"metric must be one of {sorted(self.metrics)}, or several; got none.")
        return (
            [self._name_of(one_metric) for one_metric in metric]
            if several
            else [self._name_of(metric)]
        )

    def _name_of(self, metric: Any) -> str:
        """Return the name of a metric; refuse one that is not in the comparison."""
        name = get_metric(metric).name if callable(metric) else metric
        with_cutoff = [other for other in self.metrics if other.partition("@")[0] == name]
        if isinstance(name, str) and name not in self.metrics and with_cutoff:
            suggestion = " or ".join(map(repr, with_cutoff))
            raise ValueError(
                f"metric must be one of {sorted(self.metrics)}; got {quote(name)}. "
                f"Did you mean {suggestion}?"
            )
        check_choice("metric", name, self.metrics)
        return str(name)

    def _paired(self, metric, names, over_splits):
        """Return values of the rankers ``names``, an array each, by split or by query.

        Refuses a ranker without results for all splits.
        """
        self._check_complete(names)
        table = self.by_split(metric) if over_splits else self.by_query(metric)
        return [table[:, self.rankers.index(name)] for name in names]

    def _check_complete(self, names):
        """Refuse rankers without results for all splits."""
        for name in names:
            check_choice("ranker", name, self.rankers)
            if name not in self.complete:
                missing = [s for s in self.splits if (name, s) not in self.outcomes]
                raise ValueError(
                    f"rankers must have results for all splits to be paired; {quote(name)} has "
                    f"none for {', '.join(missing)}."
                )


def _of_people(outcome: Outcome) -> ByPeople:
    """Return the values under human labels of an outcome, which must have them."""
    assert outcome.by_people is not None
    return outcome.by_people
