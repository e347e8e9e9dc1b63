"""Kinds of queries: slices on which the ranker is better or worse than on the others."""

from typing import Any

import numpy as np

from treerank.inspection.data_sheet import columns_of
from treerank.inspection.slices import Slice, slices
from treerank.reports.markup import Markup, joined
from treerank.reports.page import Section
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, table
from treerank.statistics.paired import format_p

#: Number of slices shown, and the level at which they differ.
_MOST, _LEVEL = 12, 0.05
_NOTE = (
    "Queries are divided by the mean of each feature over their documents, by their size and by "
    "the share of relevant documents. p is adjusted for the number of slices (Holm)."
)


def kinds(subject: Subject) -> Section | None:
    """Return the slices that differ most surely, by the metric and against the baseline."""
    columns = _columns(subject)
    measured = {f"Slices by {subject.main}": subject.values[subject.main]}
    if subject.baseline_values is not None:
        gaps = subject.values[subject.main] - subject.baseline_values[subject.main]
        measured[f"Slices by the difference of {subject.main} to the baseline"] = gaps
    tables = [
        _table(title, found)
        for title, values in measured.items()
        if (found := slices(values, columns, subject.groups))
    ]
    if not tables:
        return None
    return Section("kinds", "Kinds of queries", joined([paragraphs(_NOTE), *tables]))


def _columns(subject: Subject) -> dict[str, Any]:
    """Return what queries are divided by."""
    sizes = subject.groups.sizes[subject.groups.codes]
    columns = {"documents": sizes, "share of relevant documents": subject.y > 0}
    features = zip(subject.feature_names, columns_of(subject.X), strict=True)
    coded = {subject.feature_names[j] for j in subject.ranker.columns_.categories}
    means = {f"mean of {name}": column for name, column in features if name not in coded}
    return columns | means | {name: np.asarray(c) for name, c in subject.slices.items()}


def _table(title: str, found: list[Slice]) -> Markup:
    clear = [one for one in found if one.p_value <= _LEVEL]
    if not clear:
        return paragraphs(
            f"{title}: none of {len(found):,} differs from the others (p > {_LEVEL})."
        )
    rows = [
        [
            f"{one.column}: {one.values}",
            f"{one.n_queries:,}",
            f"{one.mean:.4f}",
            f"{one.difference.estimate:+.4f}",
            f"{one.difference.low:.4f} to {one.difference.high:.4f}",
            format_p(one.p_value),
        ]
        for one in clear[:_MOST]
    ]
    columns = ["slice", "queries", "mean", "from the others", "95 % interval", "p"]
    note = f"{title}: {len(rows)} of {len(clear):,} that differ, of {len(found):,}"
    return table(note, columns, rows)
