"""Dask: the workers of a Dask cluster fit one model, on collections that are spread over them."""

import math
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np

from treerank.distributed.launcher import Address, News, results_of
from treerank.distributed.parts import Part, blocks
from treerank.distributed.worker import fit_share

if TYPE_CHECKING:
    import distributed

#: Seconds between two looks at the workers.
_PULSE = 1


class DaskWorkers:
    """The workers of a Dask cluster, as ``workers`` of :func:`treerank.distributed.fit`.

    Data frames, series and arrays of Dask stay where they are until the workers exchange rows. Each
    partition may hold any rows. A fit takes a thread of each worker. Workers connect to the
    first of them; the client connects to nothing but the scheduler.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> workers = DaskWorkers(Client(n_workers=2))  # doctest: +SKIP
    >>> fitted = fit(ranker, frame, "label", "query", workers=workers)  # doctest: +SKIP
    """

    def __init__(self, client: "distributed.Client"):
        self.client = client

    @property
    def n_workers(self) -> int:
        """Number of workers that the cluster has now."""
        return len(self._addresses())

    def parts(self, columns: Mapping[str, Any]) -> list[list[Part]]:
        """Return the parts of each worker: the partitions that it holds, or rows that are sent."""
        addresses = self._addresses()
        if isinstance(columns["X"], np.ndarray):
            slices = blocks(len(columns["y"]), len(addresses))
            return [
                [{name: self._sent(column[rows], place) for name, column in columns.items()}]
                for place, rows in zip(addresses, slices, strict=True)
            ]
        partitions = self._partitions(columns)
        parts: dict[str, list[Part]] = {address: [] for address in addresses}
        holders = self.client.who_has([partition["X"] for partition in partitions])
        for number, partition in enumerate(partitions):
            places = [place for place in holders[partition["X"].key] if place in parts]
            parts[places[0] if places else addresses[number % len(addresses)]].append(partition)
        return [parts[address] for address in addresses]

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a worker of its own; return their results, see ``Launcher``."""
        addresses = self._addresses()
        if len(addresses) != len(tasks):
            raise RuntimeError(
                f"The cluster must keep its {len(tasks)} workers; it has {len(addresses)} now."
            )
        fit, secret = f"treerank-{uuid4().hex}", secrets.token_bytes()
        inbox = _Inbox(self.client, addresses)
        self.client.subscribe_topic(fit, inbox.hear)
        futures = [
            self.client.submit(
                fit_here,
                (rank, len(tasks), secret, fit),
                **task,
                workers=[worker],
                allow_other_workers=False,
                retries=0,
                pure=False,
            )
            for rank, (task, worker) in enumerate(zip(tasks, addresses, strict=True))
        ]
        try:
            inbox.watch(futures)
            return results_of(len(tasks), inbox.next_news)
        finally:
            self.client.cancel(futures, force=True)
            self.client.unsubscribe_topic(fit)
            _first_address(fit, self.client).delete()

    def _addresses(self) -> list[str]:
        return sorted(self.client.nthreads())

    def _sent(self, rows: np.ndarray, address: str) -> Any:
        return self.client.scatter(rows, workers=[address], hash=False)

    def _partitions(self, columns):
        """Return the columns of each partition as futures, once they are computed."""
        from distributed import wait

        split = {
            name: column if isinstance(column, str) else self._futures(name, column)
            for name, column in columns.items()
            if column is not None
        }
        n_partitions = len(split["X"])
        for name, futures in split.items():
            if not isinstance(futures, str) and len(futures) != n_partitions:
                raise ValueError(
                    f"{name} must have the partitions of X, {n_partitions}; got {len(futures)}."
                )
        # Of all columns: a worker that waits for others cannot compute what these still need.
        wait(
            [each for futures in split.values() if not isinstance(futures, str) for each in futures]
        )
        return [
            {name: each if isinstance(each, str) else each[t] for name, each in split.items()}
            for t in range(n_partitions)
        ]

    def _futures(self, name, column):
        """Return a future of each partition of a collection; a matrix is split by rows only."""
        if not hasattr(column, "to_delayed"):
            raise TypeError(
                f"{name} must be a collection of Dask, or a name of a column, where X is one; "
                f"got {type(column)}."
            )
        if getattr(column, "ndim", 1) == 2 and hasattr(column, "rechunk"):
            column = column.rechunk({1: -1})
        return self.client.compute(list(np.ravel(column.to_delayed())))


def fit_here(known: tuple[Any, ...], **task: Any) -> Any:
    """Fit the share of the worker of Dask that runs this task, see ``fit_share``."""
    return fit_share(**task, channel=_DaskChannel(*known))


class _DaskChannel:
    """See :class:`treerank.distributed.launcher.Channel`; this one leads over the scheduler."""

    encryption: Any = None

    def __init__(self, rank: int, size: int, secret: bytes, fit: str):
        from distributed import get_worker

        self.rank, self.size, self.secret = rank, size, secret
        self.fit, self.worker = fit, get_worker()
        self.task = self.worker.get_current_task()
        address = urlsplit(self.worker.address)
        self.host = str(address.hostname) if address.scheme in ("tcp", "tls") else "127.0.0.1"
        if address.scheme == "tls":
            security = self.worker.security
            ways = security.get_connection_args("worker"), security.get_listen_args("worker")
            self.encryption = ways[0]["ssl_context"], ways[1]["ssl_context"]

    def first_address(self, own: Address | None) -> Address:
        place = _first_address(self.fit)
        if own is not None:
            place.set(list(own))
            return own
        while not self.is_over():
            with suppress(TimeoutError):
                host, port = place.get(timeout=_PULSE)
                return host, port
        raise ConnectionAbortedError("the fit is over")

    def tell(self, *progress: Any) -> None:
        self.worker.log_event(self.fit, progress)

    def is_over(self) -> bool:
        task = self.worker.state.tasks.get(self.task)
        return task is None or task.state == "cancelled"


def _first_address(fit: str, client: Any = None) -> Any:
    """Return the variable of the cluster that holds where the first worker of a fit listens."""
    from distributed import Variable

    return Variable(fit, client)


class _Inbox:
    """What the client hears of the workers of a fit."""

    def __init__(self, client: Any, addresses: Sequence[str]):
        self.client, self.addresses = client, addresses
        self.news: SimpleQueue[News] = SimpleQueue()

    def hear(self, event: tuple[Any, Any]) -> None:
        """Note what the first worker tells of its progress."""
        self.news.put(News(0, progress=event[1]))

    def watch(self, futures: Sequence[Any]) -> None:
        """Note what becomes of tasks."""
        for rank, future in enumerate(futures):
            future.add_done_callback(lambda future, rank=rank: self.news.put(_end_of(rank, future)))

    def next_news(self, patience: float | None) -> News | None:
        """Return the next news, or None after so many seconds; raise the death of a worker."""
        end = math.inf if patience is None else time.monotonic() + patience
        news = None
        while news is None and time.monotonic() < end:
            with suppress(Empty):
                news = self.news.get(timeout=_PULSE)
            if news is None or news.error is not None:
                self._refuse_deaths()
        return news

    def _refuse_deaths(self) -> None:
        gone = sorted(set(self.addresses) - set(self.client.nthreads()))
        if gone:
            raise RuntimeError(f"worker {gone[0]} must live until the fit is done; it is gone.")


def _end_of(rank: int, future: Any) -> News:
    """Return the result of a task, or its error."""
    if future.status == "finished":
        return News(rank, future.result())
    if future.status == "error":
        return News(rank, error=future.exception())
    error = "every worker must live until the fit is done; Dask ended one."
    return News(rank, error=RuntimeError(error))
