"""Launchers: what starts the workers of a fit. Each one is a class with the methods of Launcher."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from treerank.distributed.connections import LostTeamError
from treerank.distributed.parts import Part
from treerank.progress import current_listener

#: Seconds after the first error of a worker in which the others may tell its cause.
_PATIENCE = 5
#: Host and port.
Address = tuple[str, int]


class Channel(Protocol):
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
    host: str
    encryption: tuple[ssl.SSLContext, ssl.SSLContext] | None

    def first_address(self, own: Address | None) -> Address:
        """Return where the first worker listens, which tells it by ``own``."""
        ...

    def tell(self, n_done: int, n_total: int | None, note: Any) -> None:
        """Tell the launcher how far the fit is."""
        ...

    def is_over(self) -> bool:
        """Tell whether the launcher has given the fit up."""
        ...


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


class News(NamedTuple):
    """What a launcher hears of a worker: one of a result, an error, and arguments of a listener."""

    rank: int
    result: Any = None
    error: Exception | None = None
    progress: Sequence[Any] | None = None


def results_of(n_workers: int, next_news: Callable[[float | None], News | None]) -> list[Any]:
    """Return the results of all workers; raise the error that the others follow from.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    next_news : callable
        ``next_news(patience)`` waits for news, for so many seconds or forever, and returns them or
        None. It is not called again after all workers have a result or an error.

    Examples
    --------
    >>> news = iter([News(1, "b"), News(0, "a")])
    >>> results_of(2, lambda patience: next(news))
    ['a', 'b']
    """
    listener, found = current_listener(), dict[int, Any]()
    loss: Exception | None = None
    while len(found) < n_workers:
        news = next_news(None if loss is None else _PATIENCE)
        if news is None:
            break
        if news.progress is not None:
            listener(*news.progress)
            continue
        found[news.rank] = news.result
        if news.error is not None and not isinstance(news.error, LostTeamError):
            raise news.error
        loss = loss or news.error
    if loss is not None:
        raise loss
    return [found[rank] for rank in range(n_workers)]
