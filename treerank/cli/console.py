"""Console: progress on stderr, tables on stdout.

On a terminal there are bars and colors (unless ``NO_COLOR`` is set). In a pipe or a file there are
plain lines, and tables are tab-separated.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from rich.console import Console

from treerank.evaluation.layouts import aligned
from treerank.progress import Listener
from treerank.progress_bar import make_console, progress_bar


class Reporter:
    """Shows on stderr what a command does, or nothing if it shall be quiet."""

    def __init__(self, quiet: bool = False):
        self.console = make_console(quiet)

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, markup=False)

    def tell(self, text: str) -> None:
        """Print a line on the work at hand."""
        self.say(f"  {text}")

    def counting(self, text: str) -> AbstractContextManager[Listener]:
        """Show a bar on a terminal, or a few lines; see :mod:`treerank.progress_bar`."""
        return progress_bar(text, self.console)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of text on stdout."""
    if Console().is_terminal:
        print(*aligned([columns, *rows]), sep="\n")
    else:
        csv.writer(sys.stdout, delimiter="\t", lineterminator="\n").writerows([columns, *rows])
