"""Network of XGBoost: its workers add up histograms by connections of its own.

XGBoost's workers meet at a *tracker*, which listens in the process of the first worker, and then
connect to each other. Who waits for a worker that has ended before it came to the tracker gives up
after a time limit. XGBoost has none for the moment after that: a worker of Dask whose neighbor is
killed in this moment waits until it is restarted. Processes of this machine are ended anyway.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from treerank.distributed.collective import Collective
from treerank.distributed.connections import LostTeamError
from treerank.lazy import naming_the_extra

with naming_the_extra("XGBoostTrees"):
    import xgboost
    from xgboost import collective

#: Seconds in which the workers of a team, which have met before, must meet again.
_PATIENCE = 60


@contextmanager
def xgboost_network(team: Collective, host: str) -> Iterator[None]:
    """Let XGBoost train by all workers of the team in this block; this one is at ``host``."""
    address = None
    try:
        if team.rank == 0:
            tracker = xgboost.RabitTracker(team.size, host, timeout=_PATIENCE)
            tracker.start()
            address = tracker.worker_args()
        with collective.CommunicatorContext(**team.gather(address)[0]):
            yield
        team.gather(None)  # the tracker lives until all have left
    except ValueError as error:  # XGBoost's errors are such
        if "collective" not in str(error):
            raise
        raise LostTeamError from error
