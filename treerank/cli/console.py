"""Console: progress on stderr, tables on stdout.

On a terminal there are bars and colors (unless ``NO_COLOR`` is set). In a pipe or a file there are
plain lines, and tables are tab-separated.
"""

import csv
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from treerank.evaluation.layouts import aligned
from treerank.progress_bar import make_console, progress_bar


class Step:
    """A part of the work of a command, whose bar moves when it is called.

    Attributes
    ----------
    done : str
        What is said at its end, with its time; nothing where it is empty.
    """

    def __init__(self, move: Any) -> None:
        self._move, self.done = move, ""

    def __call__(self, n_done: int, n_total: int | None, note: Any) -> None:
        """Show the progress."""
        self._move(n_done, n_total, note)


class Reporter:
    """Shows on stderr what a command does, or nothing if it shall be quiet."""

    def __init__(self, quiet: bool = False):
        self.console = make_console(quiet)

    def say(self, text: str) -> None:
        """Print a message."""
        self.console.print(text, markup=False)

    def tell(self, text: str) -> None:
        """Print a message on the current step."""
        self.say(f"  {text}")

    @contextmanager
    def step(self, doing: str, *, brief: bool = True) -> Iterator[Step]:
        """Show a progress bar during a step, and then a message on the result, with its time.

        Work that is not ``brief`` is announced in pipes, too, and its bar stays.
        """
        began = time.perf_counter()
        with progress_bar(doing, self.console, brief=brief) as move:
            step = Step(move)
            yield step
        if step.done:
            self.say(f"{step.done}, {duration(time.perf_counter() - began)}")


def duration(seconds: float) -> str:
    """Return a time as text.

    Examples
    --------
    >>> duration(0.36), duration(36.4), duration(185)
    ('0.4 s', '36 s', '3 min 5 s')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, remaining_seconds = divmod(round(seconds), 60)
    return f"{minutes} min {remaining_seconds} s" if minutes else f"{remaining_seconds} s"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of text on stdout."""
    if Console().is_terminal:
        print(*aligned([columns, *rows]), sep="\n")
    else:
        csv.writer(sys.stdout, delimiter="\t", lineterminator="\n").writerows([columns, *rows])
