"""Summary: one row per ranker, one column per metric, and what is significant.

A summary holds numbers and text; :mod:`treerank.evaluation.layouts` turns them into tables.

Difference: how far apart two rankers are, and how many queries a test needs to show it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.display.charts import Intervals
from treerank.display.results import Shown
from treerank.display.tables import Table, counted
from treerank.documents.training_queries import UNLESS_LATER
from treerank.evaluation.layouts import LAYOUTS
from treerank.files.replaced import replaced_file
from treerank.parameters import check_arguments
from treerank.statistics.clusters import standard_error
from treerank.statistics.double_sampling import WEAK, PredictionPowered
from treerank.statistics.paired import adjust_holm
from treerank.statistics.resampled import (
    POWER,
    Interval,
    corrected_standard_error,
    needed_text,
    queries_needed,
)

#: Level of the intervals that a summary names.
LEVEL = 0.95
#: A table counts the queries with a defined metric if their share is smaller than this.
_MOST = 0.9


@dataclass(frozen=True, repr=False)
class Difference(Shown):
    """The difference of two rankers by a metric; ``Comparison.difference`` makes it.

    Parameters
    ----------
    metric, first, second : str
        Names.
    interval : Interval
        Mean of the first minus mean of the second, with its bounds.
    n_queries : int
        Number of queries tested; of those that people judged, with labels by people.
    prediction_powered : PredictionPowered, default=None
        The estimate by labels of people and of an LLM, if it is one.
    n_clusters : int, default=None
        Number of clusters of the queries, if these are not independent.

    Examples
    --------
    >>> interval = Interval(0.01, -0.02, 0.04, level=0.95)
    >>> Difference("map", "a", "b", interval, n_queries=200)
    a - b by map: 0.0100 (95 %: -0.0200 to 0.0400) over 200 queries, not significant; about 3,678
    queries would be needed.
    """

    metric: str
    first: str
    second: str
    interval: Interval
    n_queries: int
    prediction_powered: PredictionPowered | None = None
    n_clusters: int | None = None

    @property
    def queries_needed(self) -> float:
        """About how many queries a test needs to show the difference, if it is as observed.

        The interval is assumed to narrow by the square root of their number, and to exclude 0 in 80
        % of samples of this size. With an LLM's labels, it is the number of queries that people
        alone would have to judge. With clusters, these must be of as many more clusters.
        """
        estimate = self.prediction_powered
        n_queries = self.n_queries if estimate is None else estimate.effective_n
        return queries_needed(self.interval, n_queries)

    def __str__(self) -> str:
        """Return the difference in one line, with the queries needed if it is not significant."""
        sample, n, units = f" over {self.n_queries:,} queries", float(self.n_queries), "queries"
        if self.n_clusters is not None:
            sample += f" of {self.n_clusters:,} clusters"
            n, units = self.n_clusters, "clusters of as many queries"
        if self.prediction_powered is not None:
            sample = f"; {self.prediction_powered.sample}"
            n, units = self.prediction_powered.effective_n, "human queries alone"
        verdict = ""
        if self.interval.low <= 0 <= self.interval.high:
            needed = needed_text(self.interval, n, units)
            verdict = ", not significant" + (f"; {needed} would be needed" if needed else "")
        return f"{self.first} - {self.second} by {self.metric}: {self.interval}{sample}{verdict}."

    _shown = __str__

    def chart(self) -> Intervals:
        """Return the difference as a row of a forest plot, which :meth:`plot` draws."""
        names, label = [f"{self.first} - {self.second}"], f"difference in {self.metric}"
        title = f"Difference with {100 * self.interval.level:g} % confidence interval"
        return Intervals.of(names, [self.interval.ends], x=label, title=title)

    @check_arguments
    def plot(self, ax: Any = None) -> Any:
        """Plot the difference and its confidence interval; needs Matplotlib.

        It is gray if the interval includes 0: the difference is not significant.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart().plot(ax)


#: Mark of each verdict.
MARKS = {"better": "↑", "worse": "↓", "same": ""}


