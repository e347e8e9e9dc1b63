"""Layouts: a summary as text, Markdown or HTML.

A layout reads the ``header``, the ``rows`` and the ``notes`` of a summary. To add one,
write the function and list it in ``LAYOUTS``.
"""

import html
import re
from collections.abc import Sequence
from typing import Any

from treerank.display.texts import clean


def text_table(table: Any) -> str:
    """Return a table of aligned columns, with the notes below."""
    rows = table.rows(lambda cell, is_best: cell)
    return "\n".join([*aligned([table.header, *rows]), "", *table.notes])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of text as lines with aligned columns; the first is a header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def markdown_table(table: Any) -> str:
    """Return a Markdown table; the best values are bold, the notes are a list below."""
    header = [_as_markdown(cell) for cell in table.header]
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [f"| {' | '.join(row)} |" for row in [header, rule, *table.rows(_as_markdown)]]
    notes = [f"* {note}" for note in table.notes]
    return "\n".join([*lines, "", *notes])


def html_table(table: Any) -> str:
    """Return an HTML table with the notes below; the best values are bold."""
    head = "".join(f"<th>{html.escape(clean(cell))}</th>" for cell in table.header)
    lines = ["<div>", "<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    lines += [f"<tr>{''.join(row)}</tr>" for row in table.rows(_as_html)]
    notes = "<br>".join(html.escape(clean(note)) for note in table.notes)
    return "\n".join([*lines, "</tbody>", "</table>", f"<p>{notes}</p>", "</div>"])


#: Layouts by the suffix of a file name.
LAYOUTS = {".txt": text_table, ".md": markdown_table, ".html": html_table}


def _as_markdown(cell: str, bold: bool = False) -> str:
    """Return a cell with the special characters of Markdown escaped."""
    cell = re.sub(r"[\\|_*`<[]", r"\\\g<0>", cell)
    return f"**{cell}**" if bold else cell


def _as_html(cell: str, bold: bool) -> str:
    """Return a cell of an HTML table."""
    cell = html.escape(clean(cell))
    return f"<td><b>{cell}</b></td>" if bold else f"<td>{cell}</td>"
