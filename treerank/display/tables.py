"""Tables: small tables as text and as HTML, for shells and notebooks.

HTML has no colors of its own, so it follows the light or dark theme of the page around it.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from treerank.display.texts import clean, shortened

#: Largest number of rows, of columns, and of characters of a cell, a line and a name.
MOST_ROWS, _MOST_COLUMNS, _WIDEST_CELL, WIDTH, _LONGEST_NAME = 12, 8, 40, 100, 60
#: Largest number of lines of a text.
MOST_LINES = 25


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a sentence above it.

    Parameters
    ----------
    title : str
        What the table shows.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Cells; numbers are written with four digits.
    n_rows : int or None, default=None
        Number of rows of which the given ones are the first; None means that they are all.
    notes : sequence of str, default=()
        Sentences below the table.

    Examples
    --------
    >>> print(Table("Two of them.", ["name", "drop"], [["a", 0.123456], ["b", -1.0]]).text())
    Two of them.
    name     drop
    ----  -------
    a      0.1235
    b     -1.0000
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    n_rows: int | None = None
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return the table as lines of at most 100 columns."""
        header, rows, more = self._cells()
        cells = [header, *rows]
        is_number = [isinstance(value, _NUMBERS) for value in (self.rows or [()])[0]]
        is_number += [False] * (len(header) - len(is_number))
        lines = textwrap.wrap(clean(self.title), WIDTH)[:4]
        if header:
            widths = _narrowed([max(map(len, column)) for column in zip(*cells, strict=True)])
            columns = list(zip(widths, is_number, strict=True))
            drawn = ["  ".join(_aligned(row, columns)).rstrip() for row in cells]
            drawn.insert(1, "  ".join("-" * width for width in widths))
            lines += drawn
        lines += [more] * bool(more)
        for note in self.notes:
            lines += textwrap.wrap(clean(note), WIDTH)
        return cut(lines)

    def html(self) -> str:
        """Return the table as HTML with the sentence above it and the notes below."""
        header, rows, more = self._cells()
        parts = [f"<p>{escape(clean(self.title))}</p>"] if self.title else []
        if header:
            head = "".join(f"<th>{escape(name)}</th>" for name in header)
            body = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
            lines = "".join(f"<tr>{row}</tr>" for row in body)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>")
        parts += [f"<p>{escape(clean(note))}</p>" for note in [more, *self.notes] if note]
        return f"<div>{''.join(parts)}</div>"

    def _cells(self) -> tuple[list[str], list[list[str]], str]:
        """Return ``(header, rows, more)``: texts of the cells to show, and what is omitted.

        ``more`` is a sentence such as "… and 3 more rows", or "".
        """
        n_columns = _MOST_COLUMNS if len(self.header) > _MOST_COLUMNS else len(self.header)
        rows = [[_cell(value) for value in row[:n_columns]] for row in self.rows[:MOST_ROWS]]
        header = [shortened(name, _WIDEST_CELL) for name in self.header[:n_columns]]
        n_more = (len(self.rows) if self.n_rows is None else self.n_rows) - len(rows)
        left_out = [f"{n_more:,} more rows"] if n_more > 0 else []
        if len(self.header) > n_columns:
            left_out.append(f"{len(self.header) - n_columns:,} more columns")
        return header, rows, f"… and {' and '.join(left_out)}" if left_out else ""


_NUMBERS = (int, float, np.integer, np.floating)


def column_table(title: str, columns: Mapping[str, Any]) -> Table:
    """Return a table of the first rows of columns, by name; the shortest column ends it.

    Examples
    --------
    >>> print(column_table("Lists.", {"row": np.arange(2), "shown": ["a", "b"]}).text())
    Lists.
    row  shown
    ---  -----
      0  a
      1  b
    """
    n_rows = min(map(len, columns.values()), default=0)
    first = [list(column[:MOST_ROWS]) for column in columns.values()]
    return Table(title, [*columns], list(zip(*first, strict=True)), n_rows)


def cut(lines: Sequence[str]) -> str:
    """Return lines joined as text.

    Beyond :data:`MOST_LINES` lines, the last one counts the rest.
    """
    if len(lines) <= MOST_LINES:
        return "\n".join(lines)
    kept = lines[: MOST_LINES - 1]
    return "\n".join([*kept, f"… and {len(lines) - len(kept):,} more lines"])


def listed(names: Sequence[object], most: int = 3) -> str:
    """Return names as an enumeration, such as "a, b and c"; after ``most`` it counts the others.

    Examples
    --------
    >>> listed(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    texts = [shortened(name, _LONGEST_NAME) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(texts)} and {len(names) - most:,} more"
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)


def counted(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun; ``several`` is the plural, if it is not the noun with an s.

    Examples
    --------
    >>> counted(1, "query", "queries"), counted(2400, "query", "queries")
    ('1 query', '2,400 queries')
    """
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        number = float(value)
        is_plain = np.isfinite(number) and (number == 0 or 1e-4 <= abs(number) < 1e6)
        return f"{value:.4f}" if is_plain else f"{value:.3g}"
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(value)
    return shortened(value, _WIDEST_CELL)


def _aligned(row: Sequence[str], columns: Sequence[tuple[int, bool]]) -> list[str]:
    """Return cells padded to the widths of their columns, and shortened if they are longer.

    ``columns`` has ``(width, is_number)`` for each cell; numbers stand at the right, text at the
    left.
    """
    cells = [shortened(cell, width) for cell, (width, _) in zip(row, columns, strict=True)]
    return [
        f"{cell:>{width}}" if is_number else f"{cell:<{width}}"
        for cell, (width, is_number) in zip(cells, columns, strict=True)
    ]


def _narrowed(widths: list[int]) -> list[int]:
    """Return the widths of columns, cut so that the table fits a line; the widest are cut first."""
    widths = [*widths]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        widths[int(np.argmax(widths))] -= 1
    return widths
