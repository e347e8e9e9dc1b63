"""XGBoost's collective as a team: its workers also add up the histograms of the trees."""

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from treerank.distributed.meeting import meeting_at
from treerank.distributed.peers import exchange_tables, own_address
from treerank.lazy import naming_the_extra
from treerank.team import Table, working_in

with naming_the_extra("XGBoostTrees"):
    from xgboost import collective
    from xgboost.core import XGBoostError


class LostTeamError(RuntimeError):
    """A worker cannot go on, since another one has ended."""


class XGBoostTeam:
    """The workers of the communicator that is open in this thread.

    Parameters
    ----------
    host : str
        Address of this machine at which other workers reach it.
    """

    def __init__(self, host: str):
        self.host = host

    @property
    def rank(self) -> int:
        """Number of this worker."""
        return int(collective.get_rank())

    @property
    def size(self) -> int:
        """Number of workers."""
        return int(collective.get_world_size())

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker has passed, in the order of their ranks."""
        roots = range(self.size)
        wrapped: Any = [value]  # XGBoost refuses to send None
        found: Any = (
            collective.broadcast(wrapped if self.rank == root else None, root) for root in roots
        )
        return [each for (each,) in found]

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        return _reduced(values, collective.Op.MAX)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the workers' values, entry by entry."""
        return _reduced(values, collective.Op.SUM)

    def exchange(self, outgoing: Callable[[int], Iterable[Table]], into: Table) -> None:
        """Send tables to each worker, and fill ``into`` with the rows that come."""
        exchange_tables(self, self.host, outgoing, into)


def _reduced(values: np.ndarray, operation: collective.Op) -> np.ndarray:
    return np.asarray(collective.allreduce(values, operation)).reshape(values.shape)


@contextlib.contextmanager
def xgboost_team(address: dict[str, Any]) -> Iterator[XGBoostTeam]:
    """Join the team whose tracker is at an address, and let fits in the block be its work.

    Parameters
    ----------
    address : dict
        Arguments of XGBoost's ``CommunicatorContext``, and ``meeting``, see ``meeting_at``.
    """
    communicator = {name: value for name, value in address.items() if name != "meeting"}
    team = XGBoostTeam(own_address(address["dmlc_tracker_uri"], int(address["dmlc_tracker_port"])))
    with contextlib.ExitStack() as stack:
        stack.enter_context(_naming_the_loss())
        # XGBoost prints a line for each worker.
        with contextlib.redirect_stdout(io.StringIO()), meeting_at(address["meeting"]):
            stack.enter_context(collective.CommunicatorContext(**communicator))
        stack.enter_context(working_in(team))
        yield team


@contextlib.contextmanager
def _naming_the_loss():
    """Tell the loss of another worker from other errors."""
    try:
        yield
    except (XGBoostError, ConnectionError, TimeoutError) as error:
        if isinstance(error, XGBoostError) and "collective" not in str(error):
            raise
        raise LostTeamError(
            "every worker must live until the fit is done; another one has ended."
        ) from error
