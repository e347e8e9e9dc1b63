"""Queries: a table of all queries that can be sorted and searched."""

from typing import Any

import numpy as np

from treerank.reports.page import Markup, Section, element, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import scrolling

#: Largest number of queries in the table.
_MOST = 10_000
_PAPER = element(
    "p",
    "On paper: the first queries, and one with its documents. The file has all.",
    class_="paper",
)
_NO_SCRIPT = "The table of queries needs scripts, which are not allowed here."


def queries(subject: Subject) -> Section:
    """Return the queries, worst first; the script fills in the table."""
    columns = _columns(subject)
    worst = np.argsort(columns[-1][1] if subject.baseline_values else columns[3][1], kind="stable")
    shown = worst[:_MOST]
    # A name may be that of two queries, such as 2 and "2", so rows end with the query's number.
    rows = zip(*(_plain(values, shown) for _, values in columns), shown.tolist(), strict=True)
    names = [name for name, _ in columns]
    first = "Lost most first" if subject.baseline_values else "Worst first"
    note = f"{first}. A name that is a button shows the documents of its query."
    if len(shown) < len(worst):
        note = f"{note} The first {_MOST:,} of {len(worst):,} queries."
    controls = element(
        "div",
        element("label", "Search queries", for_="search"),
        element("input", type="search", id="search", autocomplete="off"),
        element("button", "Previous page", type="button", id="previous-page"),
        element("button", "Next page", type="button", id="next-page"),
        element("output", id="page-status", role="status"),
        class_="controls",
    )
    empty = scrolling("Table of queries", _table(names, note))
    body = [element("noscript", element("p", _NO_SCRIPT)), controls, empty, _PAPER]
    return Section("queries", "Queries", joined(body), {"queries": list(rows)})


def _columns(subject: Subject) -> list[tuple[str, Any]]:
    """Return the name and the values of each column."""
    groups, y = subject.groups, subject.y
    relevant = np.add.reduceat((y > 0)[groups.order].astype(np.int64), groups.indptr[:-1])
    columns = [("query", subject.query_names), ("documents", groups.sizes), ("relevant", relevant)]
    columns += list(subject.values.items())
    if subject.baseline_values:
        columns.append((f"baseline {subject.main}", subject.baseline_values[subject.main]))
        columns.append(("difference", subject.gaps))
    return columns


def _table(names: list[str], note: str) -> Markup:
    buttons = [element("button", name, type="button") for name in names]
    head = [element("th", buttons[0], scope="col")]
    head += [element("th", button, scope="col", class_="number") for button in buttons[1:]]
    thead = element("thead", element("tr", *head))
    return element("table", element("caption", note), thead, element("tbody"), id="query-table")


def _plain(values: np.ndarray, shown: np.ndarray) -> list[Any]:
    """Return values of some queries as text and rounded numbers; ``None`` for NaN."""
    chosen = values[shown].tolist()
    if values.dtype.kind != "f":
        return chosen
    return [None if value != value else round(value, 4) for value in chosen]
