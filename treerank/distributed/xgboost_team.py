"""XGBoost's collective as a team: its workers also add up the histograms of the trees."""

from typing import Any

import numpy as np

from treerank.lazy import naming_the_extra

with naming_the_extra("XGBoostTrees"):
    from xgboost import collective


class XGBoostTeam:
    """The workers of the communicator that is open in this process."""

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
        return [
            collective.broadcast(value if self.rank == root else None, root)
            for root in range(self.size)
        ]

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of the workers' values, entry by entry."""
        return np.asarray(collective.allreduce(np.asarray(values), collective.Op.MAX))
