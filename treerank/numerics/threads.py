"""Threads: how many this process may use, and how many a compiled kernel gets.

A kernel on few documents gets one thread. Threads wait for each other at the end of every call,
for milliseconds if another program uses one of the cores, and a second thread would save only
microseconds. If several processes share the cores, as in a search with ``n_jobs=2``, each process
takes the share that joblib gives it.

:func:`in_parts` runs a kernel in threads of Python, and :func:`in_threads` any other function. No
kernel has a parallel loop of numba: such loops take long to compile, and after one, GNU's OpenMP
aborts each forked process that runs another one.
"""

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import pairwise, zip_longest
from typing import Any

import joblib
import numba as nb
import numpy as np

#: A kernel gets one thread for fewer documents.
FEW_DOCUMENTS = 20_000
#: With more threads per core, threads only wait for each other.
MOST_THREADS_PER_CORE = 4
#: Variables by which joblib and users limit the number. Of a list, the first number counts.
_ENVIRONMENT_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


@functools.cache
def threads_allowed() -> int:
    """Return how many threads this process may use: its cores, or fewer by the environment.

    The answer is stored, because asking the system takes longer than scoring a query.
    """
    limits = (os.environ.get(name, "").split(",")[0].strip() for name in _ENVIRONMENT_VARIABLES)
    return min([joblib.cpu_count(), *(int(n) for n in limits if n.isdecimal() and int(n) > 0)])


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: -1 and ``None`` are all, -2 is one less.

    Engines end the process if they cannot start all threads, so there is a largest number.

    Examples
    --------
    >>> threads_of(3), threads_of(10**10) < 10**5
    (3, True)
    """
    if n_jobs is None or n_jobs < 0:
        return max(1, threads_allowed() + 1 + int(n_jobs or -1))
    return min(int(n_jobs), _most_threads())


@functools.cache
def _most_threads():
    return MOST_THREADS_PER_CORE * joblib.cpu_count()


@contextmanager
def kernel_threads(n_threads: int) -> Iterator[None]:
    """Give kernels ``n_threads`` threads inside the block, but not more than they have outside."""
    before = nb.get_num_threads()
    nb.set_num_threads(min(n_threads, before))
    try:
        yield
    finally:
        nb.set_num_threads(before)


def threads_for(n_documents: float) -> AbstractContextManager[None]:
    """Return a context in which kernels run on one thread if there are few documents."""
    before = nb.get_num_threads()
    return kernel_threads(1) if before > 1 and n_documents < FEW_DOCUMENTS else nullcontext()


def in_parts(kernel: Callable[..., None], ends: np.ndarray | int, *arguments: Any) -> None:
    """Split queries among threads, each of which calls ``kernel(first, last, *arguments)`` once.

    ``first`` and ``last`` delimit consecutive queries. ``ends`` has the first row of each query and
    then the number of rows, so that threads get about equally many documents; or it is the number
    of queries, if all are equally long. The kernel must release Python's lock (``nogil``); threads
    that wait here sleep. Called inside one of these threads, the kernel runs on all queries at
    once.

    Examples
    --------
    >>> is_done = np.zeros(3, dtype=bool)
    >>> def work(first, last):
    ...     is_done[first:last] = True
    >>> in_parts(work, np.array([0, 5, 7, 9]))
    >>> is_done
    array([ True,  True,  True])
    """
    n = ends if isinstance(ends, int) else len(ends) - 1
    n_parts = min(nb.get_num_threads(), n)
    if n_parts <= 1:
        kernel(0, n, *arguments)
        return
    shares = np.arange(1, n_parts)
    if isinstance(ends, int):
        middle = -(-shares * n // n_parts)  # this thread begins first
    else:
        middle = np.searchsorted(ends, shares * ends[-1] // n_parts)
    first_part, *other_parts = pairwise([0, *middle.tolist(), n])
    submit, calls = _pool(n_parts - 1).submit, list[Future[None]]()
    with suppress(RuntimeError):  # pools take no calls once the main thread has ended
        calls.extend(submit(kernel, *part, *arguments) for part in other_parts)
    try:
        kernel(*first_part, *arguments)
        for call, part in zip_longest(calls, other_parts):
            if call is None or call.cancel():  # no thread has begun it
                kernel(*part, *arguments)
    finally:
        begun = [call for call in calls if not call.cancelled()]
        wait(begun)  # so that no thread writes to the arrays any more, even after an error
    for call in begun:
        call.result()


def in_turn(*calls: tuple[Any, ...]) -> Callable[[int, int], None]:
    """Return a kernel for :func:`in_parts` that calls several one after the other, without waits.

    Each of ``calls`` is ``(kernel, *arguments)``.

    Examples
    --------
    >>> x = np.zeros(4, dtype=int)
    >>> def add(first, last, y):
    ...     x[first:last] += y
    >>> in_parts(in_turn((add, 1), (add, 2)), 4)
    >>> x
    array([3, 3, 3, 3])
    """

    def call_all(first: int, last: int) -> None:
        for kernel, *arguments in calls:
            kernel(first, last, *arguments)

    return call_all


def in_threads(n_threads: int, function: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
    """Return ``list(map(function, *columns))``, computed by threads.

    The function must not call :func:`in_threads`: it would wait for the threads that run it.

    Examples
    --------
    >>> in_threads(2, pow, [2, 3], [5, 2])
    [32, 9]
    """
    if n_threads == 1:
        return list(map(function, *columns))
    submit, calls = _pool(n_threads).submit, list[Future[Any]]()
    arguments = list(zip(*columns, strict=True))
    with suppress(RuntimeError):  # pools take no calls once the main thread has ended
        calls.extend(submit(function, *entries) for entries in arguments)
    try:
        left = [function(*entries) for entries in arguments[len(calls) :]]
        return [*(call.result() for call in calls), *left]
    finally:  # after an error or an interrupt, calls that have not begun are cancelled
        for call in calls:
            call.cancel()
        wait(calls)


@functools.cache
def _pool(n_threads):
    return ThreadPoolExecutor(n_threads, initializer=nb.set_num_threads, initargs=(1,))


if hasattr(os, "register_at_fork"):  # a new process has none of the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
