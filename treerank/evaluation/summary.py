"""Summary: one row per ranker, one column per metric, and what is significant.

A summary holds numbers and words; how they look is the business of
:mod:`treerank.evaluation.layouts`.
"""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from treerank.evaluation.layouts import LAYOUTS, SUFFIXES
from treerank.metrics.conventions import CONVENTIONS
from treerank.statistics.adjustment import adjust_holm
from treerank.statistics.resampled import corrected_standard_error

#: What the marks stand for.
MARKS = {"better": "↑", "worse": "↓", "same": ""}


@dataclass(frozen=True)
class Cell:
    """One ranker by one metric.

    Attributes
    ----------
    mean, error : float
        Over splits, with the error corrected for their overlap; over queries if there is but one
        split.
    verdict : {"better", "worse", "same"}
        Against the reference.
    is_best : bool
        Whether no other mean is higher.
    """

    mean: float
    error: float
    verdict: str = "same"
    is_best: bool = False

    def __str__(self):
        """Print mean, error and mark."""
        if np.isnan(self.mean):
            return "failed"
        error = "" if np.isnan(self.error) else f" ± {self.error:.4f}"
        return f"{self.mean:.4f}{error}{' ' * bool(MARKS[self.verdict])}{MARKS[self.verdict]}"


@dataclass(frozen=True)
class Summary:
    """A table for people.

    Attributes
    ----------
    rankers, metrics : tuple of str
        Rows and columns.
    cells : dict from (str, str) to Cell
        By ranker and metric.
    seconds : dict from str to float
        Mean time of a fit with its search, by ranker.
    notes : tuple of str
        What the reader has to know: splits, errors, tests, convention, failures.
    """

    rankers: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    seconds: dict[str, float]
    notes: tuple[str, ...]

    @property
    def header(self):
        """Names of the columns."""
        return ("ranker", *self.metrics, "fit (s)")

    @property
    def rows(self):
        """Cells of text."""
        return [
            (name, *(str(self.cells[name, m]) for m in self.metrics), _seconds(self.seconds[name]))
            for name in self.rankers
        ]

    @property
    def best(self):
        """Places of the best means, as (row, column)."""
        return {
            (row, column)
            for row, name in enumerate(self.rankers)
            for column, metric in enumerate(self.metrics, start=1)
            if self.cells[name, metric].is_best
        }

    def __str__(self):
        """Print it as text."""
        return self.to_text()

    def to_text(self):
        """Return it with aligned columns."""
        return LAYOUTS["text"](self)

    def to_markdown(self):
        """Return a Markdown table with notes below."""
        return LAYOUTS["markdown"](self)

    def to_latex(self):
        """Return a LaTeX tabular, with notes as comments; it needs no package."""
        return LAYOUTS["latex"](self)

    def to_html(self):
        """Return an HTML table, with notes in its caption."""
        return LAYOUTS["html"](self)

    def save(self, path):
        """Write it to ``.txt``, ``.md``, ``.tex`` or ``.html``."""
        path = check_path(path)
        path.write_text(LAYOUTS[SUFFIXES[path.suffix]](self) + "\n", encoding="utf-8")


