"""Tasks: the parts of a step of work, which threads take inside a kernel, without Python.

Threads share two counters: the number of tasks that no thread has taken, and the number of tasks
that are not finished. The thread that finishes the last task of a step opens the next step. A
thread that comes late, or never, leaves more tasks to the other threads. All threads wait for a
thread that has taken a task: if it cannot finish the task, it must set both counters to -1.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from treerank.feature_parts.histogram.histogram import address
from treerank.numerics.compiling import register_jitable

#: Bytes between the counters, so that each has a cache line of its own.
_UNFINISHED = np.uint64(128)
#: Number of times that a thread looks for a task before it yields its core.
_PATIENCE = 20_000


def new_counters(n: int = 1) -> np.ndarray:
    """Return the counters of a step of ``n`` tasks; -1 ends the threads."""
    return np.full(32, n, dtype=np.int64)


@register_jitable
def take_task(counters: np.ndarray) -> int:
    """Return the number of a task, from 1; 0 if there is none now, -1 if the work is done."""
    for _ in range(_PATIENCE):
        task = _take_one(address(counters))
        if task:
            break
    return task


@register_jitable
def finish_task(counters: np.ndarray) -> bool:
    """Count a task as finished; return whether it was the last one of the step."""
    return _take_one(address(counters) + _UNFINISHED) == 1


@register_jitable
def open_tasks(counters: np.ndarray, n: int) -> None:
    """Open a step of ``n`` tasks after a finished step; -1 ends the threads."""
    begin = address(counters)
    for counter in (begin + _UNFINISHED, begin):  # a thread that takes a task may finish it at once
        _replace(counter, 0, n)  # type: ignore[call-arg]


@register_jitable
def _take_one(location):
    """Subtract 1 from the number at an address if it is above 0; return the number before."""
    while True:
        n: int = _read(location)  # type: ignore[call-arg]
        if n <= 0 or _replace(location, n, n - 1) == n:
            return n


@intrinsic
def _read(typing_context, location):
    """Return the int64 at an address, by an atomic load.

    Unlike an atomic exchange it writes nothing, so threads that wait do not disturb the others.
    """

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        pointer = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(types.uint64), generate


@intrinsic
def _replace(typing_context, location, expected, new):
    """Write ``new`` to an address if it holds ``expected``.

    Return the number before (atomically).
    """

    def generate(context, builder, signature, arguments):
        location, expected, new = arguments
        pointer = builder.inttoptr(location, new.type.as_pointer())
        swapped = builder.cmpxchg(pointer, expected, new, "seq_cst")
        return builder.extract_value(swapped, 0)

    return types.int64(types.uint64, types.int64, types.int64), generate


@intrinsic
def uncounted(typing_context: Any, value: Any) -> Any:
    """Return arrays, or a tuple of arrays and tuples, without a count of references.

    A kernel counts the references to an array by atomic additions, for which threads that use the
    same array wait. Something else must own the arrays as long as the result is in use, such as the
    caller of the kernel.
    """

    def stripped(context, builder, kind, value):
        if isinstance(kind, types.Array):
            fields, nobody = context.data_model_manager[kind], ir.IntType(8).as_pointer()(None)
            for owner in ("meminfo", "parent"):  # of the memory, and the Python object
                value = fields.set(builder, value, nobody, owner)
            return value
        if isinstance(kind, types.BaseTuple):
            kinds: Any = kind
            parts = list[Any]()
            for i, kind_of_part in enumerate(kinds):
                part = builder.extract_value(value, i)
                parts.append(stripped(context, builder, kind_of_part, part))
            return context.make_tuple(builder, kind, parts)
        return value

    def generate(context, builder, signature, arguments):
        return stripped(context, builder, value, arguments[0])

    return value(value), generate
