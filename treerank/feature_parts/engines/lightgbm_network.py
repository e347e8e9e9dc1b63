"""Network of LightGBM: its workers tell each other histograms and splits by way of the team.

LightGBM itself would need a free port on every machine and a list of them. It also takes two
functions instead: one returns the sum of what all workers have, one returns all that they have.
The functions are set for the thread that calls LightGBM, and only while a block runs.
"""

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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
#: new leaves have, by its estimate.
_SPLITS_SIZE, _COUNTS = 444, slice(4, 12)
#: Everything else that workers tell each other is smaller than this.
_LARGEST_OTHER = 64
#: What LightGBM is told instead, of the smaller and of the larger leaf.
_SMALLER, _LARGER = 2**29, 2**30


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
        self.error: BaseException | None = None

    def __call__(self, env: Any = None) -> None:
        """Raise the error; as a callback of LightGBM, before a tree of zeros is kept."""
        if self.error is not None:
            raise self.error

    def add_up(
        self, given: int, size: int, _: int, starts: Any, sizes: Any, n: int, into: int, *___: Any
    ) -> None:
        """Write the sum of all workers' histograms, of the features that this worker looks at."""
        values = _bytes_at(given, size)
        parts = [values[starts[t] : starts[t] + sizes[t]].view(np.float64) for t in range(n)]
        total = self._answer(self.team.total_of_own, parts)
        own = _bytes_at(into, sizes[self.team.rank])
        own[:] = 0 if total is None else total.view(np.uint8)

    def collect(
        self, given: int, size: int, starts: Any, sizes: Any, n: int, into: int, into_size: int
    ) -> None:
        """Write what all workers have, one after the other."""
        every = _bytes_at(into, into_size)
        every[:] = 0
        found = self._answer(self.team.gather, _bytes_at(given, size))
        for start, part in zip(starts[:n], found or (), strict=False):
            every[start : start + len(part)] = part
        if size == _SPLITS_SIZE:
            _replace_counts(every.reshape(n, 2, -1)[..., _COUNTS])
        elif size > _LARGEST_OTHER:  # splits, of another form
            self.error = self.error or RuntimeError(
                f"LightGBM must propose splits of {_SPLITS_SIZE} bytes for workers to agree; "
                f"version {lightgbm.__version__} has {size}."
            )

    def _answer(self, ask: Callable[[Any], Any], value: Any) -> Any:
        """Return the answer of the team, or None after an error."""
        if self.error is None:
            try:
                return ask(value)
            except BaseException as error:  # an interrupt, too, would be lost in LightGBM
                self.error = error
        return None


def _replace_counts(counts: np.ndarray) -> None:
    """Make LightGBM's estimates of numbers of documents so large that they decide nothing.

    LightGBM estimates a number as a sum of rounded shares, and leaves out a split if the rest is
    negative. Several workers add up other estimates than one.
    """
    left, right = np.moveaxis(np.ascontiguousarray(counts).view(np.int32), -1, 0)
    larger = [np.where(left < right, _SMALLER, _LARGER), np.where(left < right, _LARGER, _SMALLER)]
    counts[:] = np.stack(larger, axis=-1).astype(np.int32).view(np.uint8)


def with_counts(text: str, leaf_counts: Sequence[np.ndarray]) -> str:
    """Return a model of LightGBM as text, with the numbers of documents in each tree's leaves."""
    head, *trees = re.split(r"^(?=Tree=\d+$)", text, flags=re.MULTILINE)
    sizes = [int(size) for size in _field("tree_sizes", head).split()]
    for number, (tree, counts) in enumerate(zip(trees, leaf_counts, strict=True)):
        if len(counts) > 1:
            trees[number] = _counted(tree, counts)
            sizes[number] += len(trees[number]) - len(tree)
    return "".join([_replaced(head, "tree_sizes", sizes), *trees])


def _counted(tree: str, leaf_counts: np.ndarray) -> str:
    """Return the text of a tree with the numbers of documents in its leaves and nodes."""
    left, right = (
        [int(child) for child in _field(name, tree).split()]
        for name in ("left_child", "right_child")
    )
    counts = [0] * len(left) + leaf_counts[::-1].tolist()  # a leaf has the number -1, -2, ...
    for node in reversed(range(len(left))):  # children come later
        counts[node] = counts[left[node]] + counts[right[node]]
    tree = _replaced(tree, "internal_count", counts[: len(left)])
    return _replaced(tree, "leaf_count", leaf_counts)


def _field(name: str, text: str) -> str:
    found = re.search(rf"^{name}=(.*)$", text, re.MULTILINE)
    return "" if found is None else found[1]


def _replaced(text: str, name: str, numbers: Iterable[int]) -> str:
    line = f"{name}={' '.join(map(str, numbers))}"
    return re.sub(rf"^{name}=.*$", line, text, count=1, flags=re.MULTILINE)


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
