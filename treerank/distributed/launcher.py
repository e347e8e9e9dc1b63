"""Launchers: what starts the workers of a fit. Each one is a class with the methods of Launcher."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from treerank.distributed.meeting import waiting_for_workers
from treerank.distributed.parts import Part
from treerank.distributed.progress_relay import hearing_progress

#: Seconds within which all workers must come: those that a cluster starts may take long.
_PATIENCE = 600


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

    def parts(
        self, columns: Mapping[str, Any]
    ) -> contextlib.AbstractContextManager[list[list[Part]]]:
        """Return the parts of each worker, which it can read while the block runs.

        ``columns`` are arguments of ``fit``, as arrays.
        """
        ...

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Call ``fit_share(**task, address=...)`` for each task in a worker of its own.

        All run at the same time. Returns what they return, or raises an error within a bounded
        time after one has failed.
        """
        ...


@contextlib.contextmanager
def meeting_for(n_workers: int, host: str) -> Iterator[dict[str, Any]]:
    """Listen at ``host`` for so many workers, and return the ``address`` of ``fit_share``.

    If one of them never comes, or the block ends before all are done, the others end with a
    ``LostTeamError``.

    Examples
    --------
    >>> with meeting_for(1, "127.0.0.1") as address:
    ...     address["meeting"][0]
    '127.0.0.1'
    """
    with (
        hearing_progress(host) as place,
        waiting_for_workers(host, n_workers, _PATIENCE) as meeting,
    ):
        yield {"meeting": meeting, "progress": place}