@dataclass(frozen=True)
class Cell:
    """The mean of one ranker by one metric, with its error and its verdict.

    Parameters
    ----------
    mean, error : float
        Over splits, with the error corrected for their overlap; over queries if there is only
        one split, or if no ranker was fitted to the splits or they cut clusters.
    verdict : {"better", "worse", "same"}, default="same"
        Result of the test against the reference.
    is_best : bool, default=False
        Whether no other mean over all splits is higher.
    has_results : bool, default=False
        Whether the ranker has results, so that a mean of NaN is a value of the metric.
    """

    mean: float
    error: float
    verdict: str = "same"
    is_best: bool = False
    has_results: bool = False

    def __str__(self) -> str:
        """Return mean, error and mark as text."""
        if np.isnan(self.mean):
            return "no value" if self.has_results else "failed"
        error = "" if np.isnan(self.error) else f" ± {self.error:.4f}"
        return f"{self.mean:.4f}{error}{' ' * bool(MARKS[self.verdict])}{MARKS[self.verdict]}"


@dataclass(frozen=True, repr=False)
class Summary(Shown):
    """A table of rankers and metrics, with marks of what is significant, and notes.

    Parameters
    ----------
    rankers, metrics : tuple of str
        Names of the rows and of the columns.
    cells : dict from (str, str) to Cell
        Means by ranker and metric.
    seconds : dict from str to float
        Mean time of a fit with its search, by ranker.
    notes : tuple of str
        Splits, errors, tests, metrics, differences and failures, in words.
    fitted_before : tuple of str, default=()
        Rankers that were not fitted here.
    without_labels : tuple of str, default=()
        Those of them that learn from no labels.
    prediction_powered : dict from (str, str) to PredictionPowered, default={}
        Estimates by labels of people and of an LLM, by ranker and metric, if there are both. Then
        each metric has the effective number of queries and the correlation as further columns.
    splits : dict from str to str, default={}
        The splits that each mean is over, such as "4 of 5", by ranker; a column of its own. Empty
        if all means are over all splits.

    Examples
    --------
    >>> cells = {("a", "map"): Cell(0.5, 0.1), ("b", "map"): Cell(0.75, 0.1, "better", True)}
    >>> summary = Summary(("a", "b"), ("map",), cells, {"a": 0.01, "b": 2.0}, ("A note.",))
    >>> print(summary.to_markdown())
    | ranker | map | fit (s) |
    | --- | ---: | ---: |
    | a | 0.5000 ± 0.1000 | 0.01 |
    | b | **0.7500 ± 0.1000 ↑** | 2.00 |
    <BLANKLINE>
    * A note.
    """

    rankers: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    seconds: dict[str, float]
    notes: tuple[str, ...]
    fitted_before: tuple[str, ...] = ()
    without_labels: tuple[str, ...] = ()
    prediction_powered: Mapping[tuple[str, str], PredictionPowered] = field(default_factory=dict)
    splits: Mapping[str, str] = field(default_factory=dict)

    @property
    def header(self) -> tuple[str, ...]:
        """Names of the columns."""
        columns = [name for metric in self.metrics for name in self._columns_of(metric)]
        splits = ["splits"] if self.splits else []
        return ("ranker", *splits, *columns, *(["fit (s)"] if self._has_fits else []))

    def _columns_of(self, metric: str) -> list[str]:
        """Return the names of the columns of a metric."""
        further = [f"{metric}: effective queries", f"{metric}: correlation"]
        return [metric, *(further if self.prediction_powered else [])]

    @property
    def _has_fits(self) -> bool:
        """Whether the table has a column of fits; it has none for given scores."""
        return bool(self.fitted_before) or not all(np.isnan(time) for time in self.seconds.values())

    def rows(self, as_cell: Callable[[str, bool], str]) -> list[list[str]]:
        """Return the table body: a list of cells for each ranker, in the order of ``header``.

        ``as_cell(text, is_best)`` makes a cell; ``is_best`` is true for the best mean of a metric.
        """
        rows = []
        for name in self.rankers:
            means = []
            for metric in self.metrics:
                cell = self.cells[name, metric]
                means.append(as_cell(str(cell), cell.is_best))
                if self.prediction_powered:
                    estimate = self.prediction_powered.get((name, metric))
                    texts = ["", ""]
                    if estimate is not None:
                        texts = [f"{estimate.effective_n:,.0f}", f"{estimate.correlation:.2f}"]
                    means += [as_cell(text, False) for text in texts]
            seconds = "" if np.isnan(self.seconds[name]) else f"{self.seconds[name]:.2f}"
            seconds = "fitted before" if name in self.fitted_before else seconds
            seconds = "nothing to fit" if name in self.without_labels else seconds
            fits = [as_cell(seconds, False)] if self._has_fits else []
            splits = [as_cell(self.splits[name], False)] if self.splits else []
            rows.append([as_cell(name, False), *splits, *means, *fits])
        return rows

    def to_text(self) -> str:
        """Return the table as text with aligned columns."""
        return LAYOUTS[".txt"](self)

    __str__ = to_text

    def _shown(self) -> Table:
        return Table("", self.header, self.rows(lambda cell, is_best: cell), notes=self.notes)

    def to_markdown(self) -> str:
        """Return a Markdown table with the notes below."""
        return LAYOUTS[".md"](self)

    def to_html(self) -> str:
        """Return an HTML table with the notes below."""
        return LAYOUTS[".html"](self)

    _repr_html_ = to_html

    def save(self, path: str | Path) -> None:
        """Write the table to a file that ends in ``.txt``, ``.md`` or ``.html``."""
        path = check_path(path)
        with replaced_file(path) as file:
            file.write((LAYOUTS[path.suffix](self) + "\n").encode())


