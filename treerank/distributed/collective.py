"""Collective: the workers of a fit add up arrays by the public collective of XGBoost.

XGBoost's workers meet at a *tracker*, which listens in the process of one of them, and then send
sums around a ring. The engine that has started the workers (Dask, Spark) tells whether one of them
has died, so limits of time here are long. Errors of the collective say nothing that a user could
act on; they are replaced by :class:`LostWorkerError`.
"""

import json
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from treerank.lazy import naming_the_extra
from treerank.workers import Workers

with naming_the_extra("treerank.distributed"):
    import xgboost
    from xgboost import collective

#: Seconds for all workers to meet, and to wait for one that is late: other work may hold it up.
_PATIENCE = 86_400
#: Seconds in which a tracker is ready. Who asks for its address before waits for 0.1 seconds.
_TRACKER_STARTS = 0.005
#: Bytes for each worker that are joined at a time: the next ones use the same memory, in the cache.
_SEGMENT = 2**19


class LostWorkerError(RuntimeError):
    """A worker cannot go on, because another worker of the same fit has ended."""

    def __init__(self) -> None:
        super().__init__(
            "Every worker must live until the fit is done; another one has ended. Its engine's "
            "log tells why."
        )


class Collective(Workers):
    """The workers that fit together, this thread being one; every worker must call each method."""

    def __init__(self) -> None:
        self.rank, self.world_size = collective.get_rank(), collective.get_world_size()

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Return a list with the array of each worker, by rank; their lengths may differ."""
        joined, ends = self._joined(values)
        return np.split(joined, ends[:-1])

    def join(self, values: np.ndarray) -> np.ndarray:
        """Return the arrays of all workers as one, by rank; their lengths may differ."""
        return self._joined(values)[0]

    def _joined(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the arrays of all workers as one, and the end of each.

        Each worker adds its bytes to zeros: sums take fewer steps than a broadcast from each.
        """
        values = np.ascontiguousarray(values)
        data = values.reshape(-1).view(np.uint8)
        lengths = np.zeros(self.world_size, dtype=np.int64)
        lengths[self.rank] = len(values)
        row_ends = np.cumsum(self.sum(lengths))
        ends = row_ends * (values.dtype.itemsize * math.prod(values.shape[1:]))
        joined, size = np.zeros(ends[-1], dtype=np.uint8), self.world_size * _SEGMENT
        joined[ends[self.rank] - len(data) : ends[self.rank]] = data
        for start in range(0, len(joined), size):
            joined[start : start + size] = self.sum(joined[start : start + size])
        return joined.view(values.dtype).reshape(row_ends[-1], *values.shape[1:]), row_ends

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the elementwise maximum of the workers' arrays."""
        return _reduced(values, collective.Op.MAX)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the elementwise sum of the workers' arrays."""
        return _reduced(values, collective.Op.SUM)

    def any(self, flag: bool) -> bool:
        """Return whether ``flag`` is true on any worker."""
        return bool(self.max(np.array([flag], dtype=np.int64))[0])

    def gather_json(self, value: Any) -> list[Any]:
        """Return a list with the value of each worker, by rank.

        Values must be small and fit into JSON.
        """
        data = np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
        return [json.loads(encoded.tobytes()) for encoded in self.gather(data)]


def _reduced(values: np.ndarray, operation: collective.Op) -> np.ndarray:
    if values.size == 0:
        return values
    try:
        return collective.allreduce(values, operation).reshape(values.shape)
    except xgboost.core.XGBoostError as error:  # a ValueError, to which others give names
        raise LostWorkerError from error


@contextmanager
def collective_of(network: dict[str, Any]) -> Iterator[Collective]:
    """Join the other workers within the block; ``network`` is what :func:`start_tracker` returns.

    Raises a LostWorkerError if a worker ends. Leaving may fail after a fit that succeeded and after
    one that failed; neither may hide the result or the cause, so errors of leaving are dropped.
    """
    try:
        collective.init(**network, dmlc_timeout=_PATIENCE)
        try:
            yield Collective()
        finally:
            with suppress(xgboost.core.XGBoostError), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of leaving before the others
                collective.finalize()
    except xgboost.core.XGBoostError as error:
        if "collective" not in str(error):
            raise
        raise LostWorkerError from error


#: Trackers that listen in this process, by port.
_TRACKERS: dict[int, Any] = {}


def start_tracker(n_workers: int, host: str) -> dict[str, Any]:
    """Start a tracker in this process, where ``n_workers`` workers meet, and return its address.

    ``host`` is the name by which the others reach this machine. The result is the dict that
    :func:`collective_of` takes.
    """
    tracker = xgboost.RabitTracker(n_workers, host, sortby="task", timeout=_PATIENCE)
    tracker.start()
    time.sleep(_TRACKER_STARTS)
    network: dict[str, Any] = tracker.worker_args()
    _TRACKERS[network["dmlc_tracker_port"]] = tracker
    return network


def stop_tracker(network: dict[str, Any], patience: int = 1) -> None:
    """Stop the tracker of :func:`start_tracker`, after at most ``patience`` seconds.

    It waits so long for workers to leave. Nothing happens if it runs in another process.
    """
    tracker = _TRACKERS.pop(network["dmlc_tracker_port"], None)
    if tracker is not None:
        with suppress(xgboost.core.XGBoostError):
            tracker.wait_for(patience)
        with suppress(xgboost.core.XGBoostError):  # else the collector would print the error
            tracker.free()
