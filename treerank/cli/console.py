"""Console: progress and complaints on stderr, tables on stdout.

On a terminal there are bars and colors (unless ``NO_COLOR`` is set); in a pipe or a file there
are plain lines, and tables are tab-separated.
"""

import csv
import sys

from rich.console import Console
from rich.table import Table

from treerank.progress_bar import make_console, progress_bar


def complain(message):
    """Print one line on stderr."""
    print(f"treerank: {message}", file=sys.stderr)


class Reporter:
    """Says on stderr how far the work has come.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to say nothing.
    """

    def __init__(self, quiet=False):
        self.console = make_console(quiet)

    def say(self, text):
        """Print a line."""
        self.console.print(text, markup=False)

    def counting(self, text, total=None):
        """Show a bar, or now and then a line; see :func:`treerank.progress_bar.progress_bar`."""
        return progress_bar(text, total, self.console)


def print_table(columns, rows, *, right=()):
    """Print rows of text on stdout.

    Parameters
    ----------
    columns : sequence of str
        Names.
    rows : iterable of sequence of str
        Cells.
    right : container of str, default=()
        Columns of numbers.
    """
    console = Console()
    if not console.is_terminal:
        writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
        writer.writerows([columns, *rows])
        return
    table = Table()
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