def check_path(path):
    """Return a path; refuse an ending that there is no layout for."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path must end in one of {list(SUFFIXES)}; got {str(path)!r}.")
    return path


def make_summary(comparison, reference, test, alpha, settings):
    """Make the summary of a comparison; see :meth:`Comparison.summary`."""
    if reference != "best" and reference not in comparison.complete:
        raise ValueError(
            "reference must be 'best' or a ranker with results for all splits, "
            f"{list(comparison.complete)}; got {reference!r}."
        )
    cells: dict[tuple[str, str], Cell] = {}
    untested: dict[tuple[str, str], str] = {}
    names = set()
    for metric in comparison.metrics:
        means, errors = _means_and_errors(comparison, metric)
        verdicts, name = _verdicts(
            comparison, metric, means, reference, test, alpha, settings, untested
        )
        names.add(name)
        best = np.nanmax(means) if not np.isnan(means).all() else np.nan
        for ranker, mean, error in zip(comparison.rankers, means, errors, strict=True):
            verdict = verdicts.get(ranker, "same")
            cells[ranker, metric] = Cell(float(mean), float(error), verdict, bool(mean == best))
    notes = (*_notes(comparison, reference, names - {None}, alpha), *untested.values())
    notes += tuple(str(failure) for failure in comparison.failures)
    return Summary(comparison.rankers, comparison.metrics, cells, _mean_seconds(comparison), notes)


def _means_and_errors(comparison, metric):
    """Return two numbers per ranker; a ranker without any result has NaN."""
    by_split = comparison.by_split(metric)
    means, errors = np.full((2, len(comparison.rankers)), np.nan)
    for column, values in enumerate(by_split.T):
        values = values[~np.isnan(values)]
        means[column] = values.mean() if len(values) else np.nan
        if len(values) > 1:
            errors[column] = corrected_standard_error(values, comparison.test_to_train)
        elif len(values) and len(comparison.splits) == 1:
            queries = comparison.by_query(metric)[:, column]
            queries = queries[~np.isnan(queries)]
            errors[column] = np.std(queries, ddof=1) / np.sqrt(len(queries))
    return means, errors


def _verdicts(comparison, metric, means, reference, test, alpha, settings, untested):
    """Test every complete ranker against the reference; say in ``untested`` what cannot be."""
    complete = comparison.complete
    is_chosen = reference == "best" and len(complete) > 0
    if is_chosen:
        reference = max(complete, key=lambda name: means[comparison.rankers.index(name)])
    results = {}
    for name, other in _pairs(complete, reference, is_chosen):
        try:
            results[name, other] = comparison.test(
                metric, test, rankers=(name, other), adjust=False, **settings
            )
        except ValueError as error:
            if other == reference:
                untested[name, metric] = f"Not tested by {metric}: {error}"
    if not results:
        return {}, None
    p_values = adjust_holm([pair.p_values[0, 1] for pair in results.values()])
    verdicts = {
        name: "same" if p > alpha else "better" if pair.differences[0, 1] > 0 else "worse"
        for p, ((name, other), pair) in zip(p_values, results.items(), strict=True)
        if other == reference
    }
    return verdicts, next(iter(results.values())).test


def _pairs(rankers, reference, is_chosen):
    """Return the pairs to adjust for.

    A best that the same values have chosen is the winner of all pairs: adjusted for its own
    alone, one of six equal rankers would be called worse in 10 % of comparisons at a level of 5 %.
    """
    others = [name for name in rankers if name != reference]
    among_others = list(combinations(others, 2)) if is_chosen else []
    return [(name, reference) for name in others] + among_others


def _notes(comparison, reference, tests, alpha):
    n_splits = len(comparison.splits)
    n_queries = len(np.unique(comparison.values["query"]))
    if n_splits == 1:
        yield f"One split, {n_queries} queries tested; ± is the standard error over queries."
    else:
        yield (
            f"{n_splits} splits, {n_queries} queries tested; ± is the standard error over splits, "
            "corrected for their overlap (Nadeau and Bengio)."
        )
    against, pairs = reference, "its pairs"
    if reference == "best":
        against, pairs = "the best", "all pairs, since the same values chose the best"
    for test in sorted(tests):
        yield (
            f"{MARKS['better']} {MARKS['worse']}: better or worse than {against} at {alpha:g} "
            f"({test}, adjusted by Holm for {pairs}); no mark: no difference shown."
        )
    yield f"Scored {CONVENTIONS[comparison.convention].summary}."


def _mean_seconds(comparison):
    fits = comparison.fits
    total = fits["search_seconds"] + fits["fit_seconds"]
    return {
        name: float(total[fits["ranker"] == name].mean())
        if (fits["ranker"] == name).any()
        else float("nan")
        for name in comparison.rankers
    }


def _seconds(seconds):
    return "" if np.isnan(seconds) else f"{seconds:.2f}"
