"""Dask: the workers of a Dask cluster fit one model, on collections that are spread over them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np

from treerank.distributed.launcher import PULSE, Channel, News, results_of
from treerank.distributed.parts import Part, blocks
from treerank.distributed.worker import fit_share


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

    def __init__(self, client: Any):
        self.client = client

    @property
    def n_workers(self) -> int:
        """Number of workers that the cluster has now."""
        return len(self._addresses())

    def parts(self, columns: Mapping[str, Any]) -> list[list[Part]]:
        """Return the parts of each worker: the partitions that it holds, or rows that are sent."""
        addresses = self._addresses()
        if isinstance(columns["X"], np.ndarray):
            sent = zip(blocks(columns, len(addresses)), addresses, strict=True)
            return [self.client.scatter([part], workers=[to], hash=False) for part, to in sent]
        partitions = self._partitions(columns)
        parts: dict[str, list[Part]] = {address: [] for address in addresses}
        holders = self.client.who_has([partition["X"] for partition in partitions])
        for number, partition in enumerate(partitions):
            places = [place for place in holders[partition["X"].key] if place in parts]
            parts[places[0] if places else addresses[number % len(addresses)]].append(partition)
        return list(parts.values())

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a worker of its own; return their results, see ``fit_share``."""
        addresses = self._addresses()
        if len(addresses) != len(tasks):
            raise RuntimeError(
                f"The cluster must keep its {len(tasks)} workers; it has {len(addresses)} now."
            )
        fit, futures = f"treerank-{uuid4().hex}", []
        heard: SimpleQueue[News] = SimpleQueue()

        def start(known: dict[str, Any]) -> None:
            rank = known["rank"]
            where = {"workers": [addresses[rank]], "pure": False}
            future = self.client.submit(fit_here, tasks[rank], fit, known, **where)
            future.add_done_callback(partial(_hear_end, heard, rank))
            futures.append(future)

        self.client.subscribe_topic(fit, lambda event: heard.put((0, *event[1])))
        try:
            return results_of(len(tasks), start, self._news(heard, addresses))
        finally:
            self.client.cancel(futures, force=True)
            self.client.unsubscribe_topic(fit)

    def _news(self, heard: "SimpleQueue[News]", addresses: list[str]) -> Iterator[News | None]:
        """Yield what is heard of the workers; raise the death of one, from which errors follow."""
        while True:
            news = None
            with suppress(Empty):
                news = heard.get(timeout=PULSE)
            if news is None or news[1] == "error":
                gone = sorted(set(addresses) - set(self._addresses()))
                if gone:
                    raise RuntimeError(
                        f"worker {gone[0]} must live until the fit is done; it is gone."
                    )
            yield news

    def _addresses(self) -> list[str]:
        return sorted(self.client.nthreads())

    def _partitions(self, columns):
        """Return the columns of each partition as futures, once they are computed."""
        from distributed import wait

        split: dict[str, list[Any]] = {}
        for name, column in columns.items():
            if isinstance(column, str):
                split[name] = [column] * len(split["X"])
            elif column is not None:
                split[name] = self._futures(name, column)
                if len(split[name]) != len(split["X"]):
                    raise ValueError(
                        f"{name} must have the partitions of X, {len(split['X'])}; "
                        f"got {len(split[name])}."
                    )
        # For all columns: a worker that waits for others cannot compute what these still need.
        wait(list(split.values()))
        return [dict(zip(split, each, strict=True)) for each in zip(*split.values(), strict=True)]

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


def fit_here(task: dict[str, Any], fit: str, known: dict[str, Any]) -> Any:
    """Fit the share of the worker of Dask that runs this task, see ``fit_share``."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def tell(*news: Any) -> None:
        worker.log_event(fit, news)

    def is_over() -> bool:
        own = worker.state.tasks.get(key)
        return own is None or own.state == "cancelled"

    channel, address = Channel(**known, tell=tell, is_over=is_over), urlsplit(worker.address)
    if address.scheme in ("tcp", "tls"):
        channel.host = str(address.hostname)
    if address.scheme == "tls":
        security = worker.security
        ways = security.get_connection_args("worker"), security.get_listen_args("worker")
        channel.encryption = ways[0]["ssl_context"], ways[1]["ssl_context"]
    return fit_share(**task, channel=channel)


def _hear_end(heard: "SimpleQueue[News]", rank: int, future: Any) -> None:
    """Note the result of a task, or its error."""
    try:
        heard.put((rank, "result", future.result()))
    except Exception as error:  # Dask's own, too, where it has ended a worker
        heard.put((rank, "error", error))
