"""Progress: a metric over the iterations of a fit, early stopping, and listeners to a fit.

A listener is a function that is called after every iteration of a fit. It is set around the fit,
see :func:`listening` and :func:`treerank.show_progress`, or given to it as one of ``callbacks``.

A metric is a function of scores. It may have a ``name``, and a ``description`` of its settings. One
that records more than the value that it returns has ``history``, a list with a row of values for
each call, and ``values(scores)``, which returns such a row and records nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, cast

import numpy as np

from treerank.checks import check_choice, check_signature, quote
from treerank.display.charts import Curve, Curves
from treerank.display.results import Shown
from treerank.display.tables import Table, counted
from treerank.parameters import Rule

#: The last value of each metric, by name, or a text.
Note = Mapping[str, float] | str
#: ``listener(n_done, n_total, note)``: iterations done, iterations in total or None, and a note.
#: A true return value ends the fit.
Listener = Callable[[int, int | None, Note], object]


def ignore_progress(n_done: int, n_total: int | None, note: Note) -> None:
    """Do nothing: the listener outside of any block."""


def ignore_text(text: str) -> None:
    """Discard a message on a fit; the default where no progress is shown."""


def together(listeners: Sequence[Listener]) -> Listener:
    """Return a listener that calls all of these; it ends the fit if any of them asks for it.

    Examples
    --------
    >>> stops_at_3 = together([ignore_progress, lambda n_done, n_total, note: n_done == 3])
    >>> [stops_at_3(n_done, 5, {}) for n_done in (2, 3)]
    [False, True]
    """

    def call(n_done: int, n_total: int | None, note: Note) -> bool:
        answers = [listener(n_done, n_total, note) for listener in listeners]
        return any(answers)

    return call


_LISTENER: ContextVar[Listener] = ContextVar("listener", default=ignore_progress)
_TELLER: ContextVar[Callable[[str], None]] = ContextVar("teller", default=ignore_text)


def current_listener() -> Listener:
    """Return the listener of the enclosing block, or one that does nothing."""
    return _LISTENER.get()


def say(text: str) -> None:
    """Send a message on the next fit to the progress display, if there is one."""
    _TELLER.get()(text)


def check_callbacks(name: str, callbacks: Any) -> None:
    """Refuse anything but a list of functions that can be called as a listener."""
    if not isinstance(callbacks, list | tuple) or not all(map(callable, callbacks)):
        raise TypeError(f"{name} must be a list of functions; got {quote(callbacks)}.")
    for number, callback in enumerate(callbacks):
        check_signature(f"{name}[{number}]", callback, "n_done", "n_total", "note")


#: Listeners to a single fit.
Callbacks = Annotated[Sequence[Listener], Rule(check_callbacks)]


@contextmanager
def listening(listener: Listener, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Call ``listener`` after each iteration of the fits inside the block.

    ``tell(text)`` receives messages on the next fit; with ``None`` they go to the enclosing block.

    Examples
    --------
    >>> with listening(lambda n_done, n_total, note: print(n_done, "of", n_total)):
    ...     _ = Progress(None, None, total=2).record(1)
    1 of 2
    """
    check_signature("listener", listener, "n_done", "n_total", "note")
    token, teller = _LISTENER.set(listener), _TELLER.set(tell or _TELLER.get())
    try:
        yield
    finally:
        _LISTENER.reset(token)
        _TELLER.reset(teller)


def patience_of(rounds: int | str | None, metric: Any, n_iterations: int) -> int | None:
    """Return after how many iterations without a better value a fit stops; None is never.

    "auto" is ``n_iterations`` with a metric, so that all are fitted and the best are kept.

    Examples
    --------
    >>> patience_of("auto", max, 50), patience_of("auto", None, 50), patience_of(3, max, 50)
    (50, None, 3)
    """
    if rounds == "auto":
        return None if metric is None else n_iterations
    return cast(int | None, rounds)


def name_of(metric: Any) -> str:
    """Return the name of a metric."""
    return str(getattr(metric, "name", getattr(metric, "__name__", "metric")))


def description_of(metric: Any) -> str:
    """Return the description of a metric, which tells it from others, or else its name."""
    return str(getattr(metric, "description", name_of(metric)))


def values_of(metric: Any, scores: np.ndarray) -> list[float]:
    """Return all values that a metric would record for scores, without recording them."""
    values: list[float] = metric.values(scores) if hasattr(metric, "values") else [metric(scores)]
    return list(map(float, values))


