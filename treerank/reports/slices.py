"""Slices of queries on which the ranker is better or worse than on the others."""

from dataclasses import dataclass
from typing import Any

from treerank.inspection.query_slices import Slice, slices
from treerank.reports.dots import Dot, dot_table
from treerank.reports.page import Section, joined
from treerank.reports.subject import Subject, counted
from treerank.reports.tables import folded, paragraphs
from treerank.statistics.paired import SIGNIFICANT, format_p

#: Number of automatic slices that are shown, and of other slices that are not folded.
_MOST = 12
_NOTE = (
    "Queries are grouped by the mean of each feature over their documents, by their number of "
    "documents, by the share of relevant documents and by the columns that you pass. A dot is "
    "the difference from all other queries, with its 95 % interval; it is filled if p, adjusted "
    "for the number of slices (Holm), is at most 0.05. A slice is tested only if it has at least "
    "20 queries and leaves out at least 20."
)


@dataclass(frozen=True)
class _Kind:
    """A row of the table of slices: a set of queries with one value of a column.

    ``by_value`` compares the metric on these queries with the others, and ``by_gap`` the gain over
    the baseline, None without one. ``is_tested`` is False if there are too few queries for a test.
    """

    by_value: Slice
    by_gap: Slice | None
    is_tested: bool = True

    @property
    def p_value(self) -> float:
        gap = 1.0 if self.by_gap is None else self.by_gap.p_value
        return min(self.by_value.p_value, gap) if self.is_tested else 1.0

    @property
    def differs(self) -> bool:
        return self.p_value <= SIGNIFICANT

    def cells(self, compared: bool) -> list[Any]:
        """Return the cells of the row; ``compared`` adds cells for the gain over the baseline."""
        one = self.by_value
        row: list[Any] = [f"{one.column}: {one.values}"]
        for part in (one, self.by_gap) if compared else (one,):
            row += ["", "", ""] if part is None else self._columns(part, part is not one)
        return [*row, f"{one.n_queries:,}"]

    def _columns(self, one: Slice, signed: bool) -> list[Any]:
        mean = f"{one.mean:+.4f}" if signed else f"{one.mean:.4f}"
        if not self.is_tested:
            return ["too few queries", mean, ""]
        gap = one.difference
        differs = one.p_value <= SIGNIFICANT
        return [Dot(gap.estimate, gap.low, gap.high, is_shown=differs), mean, format_p(one.p_value)]


def kinds(subject: Subject) -> Section | None:
    """Return the section on slices of queries: those that differ, and the user's others folded.

    A slice differs by the metric or by the gain over the baseline. None if there are no slices.
    """
    compared = bool(subject.baseline_values)
    tested_slices, small = _tested(subject), _small(subject)
    if not tested_slices and not small:
        return None
    clear = [kind for kind in tested_slices if kind.differs]
    clear.sort(key=lambda kind: kind.p_value)
    asked = [kind for kind in tested_slices if kind.by_value.column in subject.slices]
    unclear = [kind for kind in asked if kind not in clear[:_MOST]] + small
    columns = ["slice", f"{subject.main}, from the others", subject.main, "p"]
    if compared:
        columns += ["gain over the baseline, from the others", "gain", "p of the gain"]
    columns.append("queries")
    rows = [kind.cells(compared) for kind in clear[:_MOST]]
    further = [kind.cells(compared) for kind in unclear]
    body = [paragraphs(_NOTE)]
    tested = counted(len(tested_slices), "slice", "slices")
    if rows:
        n_clear = f"{len(clear):,} of {tested} differ"
        only = "" if len(rows) == len(clear) else f"; the {len(rows)} that differ most surely"
        caption = f"Slices by {subject.main}: {n_clear}{only}"
        body.append(dot_table(caption, columns, rows, scaled_by=further))
    else:
        body.append(paragraphs(f"None of {tested} differs from the other queries."))
    if further:
        caption = f"{counted(len(further), 'slice', 'slices')} of your columns, not above"
        table = dot_table(caption, columns, further, scaled_by=rows)
        body.append(folded(f"{caption}: show", table))
    worse = [one for one in subject.kinds if one.is_worse][:1]
    hints = [f"Ranked worse: queries whose {one.column} is {one.values}." for one in worse]
    return Section("kinds", "Slices of queries", joined(body), hints=hints)


def _tested(subject: Subject) -> list[_Kind]:
    """Return the slices that have enough queries for a test, each with its gain if compared."""
    gaps = subject.slices_of(subject.gaps) if subject.baseline_values else []
    by_name = {_name(one): one for one in gaps}
    return [_Kind(one, by_name.get(_name(one))) for one in subject.kinds]


def _small(subject: Subject) -> list[_Kind]:
    """Return the slices that the user has asked for and that have too few queries for a test."""
    if not subject.slices:
        return []
    tested = {_name(one) for one in subject.kinds}
    settings: dict[str, Any] = {"qid": subject.groups, "at_least": 2}
    all_slices = slices(subject.values[subject.main], subject.slices, **settings)
    gaps = slices(subject.gaps, subject.slices, **settings) if subject.baseline_values else []
    by_name = {_name(one): one for one in gaps}
    small = [one for one in all_slices if _name(one) not in tested]
    return [_Kind(one, by_name.get(_name(one)), is_tested=False) for one in small]


def _name(one: Slice) -> tuple[str, str]:
    return one.column, one.values
