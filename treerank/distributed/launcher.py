"""Launchers: what starts the workers of a fit. Each one is a class with the methods of Launcher."""

import math
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from treerank.distributed.connections import LostTeamError
from treerank.distributed.parts import Part
from treerank.progress import current_listener

#: Seconds after the first error of a worker in which the others may tell its cause.
_PATIENCE = 5
#: Seconds between two looks at the workers.
PULSE = 1
#: Host and port.
Address = tuple[str, int]
#: Number of a worker, and its ``"result"``, its ``"error"``, or ``"progress"`` for a listener.
News = tuple[int, str, Any]


@dataclass
class Channel:
    """What a worker knows of its fit, and how it speaks to the launcher.

    Attributes
    ----------
    rank, size : int
        Number of this worker, from 0, and number of workers.
    secret : bytes
        What only the workers of this fit know.
    host : str
        Address of this machine at which other workers reach it.
    encryption : tuple of ssl.SSLContext, or None
        Encrypt the connections that this worker opens, and those that it accepts.
    """

    rank: int
    size: int
    secret: bytes
    host: str = "127.0.0.1"
    encryption: tuple[ssl.SSLContext, ssl.SSLContext] | None = None

    def first_address(self, own: Address | None) -> Address:
        """Return where the first worker listens, which tells it by ``own``."""
        raise NotImplementedError

    def tell(self, n_done: int, n_total: int | None, note: Any) -> None:
        """Tell the launcher how far the fit is."""
        raise NotImplementedError

    def is_over(self) -> bool:
        """Tell whether the launcher has given the fit up."""
        return False


@runtime_checkable
class Launcher(Protocol):
    """Processes, on one machine or on several, that fit rankers together.

    Attributes
    ----------
    n_workers : int
        Number of processes.

    Examples
    --------
    >>> from treerank.distributed import Launcher, Processes
    >>> launcher: Launcher = Processes(2)  # which start in a block of ``with``
    >>> launcher.n_workers
    2
    """

    @property
    def n_workers(self) -> int:
        """Number of processes."""
        ...

    def parts(self, columns: Mapping[str, Any]) -> list[list[Part]]:
        """Return the parts of each worker; ``columns`` are arguments of ``fit``, as arrays."""
        ...

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Call ``fit_share(**task, channel=...)`` for each task in a worker of its own.

        All run at the same time. Returns what they return, or raises an error within a bounded
        time after one has failed.
        """
        ...


def results_of(n_workers: int, news: Iterator[News | None]) -> list[Any]:
    """Return the results of all workers; raise the error that the others follow from.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    news : iterator
        Waits for news, and is None from time to time. It is not asked again after all workers have
        a result or an error.

    Examples
    --------
    >>> results_of(2, iter([(1, "result", "b"), None, (0, "result", "a")]))
    ['a', 'b']
    """
    listener, found, end = current_listener(), dict[int, Any](), math.inf
    losses: list[Exception] = []
    while len(found) < n_workers and time.monotonic() < end:
        told = next(news)
        if told is None:
            continue
        rank, kind, value = told
        if kind == "progress":
            listener(*value)
            continue
        found[rank] = value
        if kind == "error":
            if not isinstance(value, LostTeamError):
                raise value
            losses.append(value)
            end = min(end, time.monotonic() + _PATIENCE)
    if losses:
        raise losses[0]
    return [found[rank] for rank in range(n_workers)]