def check_path(path: str | Path) -> Path:
    """Return a path; refuse a suffix that has no layout."""
    path = Path(path)
    if path.suffix not in LAYOUTS:
        raise ValueError(f"path must end in one of {list(LAYOUTS)}; got {quote(str(path))}.")
    return path


def make_summary(comparison: Any, reference: str, alpha: float) -> Summary:
    """Return the summary of a comparison; see :meth:`Comparison.summary`."""
    if reference != "best" and reference not in comparison.complete:
        rule = "reference must be 'best' or a ranker with results for all splits"
        raise ValueError(f"{rule}, {quote(list(comparison.complete))}; got {quote(reference)}.")
    cells: dict[tuple[str, str], Cell] = {}
    tests: set[str] = set()
    untested: list[str] = []
    differences: list[str] = []
    n_pairs = 0
    for metric in comparison.metrics:
        means, errors = means_and_errors(comparison, metric)
        against, is_chosen = find_reference(comparison, reference, means), reference == "best"
        results, messages = _test_pairs(comparison, metric, against, is_chosen)
        n_pairs = max(n_pairs, len(results))
        verdicts = _verdicts(results, against, alpha)
        # A mean over some splits alone is not comparable: these may be the easy ones.
        is_comparable = np.isin(comparison.rankers, comparison.complete) & ~np.isnan(means)
        best = means[is_comparable].max(initial=-np.inf)
        for ranker, mean, error in zip(comparison.rankers, means, errors, strict=True):
            verdict = verdicts.get(ranker, "same")
            has_results = ranker in comparison.complete
            is_best = has_results and bool(mean == best)
            cells[ranker, metric] = Cell(float(mean), float(error), verdict, is_best, has_results)
        tests.update(result.test for result in results.values())
        untested += messages
        pairs = [pair for pair in results if pair[1] == against]
        differences += [str(comparison.difference(metric, *pair)) for pair in pairs]
    estimates = {}
    if comparison.has_human_labels:
        keys = [(r, metric) for r in comparison.complete for metric in comparison.metrics]
        estimates = {(r, metric): comparison.prediction_powered(metric, r) for r, metric in keys}
    notes = (
        *_notes(comparison, reference, tests, alpha, n_pairs),
        *differences,
        *untested,
        *comparison.failure_texts,
    )
    return Summary(
        rankers=comparison.rankers,
        metrics=comparison.metrics,
        cells=cells,
        seconds=_mean_seconds(comparison),
        notes=notes,
        fitted_before=comparison.fitted_before,
        without_labels=comparison.without_labels,
        prediction_powered=estimates,
        splits=_splits_of_means(comparison),
    )


