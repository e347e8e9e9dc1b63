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
    """A step of a command; calling it moves its progress bar.

    Attributes
    ----------
    done : str
        Message to print at the end, with the time taken; none where it is empty.
    """

    def __init__(self, move: Any) -> None:
        self._move, self.done = move, ""

    def __call__(self, n_done: int, n_total: int | None, note: Any) -> None:
        """Move the bar to ``n_done`` of ``n_total``, None if unknown, with a note beside it."""
        self._move(n_done, n_total, note)


class Reporter:
    """Prints on stderr what a command does; with ``quiet``, nothing."""

    def __init__(self, quiet: bool = False):
        self.console = make_console(quiet)

    def say(self, text: str) -> None:
        """Print a message."""
        self.console.print(text, markup=False)

    def tell(self, text: str) -> None:
        """Print a message on the current step, indented."""
        self.say(f"  {text}")

    @contextmanager
    def step(self, doing: str, *, brief: bool = True) -> Iterator[Step]:
        """Show a progress bar within the block; print the step's ``done`` and the time at its end.

        ``doing`` is what the bar says. A step that may take long, ``brief=False``, is announced
        even where stderr is no terminal, and its bar stays.
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
    """Print a table of text on stdout: aligned in a terminal, tab-separated elsewhere."""
    if Console().is_terminal:
        print(*aligned([columns, *rows]), sep="\n")
    else:
        csv.writer(sys.stdout, delimiter="\t", lineterminator="\n").writerows([columns, *rows])
