"""Pieces: the parts of a step of work, which threads take inside a kernel, without Python.

Threads share two counters: of the pieces that nobody has taken, and of those that are not finished.
Who finishes the last piece of a step opens the next one. A thread that comes late, or never, only
leaves more pieces to the others. All wait for one that has taken a piece: if it cannot finish it,
it has to close the counters.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from treerank.feature_parts.histogram.histogram import address
from treerank.numerics.compiling import register_jitable

#: Bytes between the counters: each has a line of the cache.
_UNFINISHED = np.uint64(128)
#: How often a thread looks for a piece before it gives up its core.
_PATIENCE = 20_000


def new_counters(n: int = 1) -> np.ndarray:
    """Return the counters of a step of ``n`` pieces; of -1 if there are no more."""
    return np.full(32, n, dtype=np.int64)


@register_jitable
def take_piece(counters: np.ndarray) -> int:
    """Return a number above 0, that of a piece; 0 if there is none for now, -1 if no more."""
    for _ in range(_PATIENCE):
        piece = _take_one(address(counters))
        if piece:
            break
    return piece


@register_jitable
def finish_piece(counters: np.ndarray) -> bool:
    """Note that a piece is finished; return whether it was the last one of the step."""
    return _take_one(address(counters) + _UNFINISHED) == 1


@register_jitable
def open_pieces(counters: np.ndarray, n: int) -> None:
    """Open a step of ``n`` pieces after the one that is finished; -1 means that there is none."""
    begin = address(counters)
    for counter in (begin + _UNFINISHED, begin):  # who takes a piece may finish it at once
        _replace(counter, 0, n)  # type: ignore[call-arg]


@register_jitable
def _take_one(place):
    """Subtract 1 from the number at an address if it is above 0; return what it was before."""
    while True:
        n: int = _read(place)  # type: ignore[call-arg]
        if n <= 0 or _replace(place, n, n - 1) == n:
            return n


@intrinsic
def _read(typing_context, place):
    """Return the number at an address as it is now: waiting threads do not write, and slow none."""

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        pointer = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(types.uint64), generate


@intrinsic
def _replace(typing_context, place, expected, new):
    """Write a number to an address if the expected one is there; return what was, all at once."""

    def generate(context, builder, signature, arguments):
        place, expected, new = arguments
        pointer = builder.inttoptr(place, new.type.as_pointer())
        found = builder.cmpxchg(pointer, expected, new, "seq_cst")
        return builder.extract_value(found, 0)

    return types.int64(types.uint64, types.int64, types.int64), generate