class LearningCurves(dict[str, dict[str, list[float]]], Shown):
    """Values of metrics over the iterations of a fit: a dict that plots itself.

    Its keys are the evaluation sets; each entry maps metrics to their values by iteration.

    Examples
    --------
    >>> curves = LearningCurves({"validation": {"ndcg@10": [0.5, 0.75, 0.625]}})
    >>> curves["validation"]["ndcg@10"][-1]
    0.625
    >>> curves
    Learning curves of 3 iterations.
    set         metric    first  highest  at iteration    last
    ----------  -------  ------  -------  ------------  ------
    validation  ndcg@10  0.5000   0.7500             2  0.6250
    """

    def chart(self, *, metric: str | None = None) -> Curves:
        """Return the learning curves, as :meth:`plot` shows them."""
        names = list(dict.fromkeys(name for curves in self.values() for name in curves))
        if metric is not None:
            check_choice("metric", metric, names)
        chosen_metrics = [name for name in names if metric in (None, name)]
        drawn = [
            Curve(
                part if len(chosen_metrics) == 1 else f"{name}, {part}",
                _steps(values),
                _floats(values),
            )
            for part, curves in self.items()
            for name, values in curves.items()
            if name in chosen_metrics
        ]
        y = chosen_metrics[0] if len(chosen_metrics) == 1 else "value of the metric"
        return Curves(tuple(drawn), x="iteration", y=y, has_points=False, title="Learning curves")

    def plot(self, ax: Any = None, *, metric: str | None = None) -> Any:
        """Plot the metrics by iteration; needs Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; ``None`` makes a figure.
        metric : str, default=None
            Name of a metric; ``None`` plots all.

        Returns
        -------
        matplotlib Axes
        """
        return self.chart(metric=metric).plot(ax)

    def _shown(self) -> Table | str:
        rows = [
            [part, name, values[0], max(values), int(np.argmax(values)) + 1, values[-1]]
            for part, curves in self.items()
            for name, values in curves.items()
            if values
        ]
        if not rows:
            return "No learning curves: the fit had no eval_set, or took a single step."
        longest = max(len(v) for curves in self.values() for v in curves.values())
        title = f"Learning curves of {counted(longest, 'iteration')}."
        return Table(title, ["set", "metric", "first", "highest", "at iteration", "last"], rows)

    __repr__ = Shown.__repr__


def _steps(values: Sequence[float]) -> np.ndarray:
    return np.arange(1, len(values) + 1)


