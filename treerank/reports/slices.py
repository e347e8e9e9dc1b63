"""Kinds of queries: slices on which the ranker is better or worse than on the others."""

import numpy as np

from treerank.inspection.query_slices import Slice, slices
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, table
from treerank.statistics.paired import SIGNIFICANT, format_p

#: Number of slices shown.
_MOST = 12
_NOTE = (
    "Queries are divided by the mean of each feature over their documents, by their size and by "
    "the share of relevant documents. p is adjusted for the number of slices (Holm). Slices of "
    "fewer than 20 queries, or of all but so few, are not tested."
)


def kinds(subject: Subject) -> Section | None:
    """Return the slices that differ most surely, by the metric and against the baseline."""
    measured = {f"Slices by {subject.main}": subject.values[subject.main]}
    if subject.baseline_values:
        measured[f"Slices by the difference of {subject.main} to the baseline"] = subject.gaps
    tables = [_table(title, values, subject) for title, values in measured.items()]
    if not any(tables):
        return None
    hints = [f"Queries of {s.column} {s.values} are worse." for s in subject.kinds if s.is_worse]
    body = joined([paragraphs(_NOTE), *filter(None, tables)])
    return Section("kinds", "Kinds of queries", body, hints=hints[:1])


def _table(title: str, values: np.ndarray, subject: Subject) -> Markup | None:
    """Return the slices that differ, and all those that the user has asked for."""
    tested_slices, groups = subject.slices_of(values), subject.groups
    clear, tested = (
        [s for s in tested_slices if s.p_value <= SIGNIFICANT],
        [_name(s) for s in tested_slices],
    )
    asked = [s for s in tested_slices if s.column in subject.slices and s not in clear[:_MOST]]
    small = slices(values, subject.slices, groups, at_least=2) if subject.slices else []
    small = [s for s in small if _name(s) not in tested]
    shown = [*clear[:_MOST], *asked, *small]
    if not shown:
        none = (
            f"{title}: none of {len(tested_slices):,} differs from the others (p > {SIGNIFICANT})."
        )
        return paragraphs(none) if tested_slices else None
    columns = ["slice", "queries", "mean", "from the others", "95 % interval", "p"]
    note = f"{title}: {len(shown)} shown, {len(clear):,} of {len(tested_slices):,} tested differ"
    return table(note, columns, [[*_numbers(s), *_test(s, s in small)] for s in shown])


def _name(one: Slice) -> str:
    return f"{one.column}: {one.values}"


def _numbers(one: Slice) -> list[str]:
    gap = f"{one.difference.estimate:+.4f}"
    return [_name(one), f"{one.n_queries:,}", f"{one.mean:.4f}", gap]


def _test(one: Slice, is_small: bool) -> list[str]:
    """Return the interval and the p-value of a slice that has queries enough to be tested."""
    interval = f"{one.difference.low:.4f} to {one.difference.high:.4f}"
    return ["too few queries", ""] if is_small else [interval, format_p(one.p_value)]
