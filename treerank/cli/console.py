"""Console: progress and complaints on stderr, tables on stdout.

On a terminal there are bars and colours (unless ``NO_COLOR`` is set); in a pipe or a file there
are plain lines, and tables are tab-separated.
"""

import csv
import sys
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

#: Lines about one training in a pipe.
LINES = 5


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
        # Wrapping at the width of a terminal would break lines in a pipe.
        self.console = Console(stderr=True, quiet=quiet, soft_wrap=True, highlight=False)

    def say(self, text):
        """Print a line."""
        self.console.print(text, markup=False)

    @contextmanager
    def counting(self, text, total=None):
        """Show a bar, or now and then a line.

        Parameters
        ----------
        text : str
            What is being done.
        total : int, default=None
            Steps; ``None`` if nobody will count them.

        Yields
        ------
        callable
            To be told the number of steps done and, if there is something to say, a note.
        """
        if not self.console.is_terminal:
            self.say(text)
            yield self._lines(total)
            return
        columns = [TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()]
        columns += [MofNCompleteColumn()] if total else []
        columns += [TextColumn("{task.fields[note]}", markup=False)]
        with Progress(*columns, console=self.console, disable=self.console.quiet) as bars:
            bar = bars.add_task(text, total=total, note="")
            yield lambda done, note="": bars.update(bar, completed=done, note=note)
            bars.update(bar, total=bars.tasks[0].completed or 1)
            bars.update(bar, completed=bars.tasks[0].total)

    def _lines(self, total):
        every = max((total or 1) // LINES, 1)

        def show(done, note=""):
            if done % every == 0 and done > 0:
                self.say(f"  {done}/{total}  {note}".rstrip())

        return show


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