def _floats(values: Sequence[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def number_of(metric: Callable[[np.ndarray], Any], scores: np.ndarray) -> float:
    """Return the metric of scores, by which models are compared; refuse NaN.

    Examples
    --------
    >>> number_of(max, np.array([1.0, 2.0]))
    2.0
    """
    value = float(metric(scores))
    if np.isnan(value):
        name = name_of(metric)
        raise ValueError(f"metric {quote(name)} must return a number; got {quote(value)}.")
    return value


class Progress:
    """Values of a metric over iterations, higher better, with early stopping.

    Parameters
    ----------
    metric : callable or None
        ``metric(scores) -> float``; ``None`` records nothing. Its ``name`` or ``__name__`` is its
        name in the history.
    early_stopping_rounds : int or None
        Stop after this number of iterations without a better value; ``None`` never stops.
    start : int, default=0
        Iterations of earlier fits, which this fit continues.
    total : int, default=None
        Largest number of iterations, earlier fits included.
    saver : callable, default=None
        Called as ``saver(iteration, dump, progress)`` after each iteration but one that ends the
        fit early.
    newest : float, default=1.0
        Share of the newest value in the smoothed curve whose highest point is the best iteration;
        1 does not smooth. Values of few queries jump, and their highest point is often chance.

    Examples
    --------
    >>> progress = Progress(max, early_stopping_rounds=2, start=10)
    >>> [progress.measure([s]) and progress.record(t) for t, s in enumerate([1, 3, 2, 3], 11)]
    [False, False, False, True]
    >>> progress.best_iteration
    12
    """

    def __init__(
        self,
        metric: Callable[[np.ndarray], Any] | None,
        early_stopping_rounds: int | None,
        start: int = 0,
        total: int | None = None,
        saver: Any = None,
        newest: float = 1.0,
    ):
        if metric is not None:
            check_signature("metric", metric, "scores")
        self.saver = saver
        self.metric, self.early_stopping_rounds, self.total = metric, early_stopping_rounds, total
        self.earlier: list[float] = []
        self.values: list[float] = []
        self.newest, self._level = newest, np.nan
        self._best_level, self.best_iteration = -np.inf, start
        self.n_done, self.n_without_split = start, 0

    @property
    def name(self) -> str:
        """Name of the metric."""
        return name_of(self.metric)

    def measure(self, scores: Any) -> float:
        """Compute the metric of scores; they are copied, because engines reuse their buffers."""
        assert self.metric is not None
        value = number_of(self.metric, np.array(scores, dtype=np.float64))
        self.values.append(value)
        return value

    def record(self, iteration: int, dump: Callable[[], Any] = dict) -> bool:
        """Record that ``iteration`` iterations are done; return whether the fit should stop.

        ``dump`` returns the model as plain values, to be saved. If ``iteration`` is the same as in
        the previous call, the engine has discarded a tree without a split, and the value measured
        after it is discarded, too.
        """
        if iteration == self.n_done:
            return self._record_nothing(iteration)
        self.n_done = iteration
        stops = bool(current_listener()(iteration, self.total, self._latest()))
        if self.values:
            self.note(self.values[-1], iteration)
            rounds = self.early_stopping_rounds
            stops |= rounds is not None and iteration - self.best_iteration >= rounds
        if self.saver is not None and not stops:  # else the same fit would go on beyond its end
            self.saver(iteration, dump, self)
        return stops

    def _latest(self) -> dict[str, float]:
        """Return the last values by name, the first of which decides when to stop."""
        if not self.values:
            return {}
        return {self.name: self.values[-1]} | getattr(self.metric, "latest", {})

    def _record_nothing(self, iteration: int) -> bool:
        """Drop the last value, of an iteration that added no split.

        Return whether a listener stops.
        """
        self.n_without_split += 1
        if self.values:
            self._forget()
        return bool(current_listener()(iteration, self.total, self._latest()))

    def _forget(self) -> float:
        """Drop the value that was measured last, and return it."""
        if history := getattr(self.metric, "history", None):
            history.pop()
        return self.values.pop()

    def continue_after(
        self, earlier: Sequence[float], scores: np.ndarray, *, comparable: bool = True
    ) -> None:
        """Take over the values of the last iterations before ``start``, and compare with these.

        ``scores`` are those of the earlier model. If their value is not the last of ``earlier``,
        these were measured on other documents: new values are then compared with this one alone,
        and so they are without ``comparable``.
        """
        self.measure(scores)
        value, start, self.earlier = self._forget(), self.n_done, [*earlier]
        values = self.earlier if comparable and self.earlier[-1:] == [value] else [value]
        for iteration, each in enumerate(values, start + 1 - len(values)):
            self.note(each, iteration)

    def state(self) -> dict[str, Any]:
        """Return what :meth:`resume` takes: values, rows of history, number of empty iterations."""
        history: list[list[float]] = getattr(self.metric, "history", None) or []
        return {
            "values": self.values,
            "rows": history[len(history) - len(self.values) :],
            "n_without_split": self.n_without_split,
        }

    def resume(self, state: Mapping[str, Any], n_done: int) -> None:
        """Take over the ``state`` of an interrupted fit, whose model has ``n_done`` iterations."""
        for iteration, value in enumerate(state["values"], self.n_done + 1):
            self.values.append(value)
            self.note(value, iteration)
        self.n_done = n_done
        self.n_without_split = state["n_without_split"]
        if state["rows"]:
            cast(Any, self.metric).history.extend(state["rows"])

    def note(self, value: float, iteration: int) -> None:
        """Update the smoothed value, and the best iteration if it is the highest so far."""
        before = value if np.isnan(self._level) else self._level
        self._level = before + self.newest * (value - before)
        if self._level > self._best_level:
            self._best_level, self.best_iteration = self._level, iteration

    def kept(self) -> int | None:
        """Return the number of iterations to keep: up to the best with early stopping, or ``None``.

        ``None`` is all of them.
        """
        stops = self.metric is not None and self.early_stopping_rounds is not None
        return self.best_iteration if stops else None

    def history(self) -> LearningCurves:
        """Return the values as ``evals_result_`` has them, after those of earlier fits."""
        recorded = {"validation": {self.name: self.earlier + self.values}}
        return LearningCurves({} if self.metric is None else recorded)
