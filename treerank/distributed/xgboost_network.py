"""Network of XGBoost: its workers add up histograms by connections of its own.

XGBoost's workers meet at a *tracker*, which listens in the process of the first worker. XGBoost
waits without a limit for its neighbor to connect, even if that was killed meanwhile, and for the
tracker; so what it listens at is closed when the fit ends, and the tracker is, too.
"""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from io import StringIO
from typing import Any

from treerank.distributed.collective import LOSS, Collective, LostTeamError
from treerank.lazy import naming_the_extra

with naming_the_extra("XGBoostTrees"):
    from xgboost import collective
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker

#: Seconds in which the workers of a team, which have met before, must meet again.
_PATIENCE = 600


@contextmanager
def xgboost_network(team: Collective) -> Iterator[None]:
    """Let XGBoost train by all workers of the team in this block."""
    tracker = RabitTracker(team.size, team.host, timeout=_PATIENCE) if team.rank == 0 else None
    before = _listening()

    def end() -> None:
        _close(_listening() - before)
        _free(tracker)

    with _naming_the_loss():
        try:
            with ExitStack() as stack:
                # XGBoost prints a line for each worker.
                with redirect_stdout(StringIO()), team.watched(end):
                    address = team.gather(None if tracker is None else _started(tracker))[0]
                    stack.enter_context(collective.CommunicatorContext(**address))
                yield
            team.gather(None)  # the tracker lives until all have left
        finally:
            _free(tracker)


def _started(tracker: RabitTracker) -> dict[str, Any]:
    """Let the tracker listen; return the arguments of all workers for their communicator."""
    tracker.start()
    return tracker.worker_args()


def _free(tracker: RabitTracker | None) -> None:
    """End the tracker, and the waits of workers for it."""
    with suppress(XGBoostError):  # it misses workers that have died
        if tracker is not None:
            tracker.free()


@contextmanager
def _naming_the_loss() -> Iterator[None]:
    """Tell the loss of another worker from other errors."""
    try:
        yield
    except XGBoostError as error:
        if "collective" not in str(error):
            raise
        raise LostTeamError(LOSS) from error


def _listening() -> set[int]:
    """Return the numbers of the sockets of this process that listen; none on Windows."""
    found = set()
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ():
        with suppress(OSError):  # it is closed by now
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as each:
                    if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        found.add(int(name))
    return found


def _close(numbers: set[int]) -> None:
    """Let waits for a connection at these sockets fail."""
    for number in numbers:
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as server:
            server.shutdown(socket.SHUT_RDWR)
