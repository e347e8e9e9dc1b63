"""Kinds of queries: slices on which the ranker is better or worse than on the others."""

from collections.abc import Collection

from treerank.inspection.query_slices import LEVEL, Slice
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, table
from treerank.statistics.paired import format_p

#: Number of slices shown.
_MOST = 12
_NOTE = (
    "Queries are divided by the mean of each feature over their documents, by their size and by "
    "the share of relevant documents. p is adjusted for the number of slices (Holm)."
)


def kinds(subject: Subject) -> Section | None:
    """Return the slices that differ most surely, by the metric and against the baseline."""
    found = {f"Slices by {subject.main}": subject.kinds}
    if subject.baseline_values:
        gaps = subject.slices_of(subject.gaps)
        found[f"Slices by the difference of {subject.main} to the baseline"] = gaps
    tables = [_table(title, some, subject.slices) for title, some in found.items() if some]
    if not tables:
        return None
    hints = [f"Queries of {one.column} {one.values} are worse." for one in subject.kinds]
    worse = [hint for hint, one in zip(hints, subject.kinds, strict=True) if one.is_worse]
    body = joined([paragraphs(_NOTE), *tables])
    return Section("kinds", "Kinds of queries", body, hints=worse[:1])


def _table(title: str, found: list[Slice], asked: Collection[str]) -> Markup:
    """Return the slices that differ, and those that the user has asked for."""
    clear = [one for one in found if one.p_value <= LEVEL]
    shown = clear[:_MOST] + [
        one for one in found if one.column in asked and one not in clear[:_MOST]
    ]
    if not shown:
        return paragraphs(f"{title}: none of {len(found):,} differs from the others (p > {LEVEL}).")
    rows = [
        [
            f"{one.column}: {one.values}",
            f"{one.n_queries:,}",
            f"{one.mean:.4f}",
            f"{one.difference.estimate:+.4f}",
            f"{one.difference.low:.4f} to {one.difference.high:.4f}",
            format_p(one.p_value),
        ]
        for one in shown
    ]
    columns = ["slice", "queries", "mean", "from the others", "95 % interval", "p"]
    note = f"{title}: {len(rows)} shown, {len(clear):,} of {len(found):,} differ"
    return table(note, columns, rows)