def _splits_of_means(comparison: Any) -> dict[str, str]:
    """Return the number of splits with results, such as "4 of 5", by ranker.

    Empty if each ranker has results for all splits or for none, so that means are over the same.
    """
    counts = dict.fromkeys(comparison.rankers, 0)
    for name, _ in comparison.outcomes:
        counts[name] += 1
    n_splits = len(comparison.splits)
    if {*counts.values()} <= {0, n_splits}:
        return {}
    return {name: f"{count} of {n_splits}" for name, count in counts.items()}


def means_and_errors(comparison: Any, metric: str) -> Any:
    """Return ``(means, errors)`` of a metric, arrays with an entry per ranker.

    NaN without any result. Both are over splits, and errors corrected for their overlap; or over
    queries if there is one split, or all tests are over queries. Beside rankers that are fitted
    here, the mean of one that was fitted before is over splits as theirs are, and its error over
    queries. With labels by people, both are estimates by these.
    """
    if comparison.has_human_labels:
        return _means_and_errors_by_people(comparison, metric)
    means, errors = np.full((2, len(comparison.rankers)), np.nan)
    ratio, before = comparison.test_to_train, comparison.fitted_before
    has_fits = not np.isnan(ratio) and len(before) < len(comparison.rankers)
    is_over_splits = len(comparison.splits) > 1 and has_fits and not comparison.has_cut_clusters
    by_split, by_query = comparison.by_split(metric), comparison.by_query(metric)
    for column, ranker in enumerate(comparison.rankers):
        measured, clusters = ~np.isnan(by_query[:, column]), comparison.clusters
        queries = by_query[measured, column]
        values = by_split[~np.isnan(by_split[:, column]), column] if is_over_splits else queries
        means[column] = values.mean() if len(values) else np.nan
        if is_over_splits and ranker not in before:
            if len(values) > 1:
                errors[column] = corrected_standard_error(values, ratio)
        elif len(queries):
            of_measured = None if clusters is None else clusters[measured]
            errors[column] = standard_error(queries, of_measured)
    return means, errors


def _means_and_errors_by_people(comparison, metric):
    """Return ``(means, errors)`` under human labels.

    NaN for rankers without results for all splits.
    """
    means, errors = np.full((2, len(comparison.rankers)), np.nan)
    for column, ranker in enumerate(comparison.rankers):
        if ranker in comparison.complete:
            estimate = comparison.prediction_powered(metric, ranker)
            means[column], errors[column] = estimate.interval.estimate, estimate.standard_error
    return means, errors


def find_reference(comparison: Any, reference: str, means: Any) -> Any:
    """Return the name of the reference: for "best", the complete ranker of the highest mean.

    ``means`` has an entry per ranker. The argument is returned if no ranker is complete.
    """
    if reference != "best" or not comparison.complete:
        return reference
    return max(comparison.complete, key=lambda name: means[comparison.rankers.index(name)])


def _test_pairs(comparison, metric, reference, is_chosen):
    """Test every complete ranker against the reference.

    If ``is_chosen``, the reference was chosen by the same values, as the winner of all pairs. Then
    all pairs are tested, to be adjusted for: else one of six equal rankers would be called worse in
    10 % of comparisons at a level of 5 %.

    Returns
    -------
    tuple
        ``(results, messages)``: test results by pair of names, and a list of texts on rankers that
        cannot be tested.
    """
    compared = [name for name in comparison.complete if name != reference]
    pairs = [(name, reference) for name in compared]
    pairs += combinations(compared, 2) if is_chosen else []
    results, messages = {}, []
    for pair in pairs:
        try:
            results[pair] = comparison.test(metric, *pair)
        except ValueError as error:
            if reference in pair:
                messages.append(f"Not tested by {metric}: {error}")
    return results, messages


def _verdicts(results, reference, alpha):
    """Return "better", "worse" or "same" than the reference, by ranker.

    ``results`` are test results by pair of names. P-values of all pairs are adjusted by Holm and
    compared with ``alpha``.
    """
    p_values = adjust_holm([result.p_value for result in results.values()])
    return {
        name: "same" if p > alpha else "better" if result.difference > 0 else "worse"
        for p, ((name, other), result) in zip(p_values, results.items(), strict=True)
        if other == reference
    }


