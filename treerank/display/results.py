"""Results: values that show themselves in a shell as text, and in a notebook as HTML."""

import textwrap
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from treerank.display.tables import MOST_LINES, WIDTH, Table, column_table, counted, cut
from treerank.display.texts import clean, shortened

#: Largest number of characters of a line in a notebook, where lines wrap.
_LONGEST = 1000


class Shown:
    """Base class of results that show themselves as a sentence or as a small table.

    A subclass returns the sentence or the table from ``_shown``; dataclasses need ``repr=False``.

    Examples
    --------
    >>> class Answer(Shown):
    ...     def _shown(self):
    ...         return "It is <42>."
    >>> Answer(), Answer()._repr_html_()
    (It is <42>., '<p>It is &lt;42&gt;.</p>')
    """

    def _shown(self) -> Table | str:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return at most 25 lines of 100 columns."""
        return text_of(self._shown())

    def _repr_html_(self) -> str | None:
        """Return a small table, or a sentence, for notebooks."""
        return html_of(self._shown())


def text_of(content: Table | str) -> str:
    r"""Return a table or sentences as lines of at most 100 columns.

    Examples
    --------
    >>> text_of("One.\nTwo.")
    'One.\nTwo.'
    """
    if isinstance(content, Table):
        return content.text()
    wrapped = (textwrap.wrap(clean(line), WIDTH) for line in content.splitlines())
    return cut([part for parts in wrapped for part in parts])


def html_of(content: Table | str) -> str:
    """Return a table or sentences as HTML.

    Examples
    --------
    >>> html_of("a < b")
    '<p>a &lt; b</p>'
    """
    if isinstance(content, Table):
        return content.html()
    lines = [escape(shortened(line, _LONGEST)) for line in content.splitlines()[:MOST_LINES]]
    return f"<p>{'<br>'.join(lines)}</p>"


class ColumnTable(dict[str, np.ndarray], Shown):
    """A dict from names to columns of equal length, which shows its first rows as a table.

    ``pandas.DataFrame(table)`` makes a data frame of it.

    Examples
    --------
    >>> ColumnTable(query=np.array([7, 8]), value=np.array([0.5, 0.25]))
    2 rows.
    query   value
    -----  ------
        7  0.5000
        8  0.2500
    """

    def _shown(self) -> Table:
        n_rows = min(map(len, self.values()), default=0)
        return column_table(f"{counted(n_rows, 'row')}.", self)

    __repr__ = Shown.__repr__


def shown_by_columns(title: str, columns: Mapping[str, Any]) -> Table:
    """Return a table of the first rows of columns, by name; columns that are None are left out.

    Examples
    --------
    >>> print(text_of(shown_by_columns("One.", {"row": [3], "weight": None})))
    One.
    row
    ---
      3
    """
    return column_table(title, {name: c for name, c in columns.items() if c is not None})
