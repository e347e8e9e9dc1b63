"""Progress bars: how far long work has come, on stderr; now and then a line in a pipe."""

from contextlib import contextmanager

from numba.core import event

from treerank.progress import listening

#: Lines about one training in a pipe.
LINES = 5
COMPILING = "compiling"


@contextmanager
def show_progress(text="fitting"):
    """Show how far the fits inside have come.

    Trees, epochs, rounds or generations are counted, and the metric on the ``eval_set``, if there
    is one, is shown beside them. Fits in other processes are not seen.

    Parameters
    ----------
    text : str, default="fitting"
        What is being done.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank import TreeDirectRanker, show_progress
    >>> X, y, qid = np.arange(100.0)[:, None], np.arange(100) % 2, np.arange(100) // 20
    >>> with show_progress("growing trees"):
    ...     ranker = TreeDirectRanker().fit(X, y, qid)
    """
    with progress_bar(text) as show, listening(show):
        yield


@contextmanager
def progress_bar(text, total=None, console=None):
    """Show a bar on a terminal, or lines elsewhere.

    Parameters
    ----------
    text : str
        What is being done.
    total : int, default=None
        Steps; ``None`` if nobody will count them, or only who shows them knows.
    console : rich.console.Console, default=None
        Where; ``None`` is stderr.

    Yields
    ------
    callable
        To be told the number of steps done and, if they are known, their total and a note.
    """
    console = make_console() if console is None else console
    if console.is_terminal:
        with _bar(text, total, console) as show:
            yield show
        return
    console.print(text, markup=False)
    yield _lines(total, console)


def make_console(quiet=False):
    """Return a console on stderr."""
    from rich.console import Console

    # Wrapping at the width of a terminal would break lines in a pipe.
    return Console(stderr=True, quiet=quiet, soft_wrap=True, highlight=False)


@contextmanager
def _bar(text, total, console):
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    texts = [
        TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[note]")
    ]
    columns = texts[0], BarColumn(), TimeElapsedColumn(), texts[1]
    with Progress(*columns, console=console, disable=console.quiet) as bars:
        bar = bars.add_task(text, total=total, note="")

        def show(done, total=total, note=""):
            bars.update(bar, completed=done, total=total, note=_counted(done, total, note))

        def annotate(note):
            before = bars.tasks[0].fields["note"]
            bars.update(bar, note=note, refresh=True)
            return before

        with event.install_listener("numba:compile", Compiling(annotate)):
            yield show
        bars.update(bar, total=bars.tasks[0].completed or 1)
        bars.update(bar, completed=bars.tasks[0].total)


class Compiling(event.Listener):
    """Whoever says that numba is compiling, as at the first fit ever, and takes it back."""

    def __init__(self, annotate):
        self.annotate, self.depth, self.before = annotate, 0, ""

    def on_start(self, event):
        """Say so, unless it is for a kernel that is being compiled."""
        if self.depth == 0:
            self.before = self.annotate(COMPILING)
        self.depth += 1

    def on_end(self, event):
        """Say again what was said before."""
        self.depth -= 1
        if self.depth == 0:
            self.annotate(self.before)


def _lines(total, console):
    def show(done, total=total, note=""):
        every = max((total or 1) // LINES, 1)
        if done % every == 0 and done > 0:
            console.print(f"  {_counted(done, total, note)}", markup=False)

    return show


def _counted(done, total, note):
    return f"{done}/{total}  {note}".rstrip() if total else f"{done}  {note}".rstrip()
