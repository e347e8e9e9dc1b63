"""Layouts: a summary as text, Markdown, LaTeX or HTML.

A layout reads the ``header``, the ``rows`` of text, the ``best`` places and the ``notes`` of a
summary. To add a layout, write the function and list it in ``LAYOUTS`` and ``SUFFIXES``.
"""

import html
from collections.abc import Callable
from typing import Any

#: LaTeX for characters that have a meaning in it, or that it lacks.
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def text_table(table: Any) -> str:
    """Return a table of aligned columns, with the notes below."""
    rows = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, "", *table.notes])


def markdown_table(table: Any) -> str:
    """Return a Markdown table; the best values are bold, the notes are a list below."""
    rows = [
        [_as_markdown(cell, (i, j) in table.best) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    header = [_as_markdown(cell) for cell in table.header]
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [f"| {' | '.join(row)} |" for row in [header, rule, *rows]]
    notes = [f"* {note}" for note in table.notes]
    return "\n".join([*lines, "", *notes])


def latex_table(table: Any) -> str:
    """Return a LaTeX tabular; the best values are bold, the notes are comments above."""
    rows = [
        [_as_latex(cell, (i, j) in table.best) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    lines = [" & ".join(row) + r" \\" for row in [[_as_latex(c) for c in table.header], *rows]]
    lines.insert(1, r"\hline")
    columns = "l" + "r" * (len(table.header) - 1)
    notes = [f"% {line}" for note in table.notes for line in note.splitlines()]
    return "\n".join([*notes, rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}"])


def html_table(table: Any) -> str:
    """Return an HTML table; the best values are bold, the notes are the caption."""
    caption = "<br>".join(html.escape(note) for note in table.notes)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    lines = [f"<caption>{caption}</caption>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for i, row in enumerate(table.rows):
        cells = [
            f"<td><b>{html.escape(cell)}</b></td>"
            if (i, j) in table.best
            else f"<td>{html.escape(cell)}</td>"
            for j, cell in enumerate(row)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join(["<table>", *lines, "</tbody>", "</table>"])


LAYOUTS: dict[str, Callable[[Any], str]] = {
    "text": text_table,
    "markdown": markdown_table,
    "latex": latex_table,
    "html": html_table,
}

#: Name of the layout, by the suffix of a file name.
SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}


def _as_markdown(cell: str, bold: bool = False) -> str:
    """Return a cell whose characters have no meaning in Markdown."""
    for character in "\\|_*`<[":
        cell = cell.replace(character, "\\" + character)
    return f"**{cell}**" if bold else cell


def _as_latex(cell: str, bold: bool = False) -> str:
    """Return a cell whose characters have no meaning in LaTeX."""
    cell = "".join(_LATEX.get(character, character) for character in cell)
    return rf"\textbf{{{cell}}}" if bold else cell
