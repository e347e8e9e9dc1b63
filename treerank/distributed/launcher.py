"""Launchers: what starts the workers of a fit, as ``Processes`` and ``DaskWorkers`` do.

A launcher has ``n_workers``. ``parts`` returns the parts of each worker of columns, which are
arguments of ``fit`` as arrays. ``run`` calls ``fit_share`` with each task and a :class:`Channel` in
a worker of its own, all at the same time. It returns what they return, or raises an error within a
bounded time after one has failed. :mod:`treerank.distributed.fitting` lists all launchers.
"""

import math
import secrets
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from treerank.distributed.connections import LostTeamError, never
from treerank.progress import current_listener

#: Seconds after the first error of a worker in which the others may tell its cause.
_PATIENCE = 5
#: Seconds between two looks at the workers.
PULSE = 1
#: Host and port.
Address = tuple[str, int]
#: Number of a worker, and its ``"result"``, its ``"error"``, its ``"address"`` if it is the first
#: one, or ``"progress"`` for a listener.
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
    address : Address or None
        Where the first worker listens; None for itself, which tells it.
    tell : callable
        Tells the launcher ``"address"`` or ``"progress"``, and a value of JSON.
    is_over : callable
        Tells whether the launcher has given the fit up.
    host : str
        Address of this machine at which other workers reach it.
    encryption : tuple of ssl.SSLContext, or None
        Encrypt the connections that this worker opens, and those that it accepts.
    """

    rank: int
    size: int
    secret: bytes
    address: Address | None
    tell: Callable[[str, Any], None]
    is_over: Callable[[], bool] = never
    host: str = "127.0.0.1"
    encryption: tuple[ssl.SSLContext, ssl.SSLContext] | None = None


def results_of(
    n_workers: int, start: Callable[[dict[str, Any]], None], news: Iterator[News | None]
) -> list[Any]:
    """Start all workers, and return their results; raise the error that the others follow from.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    start : callable
        Starts a worker, given the first members of its ``Channel``, by name. The first one comes
        first, and the others once it has told its address.
    news : iterator
        Waits for news, and is None from time to time. It is not asked again after all workers have
        a result or an error.

    Examples
    --------
    >>> news = (0, "address", ("127.0.0.1", 7)), (1, "result", "b"), None, (0, "result", "a")
    >>> results_of(2, lambda known: print(known["rank"], known["address"]), iter(news))
    0 None
    1 ('127.0.0.1', 7)
    ['a', 'b']
    """
    listener, found, end = current_listener(), dict[int, Any](), math.inf
    losses: list[Exception] = []
    known = {"size": n_workers, "secret": secrets.token_bytes()}
    start(known | {"rank": 0, "address": None})
    while len(found) < n_workers and time.monotonic() < end:
        told = next(news)
        if told is None:
            continue
        rank, kind, value = told
        if kind == "address":
            for other in range(1, n_workers):
                start(known | {"rank": other, "address": value})
        elif kind == "progress":
            listener(*value)
        else:
            found[rank] = value
        if kind == "error":
            if not isinstance(value, LostTeamError):
                raise value
            losses.append(value)
            end = min(end, time.monotonic() + _PATIENCE)
    if losses:
        raise losses[0]
    return [found[rank] for rank in range(n_workers)]
