"""Dask: the workers of a Dask cluster fit one model, on collections that are spread over them."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from treerank.distributed.collective import LostTeamError
from treerank.distributed.launcher import meeting_for
from treerank.distributed.parts import Part, blocks
from treerank.distributed.worker import fit_share

if TYPE_CHECKING:
    import distributed

#: Seconds between two looks at the workers.
_PULSE = 1
#: Looks after the first error of a worker in which the others may tell why.
_PATIENCE = 5
_LOOPBACK = "127.0.0.1"


class DaskWorkers:
    """The workers of a Dask cluster, as ``workers`` of :func:`treerank.distributed.fit`.

    Data frames, series and arrays of Dask stay where they are until the workers exchange rows. Each
    partition may hold any rows. A fit takes a thread of each worker.

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

    @contextmanager
    def parts(self, columns: Mapping[str, Any]) -> Iterator[list[list[Part]]]:
        """Return the parts of each worker: the partitions that it holds, or rows that are sent."""
        addresses = self._addresses()
        if isinstance(columns["X"], np.ndarray):
            sent = blocks(len(columns["y"]), len(addresses))
            yield [
                [{name: self._sent(column[rows], place) for name, column in columns.items()}]
                for place, rows in zip(addresses, sent, strict=True)
            ]
            return
        partitions = self._partitions(columns)
        parts: dict[str, list[Part]] = {address: [] for address in addresses}
        holders = self.client.who_has([partition["X"] for partition in partitions])
        for number, partition in enumerate(partitions):
            places = [place for place in holders[partition["X"].key] if place in parts]
            parts[places[0] if places else addresses[number % len(addresses)]].append(partition)
        yield [parts[address] for address in addresses]

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a worker of its own; return their results, see ``Launcher``."""
        addresses = self._addresses()
        if len(addresses) != len(tasks):
            raise RuntimeError(
                f"The cluster must keep its {len(tasks)} workers; it has {len(addresses)} now."
            )
        with meeting_for(len(tasks), self._host()) as address:
            futures = [
                self.client.submit(
                    fit_share,
                    **task | {"address": address},
                    workers=[worker],
                    allow_other_workers=False,
                    retries=0,
                    pure=False,
                )
                for task, worker in zip(tasks, addresses, strict=True)
            ]
            try:
                self._wait(futures, addresses)
                results: list[Any] = self.client.gather(futures)
                return results
            finally:
                self.client.cancel(futures, force=True)

    def _host(self) -> str:
        """Return the address of this machine at which workers reach it."""
        scheduler = urlsplit(str(self.client.scheduler_info(n_workers=0)["address"]))
        if scheduler.scheme not in ("tcp", "tls"):
            return _LOOPBACK
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # sends nothing
            probe.connect((str(scheduler.hostname), int(scheduler.port or 0)))
            return str(probe.getsockname()[0])

    def _addresses(self) -> list[str]:
        return sorted(self.client.nthreads())

    def _sent(self, rows: np.ndarray, address: str) -> Any:
        return self.client.scatter(rows, workers=[address], hash=False)

    def _partitions(self, columns):
        """Return the columns of each partition as futures, once they are computed."""
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
        for futures in split.values():
            _wait_for([] if isinstance(futures, str) else futures)
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

    def _wait(self, futures: Sequence[Any], addresses: Sequence[str]) -> None:
        """Wait until all workers are done; raise the error that the others follow from."""
        looks_left = _PATIENCE
        while looks_left and not all(future.done() for future in futures):
            errors = _errors(futures)
            looks_left -= bool(errors)
            self._refuse_deaths(addresses)
            if any(not isinstance(error, LostTeamError) for error in errors):
                break
            pending = [future for future in futures if not future.done()]
            with suppress(TimeoutError, CancelledError):  # which the next look finds
                _wait_for(pending, timeout=_PULSE, return_when="FIRST_COMPLETED")
        errors = sorted(_errors(futures), key=lambda error: isinstance(error, LostTeamError))
        if errors:
            self._refuse_deaths(addresses)
            raise errors[0]

    def _refuse_deaths(self, addresses: Sequence[str]) -> None:
        gone = sorted(set(addresses) - set(self._addresses()))
        if gone:
            raise RuntimeError(f"worker {gone[0]} must live until the fit is done; it is gone.")


def _wait_for(futures: Sequence[Any], **options: Any) -> None:
    """Call Dask's function ``wait``; without Dask, this module can be imported."""
    from distributed import wait

    wait(futures, **options)


def _errors(futures):
    """Return the errors of workers that have failed."""
    errors = [future.exception() for future in futures if future.status == "error"]
    if any(future.status in ("cancelled", "lost") for future in futures):
        errors.append(RuntimeError("every worker must live until the fit is done; Dask ended one."))
    return errors
