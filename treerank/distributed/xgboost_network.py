"""Network of XGBoost: its workers add up histograms by connections of its own.

XGBoost's workers meet at a *tracker*, which listens in the process of the first worker, and then
connect to each other. Who waits for a worker that has ended before it came to the tracker gives up
after a time limit. XGBoost has none for the moment after that: a worker of Dask whose neighbor is
killed in this moment waits until it is restarted. Processes of this machine are ended anyway.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treerank.distributed.collective import Collective
from treerank.distributed.connections import LOSS, LostTeamError
from treerank.lazy import naming_the_extra

with naming_the_extra("XGBoostTrees"):
    import xgboost
    from xgboost import collective

#: Seconds in which the workers of a team, which have met before, must meet again.
_PATIENCE = 60


@contextmanager
def xgboost_network(team: Collective, host: str) -> Iterator[None]:
    """Let XGBoost train by all workers of the team in this block; this one is at ``host``."""
    tracker = None
    if team.rank == 0:
        tracker = xgboost.RabitTracker(team.size, host, timeout=_PATIENCE)
    with _naming_the_loss():
        address = team.gather(None if tracker is None else _started(tracker))[0]
        with collective.CommunicatorContext(**address):
            yield
        team.gather(None)  # the tracker lives until all have left


def _started(tracker: xgboost.RabitTracker) -> dict[str, Any]:
    """Let the tracker listen; return the arguments of all workers for their communicator."""
    tracker.start()
    return tracker.worker_args()


@contextmanager
def _naming_the_loss() -> Iterator[None]:
    """Tell the loss of another worker from other errors."""
    try:
        yield
    except ValueError as error:  # XGBoost's errors are such
        if "collective" not in str(error):
            raise
        raise LostTeamError(LOSS) from error