def _notes(comparison, reference, tests, alpha, n_pairs):
    """Yield the notes of a summary: on splits, errors, fits, tests and metrics.

    ``tests`` are the names of the tests that were used, and ``n_pairs`` is the largest number of
    pairs that a metric was tested for.
    """
    if comparison.has_human_labels:
        yield from _human_notes(comparison)
    else:
        yield _errors_note(comparison)
    yield from _undefined_notes(comparison)
    yield from _fit_notes(comparison)
    against, pairs = reference, "its pairs"
    if reference == "best":
        against, pairs = "the best", "all pairs, since the same values chose the best"
    for test in sorted(tests):
        yield (
            f"{MARKS['better']} {MARKS['worse']}: better or worse than {against} at {alpha:g} "
            f"({test}, adjusted by Holm for {pairs}); no mark: no difference shown."
        )
    if tests:
        several = f": of {n_pairs} pairs, one without an arrow may have an interval that excludes 0"
        without_arrow = several if n_pairs > 1 else ""
        yield (
            f"Differences: intervals match the tests and are not adjusted{without_arrow}; with the "
            f"number of queries that would be needed, {POWER:.0%} of tests at {1 - LEVEL:.2g} show "
            "a true difference of this size."
        )
    if comparison.scoring:
        names_metrics = not comparison.scoring.startswith(("tied", "queries"))
        yield f"Scored {'' if names_metrics else 'with '}{comparison.scoring}."


def _errors_note(comparison):
    """Return a note on the number of splits and queries, and on what the errors are."""
    n_splits = len(comparison.splits)
    has_value = ~np.isnan(comparison.by_query(comparison.metrics[0])).all(axis=1)
    of_clusters, over = "", "over queries"
    if comparison.clusters is not None:
        of_clusters = f" of {len(np.unique(comparison.clusters)):,} clusters"
        over = "over clusters of queries"
    n_queries, n_defined = len(has_value), np.count_nonzero(has_value)
    n_judged = np.count_nonzero(comparison.has_labels)
    parts = [] if n_judged == n_queries else [f"{n_judged} are judged"]
    clause = f"{n_defined} have a defined metric" if n_defined < _MOST * n_judged else ""
    by_metric = {
        metric: np.count_nonzero(~np.isnan(comparison.by_query(metric)).all(axis=1))
        for metric in comparison.metrics
    }
    if len({*by_metric.values()}) > 1:  # columns are means over different queries
        texts = [f"{n} by {metric}" for metric, n in by_metric.items()]
        clause = f"{_listed(texts)} have a defined metric"
    parts += [clause] if clause else []
    queries = counted(n_queries, "query", "queries") + of_clusters
    shares = f", of which {', and '.join(parts)}" if parts else ""
    over_queries = f"the standard error {over}"
    if n_splits == 1:
        return f"One test set, {queries}{shares}; ± is {over_queries}."
    tested = f"{n_splits} splits, {queries} tested{shares}; ±"
    corrected = "the standard error over splits, corrected for their overlap (Nadeau and Bengio)"
    if comparison.has_cut_clusters:
        return (
            f"{tested} is {over_queries}, and so are the tests, given the models: clusters are in "
            "both a training set and its test set, so splits are not independent."
        )
    if len(comparison.fitted_before) == len(comparison.rankers):
        return f"{tested} is {over_queries}."
    if not comparison.fitted_before:
        return f"{tested} is {corrected}."
    before = _listed(comparison.fitted_before)
    return f"{tested} is {corrected}, and {over} for {before}. All values are means over splits."


def _undefined_notes(comparison):
    """Yield notes on metrics that have no value for any query of a ranker."""
    for metric in comparison.metrics:
        values = comparison.by_query(metric)
        empty = [
            ranker
            for ranker, column in zip(comparison.rankers, values.T, strict=True)
            if ranker in comparison.complete and np.isnan(column).all()
        ]
        if empty:
            yield f"{metric} of {_listed(empty)} has no value: NaN for all {len(values):,} queries."


