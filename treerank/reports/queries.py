"""Queries: a table of all queries that can be sorted, searched, saved and linked to."""

from typing import Any

import numpy as np

from treerank.reports.page import Markup, Section, element, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import scrolling

#: Largest number of queries in the table.
_MOST = 10_000
_PAPER = element(
    "p",
    "The printout has the first queries, and one query with its documents; the file has all.",
    class_="paper",
)
_NO_SCRIPT = "The table of queries needs scripts, which are not allowed here."
_OPENS = "Select a query to see its lists; you can share the link."


def queries(subject: Subject) -> Section:
    """Return the section with the table of queries, worst first; the script fills it in."""
    columns, indices = _columns(subject), shown_queries(subject)
    # A name may be that of two queries, such as 2 and "2", so rows end with the query's number.
    rows = zip(*(_plain(values, indices) for _, values in columns), indices.tolist(), strict=True)
    data: dict[str, Any] = {"queries": list(rows)}
    if (subject.query_ids != subject.query_names).any():
        data["ids"] = subject.query_ids[indices].tolist()
    names = [name for name, _ in columns]
    sorted_by = len(names) - 1 if subject.baseline_values else names.index(subject.main)
    first = "Largest losses first" if subject.baseline_values else "Worst first"
    note = f"{first}. {_OPENS}"
    if len(indices) < subject.groups.n_queries:
        note = f"{note} The first {_MOST:,} of {subject.groups.n_queries:,} queries."
    controls = element(
        "div",
        element("label", "Search queries", for_="search"),
        element("input", type="search", id="search", autocomplete="off"),
        element("button", "Previous page", type="button", id="previous-page"),
        element("button", "Next page", type="button", id="next-page"),
        element("output", id="page-status", role="status"),
        class_="controls",
    )
    empty = scrolling("Table of queries", _table(names, note, sorted_by))
    body = [element("noscript", element("p", _NO_SCRIPT)), controls, empty, _PAPER]
    return Section("queries", "Queries", joined(body), data)


def query_order(subject: Subject) -> np.ndarray:
    """Return all query numbers, worst first: by gain over the baseline, or by the metric."""
    values = subject.gaps if subject.baseline_values else subject.values[subject.main]
    return np.argsort(values, kind="stable")


def shown_queries(subject: Subject) -> np.ndarray:
    """Return the numbers of the queries in the table, worst first, at most ``_MOST``."""
    return query_order(subject)[:_MOST]


def _columns(subject: Subject) -> list[tuple[str, Any]]:
    """Return ``(name, values)`` of each column of the table of queries, one value per query."""
    groups, y = subject.groups, subject.y
    relevant = np.add.reduceat((y > 0)[groups.order].astype(np.int64), groups.indptr[:-1])
    columns = [("query", subject.query_names), ("documents", groups.sizes), ("relevant", relevant)]
    columns += list(subject.values.items())
    if subject.baseline_values:
        columns.append((f"baseline {subject.main}", subject.baseline_values[subject.main]))
        columns.append(("difference", subject.gaps))
    return columns


def _table(names: list[str], note: str, sorted_by: int) -> Markup:
    head = [
        element(
            "th",
            element("button", name, type="button"),
            scope="col",
            class_="number" if i else None,
            aria_sort="ascending" if i == sorted_by else None,
        )
        for i, name in enumerate(names)
    ]
    thead = element("thead", element("tr", *head))
    return element(
        "table", element("caption", note), thead, element("tbody"), id="table-of-queries"
    )


def _plain(values: np.ndarray, indices: np.ndarray) -> list[Any]:
    """Return the values at some indices as a list for JSON.

    Floats are rounded to 4 decimals, NaN becomes None; other values stay as they are.
    """
    chosen = values[indices].tolist()
    if values.dtype.kind != "f":
        return chosen
    return [None if value != value else round(value, 4) for value in chosen]
