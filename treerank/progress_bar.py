"""Progress bars: a bar on a terminal, or a few lines in a pipe or file, on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treerank.progress import Listener, listening

if TYPE_CHECKING:
    from rich.console import Console

#: About so many lines show the progress of one fit in a pipe.
N_LINES = 5
#: What a bar says before the first step.
FIRST = "the first use of an installation also compiles"


@contextmanager
def show_progress(text: str = "fitting") -> Iterator[None]:
    """Show the progress of the fits inside the block.

    The trees, epochs, rounds or generations are counted. A line says which sizes trees have that
    were left to the data, and another how many are kept by an ``eval_set``, of whose metric the
    last value is shown. Of fits in other processes, only those of
    :func:`treerank.distributed.fit` are shown.

    Parameters
    ----------
    text : str, default="fitting"
        Name of the work.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank import TreeDirectRanker, show_progress
    >>> X, y, qid = np.arange(100.0)[:, None], np.arange(100) % 2, np.arange(100) // 20
    >>> with show_progress("growing trees"):
    ...     ranker = TreeDirectRanker().fit(X, y, qid)
    """
    console = make_console()

    def tell(line: str) -> None:
        console.print(f"  {line}", markup=False)

    with progress_bar(text, console) as show, listening(show, tell):
        yield


@contextmanager
def progress_bar(text: str, console: "Console | None" = None) -> Iterator[Listener]:
    """Show a bar for some work on a terminal, or lines elsewhere; yield what moves it."""
    console = make_console() if console is None else console
    if console.is_terminal:
        with _bar(text, console) as show:
            yield show
        return
    console.print(text, markup=False)
    yield _lines(console)


def make_console(quiet: bool = False) -> "Console":
    """Return a console on stderr that does not break lines."""
    from rich.console import Console

    return Console(stderr=True, quiet=quiet, soft_wrap=True, highlight=False)


@contextmanager
def _bar(text, console):
    """Show a bar; yield the function that moves it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    texts = [
        TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[note]")
    ]
    columns = texts[0], BarColumn(), TimeElapsedColumn(), texts[1]
    with Progress(*columns, console=console, disable=console.quiet) as bars:
        bar = bars.add_task(text, total=None, note=FIRST)

        def show(n_done, n_total, note):
            bars.update(bar, completed=n_done, total=n_total, note=_counted(n_done, n_total, note))

        yield show
        bars.update(bar, total=bars.tasks[0].completed or 1)
        bars.update(bar, completed=bars.tasks[0].total)


def _lines(console):
    """Return a function that prints a line at every fifth of the work."""

    def show(n_done, n_total, note):
        every = max((n_total or 1) // N_LINES, 1)
        if n_done % every == 0 and n_done > 0:
            console.print(f"  {_counted(n_done, n_total, note)}", markup=False)

    return show


def _counted(n_done, n_total, note):
    if not isinstance(note, str):
        note = ", ".join(f"{name} {value:.4f}" for name, value in note.items())
    return f"{n_done}/{n_total}  {note}".rstrip() if n_total else f"{n_done}  {note}".rstrip()
