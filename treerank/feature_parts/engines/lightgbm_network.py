"""Network of LightGBM: its workers tell each other histograms and splits by way of the team.

LightGBM itself would need a free port on every machine and a list of them. It also takes two
functions instead: one returns the sum of what all workers have, one returns all that they have.
The functions are set for the thread that calls LightGBM, and only while a block runs.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lightgbm
import numpy as np

from treerank.team import Team, current_team

_Sizes = ctypes.POINTER(ctypes.c_int32)
_ADD_UP = ctypes.CFUNCTYPE(
    None,
    *(ctypes.c_void_p, ctypes.c_int32, ctypes.c_int),  # input, its size, size of an entry
    *(_Sizes, _Sizes, ctypes.c_int),  # where the part of each worker starts, its size, workers
    *(ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p),  # output, its size, how to add two
)
_COLLECT = ctypes.CFUNCTYPE(
    None,
    *(ctypes.c_void_p, ctypes.c_int32, _Sizes, _Sizes, ctypes.c_int),
    *(ctypes.c_void_p, ctypes.c_int32),
)
#: Size of the two splits that a worker proposes, and where each says how many documents the two
#: new leaves have.
_SPLITS_SIZE, _COUNTS = 444, slice(4, 12)


class Network:
    """The functions by which LightGBM talks to other workers.

    LightGBM cannot be told of an error, so the first one is kept, and the answers are zeros from
    then on: LightGBM finds no split in them.

    Parameters
    ----------
    team : Team
        The workers.

    Attributes
    ----------
    params : dict
        Parameters of LightGBM by which it asks the team; none for a team of one.
    """

    def __init__(self, team: Team):
        self.team = team
        self.params = {"tree_learner": "data", "num_machines": team.size} if team.size > 1 else {}
        self.error: Exception | None = None

    def __call__(self, env: Any = None) -> None:
        """Raise the error; as a callback of LightGBM, before a tree of zeros is kept."""
        if self.error is not None:
            raise self.error

    def add_up(
        self, given: int, size: int, _: int, starts: Any, sizes: Any, __: int, into: int, *___: Any
    ) -> None:
        """Write the sum of all workers' histograms, of the features that this worker looks at."""
        own = slice(starts[self.team.rank], starts[self.team.rank] + sizes[self.team.rank])
        values = _bytes_at(given, size).view(np.float64)
        total = self._answer(self.team.total, values)
        _bytes_at(into, sizes[self.team.rank])[:] = total.view(np.uint8)[own]

    def collect(
        self, given: int, size: int, starts: Any, sizes: Any, n: int, into: int, into_size: int
    ) -> None:
        """Write what all workers have, one after the other."""
        every = np.zeros(into_size, dtype=np.uint8)
        start = starts[self.team.rank]
        every[start : start + size] = _bytes_at(given, size)
        every = self._answer(self.team.largest, every)
        if size == _SPLITS_SIZE:
            _count_documents(every.reshape(n, 2, -1)[..., _COUNTS])
        _bytes_at(into, into_size)[:] = every

    def _answer(self, ask: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> np.ndarray:
        if self.error is None:
            try:
                return ask(values)
            except Exception as error:
                self.error = error
        return np.zeros_like(values)


def _count_documents(counts: np.ndarray) -> None:
    """Make LightGBM's estimates of numbers of documents positive: a leaf has at least one.

    They decide nothing, but where an estimate is 0, LightGBM refuses the split.
    """
    counts[:] = np.maximum(np.ascontiguousarray(counts).view(np.int32), 1).view(np.uint8)


def _bytes_at(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


@contextmanager
def team_network() -> Iterator[Network]:
    """Let LightGBM train by all workers of the team in this block.

    Examples
    --------
    >>> with team_network() as network:
    ...     network.params
    {}
    """
    team = current_team()
    network = Network(team)
    if team.size == 1:
        yield network
        return
    functions = _ADD_UP(network.add_up), _COLLECT(network.collect)
    library = lightgbm.basic._LIB  # type: ignore[attr-defined]
    addresses = [ctypes.cast(function, ctypes.c_void_p) for function in functions]
    library.LGBM_NetworkInitWithFunctions(team.size, team.rank, *addresses)
    try:
        yield network
    except lightgbm.basic.LightGBMError:
        network()  # which may be the reason
        raise
    finally:
        library.LGBM_NetworkFree()
