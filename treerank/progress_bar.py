"""Progress bars: a bar on a terminal, one line that updates in a notebook, or a few lines in a pipe
or file, on stderr.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any

from treerank.display.texts import clean, shortened
from treerank.numerics.compiling import while_compiling
from treerank.parameters import check_arguments
from treerank.progress import Listener, Note, listening

if TYPE_CHECKING:
    from rich.console import Console

#: Approximate number of lines that show the progress of one fit in a pipe.
N_LINES = 5
#: Text that is shown while a kernel is compiled, which happens once per installation.
COMPILING = "compiling, once for this installation"
#: Width of a bar in characters, and of all beside it except its two texts.
_BAR, _BESIDE = 20, 31
#: Least width of a text, and least seconds between two updates in a notebook.
_LEAST_WIDTH, _LEAST_SECONDS = 10, 0.1


@check_arguments
@contextmanager
def show_progress(text: str = "fitting") -> Iterator[None]:
    """Show the progress of the fits inside the block.

    The display counts trees, epochs, rounds or generations, and shows the last value of the metric
    on the ``eval_set``. Messages name the hyperparameters of trees that were chosen from the
    data, and the number of iterations that the ``eval_set`` keeps. Fits in other processes are only
    shown for :func:`treerank.distributed.fit`.

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
    with progress_bar(text, console) as show:
        tell = show.tell if isinstance(show, _NotebookLine) else _printing(console)
        with listening(show, tell):
            yield


@contextmanager
def progress_bar(
    text: str, console: "Console | None" = None, *, brief: bool = False
) -> Iterator[Listener]:
    """Show a bar on a terminal, one line in a notebook, or lines elsewhere; yield its listener.

    Work that is ``brief`` leaves nothing on a terminal, and elsewhere is not announced.
    ``console=None`` is stderr.
    """
    console = make_console() if console is None else console
    if console.is_terminal:
        with _bar(text, console, brief) as show:
            yield show
        return
    if console.is_jupyter and not console.quiet:
        line = _NotebookLine(text)
        with while_compiling(line.compiling):
            yield line
        line.finish(keep=not brief)
        return
    if not brief:
        console.print(text, markup=False)
    lines = _Lines(console)
    with while_compiling(lines.compiling):
        yield lines


def make_console(quiet: bool = False) -> "Console":
    """Return a console on stderr that does not break lines."""
    from rich.console import Console

    return Console(stderr=True, quiet=quiet, soft_wrap=True, highlight=False)


@contextmanager
def _bar(text, console, brief):
    """Show a progress bar within the block; yield the listener that moves it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    texts = [
        TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[note]")
    ]
    columns = texts[0], BarColumn(bar_width=_BAR), TimeElapsedColumn(), texts[1]
    with Progress(*columns, console=console, disable=console.quiet, transient=brief) as bars:
        bar = bars.add_task(
            shortened(text, max(console.width // 2 - _BESIDE // 2, _LEAST_WIDTH)),
            total=None,
            note="",
        )

        def note_that(note):
            room = console.width - _BESIDE - len(bars.tasks[0].description)
            bars.update(bar, note=shortened(note, max(room, _LEAST_WIDTH)))

        def show(n_done, n_total, note):
            bars.update(bar, completed=n_done, total=n_total)
            note_that(_counted(n_done, n_total, note))

        with while_compiling(lambda is_compiling: note_that(COMPILING if is_compiling else "")):
            yield show
        bars.update(bar, total=bars.tasks[0].completed or 1)
        bars.update(bar, completed=bars.tasks[0].total)


def _printing(console: "Console") -> Callable[[str], None]:
    """Return a function that prints a message, indented, on the console."""
    return lambda line: console.print(f"  {line}", markup=False)


class _NotebookLine:
    """Progress in a notebook: one line of output, updated at most ten times a second."""

    def __init__(self, text: str) -> None:
        from IPython.display import display  # a notebook has it

        self.text, self.message, self.note, self.compiling_note = text, "", "", ""
        self.start = self.last = monotonic()
        self.handle: Any = display(self._content(), raw=True, display_id=True)

    def __call__(self, n_done: int, n_total: int | None, note: Note) -> None:
        self.note = _counted(n_done, n_total, note)
        if monotonic() - self.last > _LEAST_SECONDS:
            self._update()

    def tell(self, line: str) -> None:
        """Show a message behind the progress."""
        self.message = line
        self._update()

    def compiling(self, is_compiling: bool) -> None:
        """Show a note while a kernel is being compiled."""
        self.compiling_note = COMPILING if is_compiling else ""
        self._update()

    def finish(self, keep: bool) -> None:
        """Show the last counts and the time, or clear the output after brief work."""
        if keep:
            self._update()
        else:
            self._show({"text/plain": "", "text/html": ""})

    def _update(self) -> None:
        self.last = monotonic()
        self._show(self._content())

    def _show(self, content: dict[str, str]) -> None:
        if self.handle is not None:  # there is none where IPython has no notebook
            self.handle.update(content, raw=True)

    def _content(self) -> dict[str, str]:
        """Return the line as a MIME bundle: a dict with plain text and HTML."""
        seconds = f"{monotonic() - self.start:.1f} s"
        parts = [self.text, self.note, seconds, self.compiling_note, self.message]
        line = "  ".join(filter(None, parts))
        html = f"<code>{escape(clean(line))}</code>"
        return {"text/plain": clean(line), "text/html": html}


class _Lines:
    """Prints the progress at every fifth of the work, and at most one note on compiling."""

    def __init__(self, console):
        self.console, self.has_compiled = console, False

    def __call__(self, n_done, n_total, note):
        every = max((n_total or 1) // N_LINES, 1)
        if n_done % every == 0 and n_done > 0:
            self.console.print(f"  {_counted(n_done, n_total, note)}", markup=False)

    def compiling(self, is_compiling):
        if is_compiling and not self.has_compiled:
            self.has_compiled = True
            self.console.print(f"  {COMPILING}", markup=False)


def _counted(n_done, n_total, note):
    if not isinstance(note, str):
        note = ", ".join(f"{name} {value:.4f}" for name, value in note.items())
    return f"{n_done}/{n_total}  {note}".rstrip() if n_total else f"{n_done}  {note}".rstrip()
