"""Layouts: a table in text, Markdown, LaTeX and HTML.

A layout takes anything with ``header``, ``rows`` of text, ``best`` places and ``notes``. To add
one, write the function and list it in ``LAYOUTS``.
"""

import html

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


def text_table(table):
    """Align the columns; names to the left, numbers to the right of their marks."""
    rows = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, "", *table.notes])


def markdown_table(table):
    """Bold is best."""
    rows = [
        [_marked_down(cell, (i, j) in table.best) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    header = [_marked_down(cell) for cell in table.header]
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [f"| {' | '.join(row)} |" for row in [header, rule, *rows]]
    notes = [f"* {note}" for note in table.notes]
    return "\n".join([*lines, "", *notes])


def latex_table(table):
    """Bold is best; notes are comments above it."""
    rows = [
        [_in_latex(cell, (i, j) in table.best) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    lines = [" & ".join(row) + r" \\" for row in [[_in_latex(c) for c in table.header], *rows]]
    lines.insert(1, r"\hline")
    columns = "l" + "r" * (len(table.header) - 1)
    notes = [f"% {line}" for note in table.notes for line in note.splitlines()]
    return "\n".join([*notes, rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}"])


def html_table(table):
    """Bold is best; notes are the caption."""
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


LAYOUTS = {
    "text": text_table,
    "markdown": markdown_table,
    "latex": latex_table,
    "html": html_table,
}

#: Layout by the ending of a file's name.
SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}


def _marked_down(cell, bold=False):
    for character in "\\|_*`<[":
        cell = cell.replace(character, "\\" + character)
    return f"**{cell}**" if bold else cell


def _in_latex(cell, bold=False):
    cell = "".join(_LATEX.get(character, character) for character in cell)
    return rf"\textbf{{{cell}}}" if bold else cell
