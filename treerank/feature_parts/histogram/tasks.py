"""Tasks: the parts of a step of work, which threads take inside a kernel, without Python.

Each task is open, taken or not there, and threads share the number of tasks that are not finished.
A thread takes its own task, the one with its number, so that it finds in its cache what it left
there in the step before. Now and then it looks for others that nobody has taken: a thread that
comes late, or never, leaves more tasks to the other threads. The thread that finishes the last task
of a step opens the next step.

Where no task waits for another, tasks are opened one by one instead: a thread that has finished one
takes the lock, opens what there is to do, and releases the lock. The number of tasks is the lock.

All threads wait for a thread that has taken a task: if it cannot finish the task, it must set all
counters to -1, which ends the threads.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from treerank.numerics.compiling import register_jitable

#: Numbers of 64 bits between two counters, so that each has a cache line of its own.
_APART = 16
#: Number of times that a thread looks for its own task before it looks once for each other; and the
#: product of both is how often it looks before it yields its core.
_OWN, _PATIENCE = 256, 400


def new_counters(n_most: int, n: int) -> np.ndarray:
    """Return the counters of a step of ``n`` tasks.

    ``n_most`` is the largest number of tasks of a step. The first counter is the number of tasks
    that are not finished, or the lock. The others are 1 for a task that is open.
    """
    counters = np.zeros((1 + n_most, _APART), dtype=np.int64)
    counters[0], counters[1 : 1 + n] = n, 1
    return counters


@register_jitable
def take_task(counters: np.ndarray, thread: int) -> int:
    """Return the number of a task, from 1; 0 if there is none now, -1 if the work is done."""
    begin, n, own = np.uint64(counters.ctypes.data), len(counters), np.int64(thread) + 1
    for look in range(_PATIENCE * _OWN):
        other = look % (n + _OWN)
        task = other if 0 < other < n and look > _OWN else own
        state: int = _read(begin, task)  # type: ignore[call-arg]
        if state < 0:
            return -1
        if state > 0 and _replace(begin, task, 1, 0) == 1:
            return task
    return 0


@register_jitable
def finish_task(counters: np.ndarray) -> bool:
    """Count a task as finished; return whether it was the last one of the step."""
    begin = np.uint64(counters.ctypes.data)
    while True:
        n: int = _read(begin, 0)  # type: ignore[call-arg]
        if n <= 0 or _replace(begin, 0, n, n - 1) == n:
            return n == 1


@register_jitable
def open_tasks(counters: np.ndarray, n: int) -> None:
    """Open a step of ``n`` tasks after a finished step; -1 ends the threads.

    The thread may hold the lock, which is released. If threads end, others may still do a task.
    """
    begin, last = np.uint64(counters.ctypes.data), n if n > 0 else len(counters) - 1
    for task in range(last + 1):  # their number first: a thread that takes a task may finish it
        state: int = _read(begin, task)  # type: ignore[call-arg]
        while state >= 0 and _replace(begin, task, state, 1 if task > 0 and n > 0 else n) != state:
            state = _read(begin, task)


@register_jitable
def open_task(counters: np.ndarray, task: int) -> None:
    """Open one task, from 1, whose end no other task waits for."""
    _replace(np.uint64(counters.ctypes.data), task, 0, 1)  # type: ignore[call-arg]


@register_jitable
def lock(counters: np.ndarray) -> bool:
    """Wait until no other thread has the lock, and take it; return False if the work is done.

    Only where tasks are opened one by one. The thread does not yield its core: others have the lock
    for a few microseconds, unless the system takes their cores from them.
    """
    begin = np.uint64(counters.ctypes.data)
    while True:
        state: int = _read(begin, 0)  # type: ignore[call-arg]
        if state < 0 or (state == 0 and _replace(begin, 0, 0, 1) == 0):
            return state == 0


@register_jitable
def unlock(counters: np.ndarray) -> None:
    """Release the lock."""
    _replace(np.uint64(counters.ctypes.data), 0, 1, 0)  # type: ignore[call-arg]


@intrinsic
def _read(typing_context, begin, i):
    """Return counter ``i`` of those at an address, by an atomic load.

    Unlike an atomic exchange it writes nothing, so threads that wait do not disturb the others.
    """

    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_pointer(builder, *arguments), "seq_cst", 8)

    return types.int64(types.uint64, types.int64), generate


@intrinsic
def _replace(typing_context, begin, i, expected, new):
    """Write ``new`` to counter ``i`` of those at an address if it is ``expected``.

    Return the number before (atomically).
    """

    def generate(context, builder, signature, arguments):
        begin, i, expected, new = arguments
        place = _pointer(builder, begin, i)
        return builder.extract_value(builder.cmpxchg(place, expected, new, "seq_cst"), 0)

    return types.int64(types.uint64, *[types.int64] * 3), generate


def _pointer(builder, begin, i):
    """Return a pointer to counter ``i`` of those at an address."""
    place = builder.add(begin, builder.mul(i, ir.IntType(64)(8 * _APART)))
    return builder.inttoptr(place, ir.IntType(64).as_pointer())


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