def _human_notes(comparison):
    """Yield notes on what people and the LLM judged, and on the assumptions of the estimates."""
    n_splits, n_queries = len(comparison.splits), len(np.unique(comparison.values["query"]))
    sets = "One test set" if n_splits == 1 else f"{n_splits} splits"
    if not comparison.complete:
        yield f"{sets}, {n_queries:,} queries judged by the LLM."
        return
    of_any = comparison.prediction_powered(comparison.metrics[0], comparison.complete[0])
    n_human = of_any.n_human
    condition = ", given the models" if n_splits > 1 else ""
    yield (
        f"{sets}, {n_queries:,} queries judged by the LLM and {n_human:,} of them by people; "
        "values are estimates under human labels, made more precise by the LLM's labels "
        f"(prediction-powered inference); ± is their standard error{condition}."
    )
    yield (
        "Effective queries: as many judged by people alone would be as precise. Correlation: of "
        f"values under human labels and under the LLM's; below {WEAK} the LLM adds almost nothing."
    )
    yield (
        "Not checked: the human-judged queries must be drawn at random, and the LLM must not "
        "have been tuned on them."
    )


def _fit_notes(comparison):
    """Yield notes on rankers that were fitted before, and on the use of the validation set."""
    before, outcomes = comparison.fitted_before, comparison.outcomes.values()
    with_results = {outcome.ranker for outcome in outcomes}  # others failed before they were fitted
    here = [n for n in comparison.rankers if n in with_results and n not in before]
    if before:
        free = comparison.without_labels
        learned = [name for name in before if name not in free]
        parts = []
        if learned:
            as_it_is = "scored as it is" if len(learned) == 1 else "scored as they are"
            parts.append(f"{_listed(learned)}: fitted before, {as_it_is}")
        if free:
            learns = "learns" if len(free) == 1 else "learn"
            as_it_is = "scored as it is" if len(free) == 1 else "scored as they are"
            parts.append(f"{_listed(free)}: {learns} from no labels, {as_it_is}")
        if here:
            parts.append(f"{_listed(here)}: fitted to the training set of each split")
        yield f"{'; '.join(parts)}."
    for name in before:
        seen = comparison.seen(name)
        if seen.n_same:
            yield (
                f"{name} was fitted to {seen.n_same} of the test queries: its values are too high."
            )
        if seen.n_shared:
            yield (
                f"{name} was fitted to some documents of {seen.n_shared} of the test queries, "
                f"perhaps with other labels: its values are too high, {UNLESS_LATER}."
            )
        if seen.n_with_others:
            yield (
                f"{name} was fitted to {seen.n_with_others} of the test queries with other "
                "documents: its values are too high if a split of rows cut them, not if searches "
                "came back later."
            )
    unknown = {o.ranker for o in outcomes if o.fitted_before and o.seen is None}
    if unknown:
        names = _listed([name for name in before if name in unknown], "or")
        yield f"Whether {names} learned from test queries is not known here."
    if here and comparison.has_human_labels and not np.isnan(comparison.test_to_train):
        yield f"{_listed(here)}: fitted to {_labels_of_fits(comparison)}."
    watched = {(o.ranker, bool(o.watched)) for o in outcomes if o.watched is not None}
    without = [name for name in here if (name, False) in watched]
    users = [name for name in here if (name, True) in watched and name not in without]
    if watched:
        who = f"used by {_listed(users)}" if users else "used by none"
        unused = f"; not by {_listed(without, 'or')}" if users and without else ""
        yield f"Validation set, for early stopping: {who}{unused}."


def _labels_of_fits(comparison):
    """Return which labels rankers were fitted to, where there are labels by people."""
    if any(o.by_people and o.by_people.fitted_to_both for o in comparison.outcomes.values()):
        return "the LLM's and the human labels, weighted by each one's label_weights"
    return "the LLM's labels"


def _listed(names, word="and"):
    """Return names as a text, with ``word`` before the last one.

    Examples
    --------
    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    *first_names, last = names
    return f"{', '.join(first_names)} {word} {last}" if first_names else last


def _mean_seconds(comparison):
    """Return the mean time of a fit with its search, by ranker; NaN without any fit."""
    seconds: dict[str, list[float]] = {name: [] for name in comparison.rankers}
    for outcome in comparison.outcomes.values():
        search, fit, _ = outcome.seconds
        seconds[outcome.ranker].append(search + fit)
    return {n: float(np.mean(times)) if times else np.nan for n, times in seconds.items()}
