"""Progress: what a metric says of held-out scores after every step, and whether to go on.

Whoever wants to know how far a fit has come listens, from around it, and needs no parameter of
the ranker for that: see :func:`listening`, or :func:`treerank.show_progress` for a bar.
"""

from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np


def nobody(done, total, note):
    """Do not listen."""


_LISTENER: ContextVar = ContextVar("listener", default=nobody)


def listener():
    """Return who listens now."""
    return _LISTENER.get()


@contextmanager
def listening(someone):
    """Let ``someone(done, total, note)`` be told of each iteration of the fits inside.

    ``total`` is how many there may be, or ``None``; ``note`` is the last value of the metric on
    the ``eval_set``, as text.

    Examples
    --------
    >>> with listening(lambda *told: print(told)):
    ...     _ = Progress(None, None, total=2).record(1)
    (1, 2, '')
    """
    token = _LISTENER.set(someone)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Progress:
    """Record of a metric over iterations, higher better, with early stopping.

    Parameters
    ----------
    metric : callable or None
        ``metric(scores) -> float``; ``None`` records nothing. Its ``name`` or ``__name__`` goes
        into the history.
    rounds : int or None
        Stop after so many iterations without a better value; ``None`` never stops.
    start : int, default=0
        Iterations before the first one recorded here.
    total : int, default=None
        Iterations there will be at most, those before included.

    Examples
    --------
    >>> progress = Progress(max, rounds=2, start=10)
    >>> [progress.measure([s]) and progress.record(t) for t, s in enumerate([1, 3, 2, 3], 11)]
    [False, False, False, True]
    >>> progress.best_iteration
    12
    """

    def __init__(self, metric, rounds, start=0, total=None):
        self.metric, self.rounds, self.total = metric, rounds, total
        self.values = []
        self.best_value, self.best_iteration = -np.inf, start

    @property
    def name(self):
        """Name of the metric."""
        return getattr(self.metric, "name", getattr(self.metric, "__name__", "metric"))

    def measure(self, scores):
        """Take the metric of the scores; engines lend buffers, hence the copy."""
        value = float(self.metric(np.array(scores, dtype=np.float64)))
        if np.isnan(value):
            raise ValueError(f"metric {self.name!r} must return a number; got {value!r}.")
        self.values.append(value)
        return value

    def record(self, iteration):
        """Credit the last value to ``iteration`` iterations; say whether it is time to stop."""
        listener()(iteration, self.total, self._note())
        if not self.values:
            return False
        if self.values[-1] > self.best_value:
            self.best_value, self.best_iteration = self.values[-1], iteration
        return self.rounds is not None and iteration - self.best_iteration >= self.rounds

    def kept(self):
        """Return how many iterations to keep; ``None`` for all."""
        return None if self.metric is None or self.rounds is None else self.best_iteration

    def history(self):
        """Return the values as ``evals_result_`` has them."""
        return {} if self.metric is None else {"validation": {self.name: list(self.values)}}

    def _note(self):
        return f"{self.name} {self.values[-1]:.4f}" if self.values else ""
