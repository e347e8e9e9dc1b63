"""Threads: how many this process may use, and how many kernels get for a while.

Several processes share the cores, as in a search with ``n_jobs=2``. joblib tells each of its
workers what its share is; an engine that took all cores all the same would make the threads of
every process wait for those of the others, which takes several times as long.
"""

import functools
import os
from contextlib import contextmanager

import joblib
import numba as nb

#: Where joblib and users say how many; OpenMP's may be a list, of which the first counts here.
_TOLD_IN = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


@functools.cache
def threads_allowed():
    """Return how many threads this process may use: its cores, or fewer if it is told so.

    Found out once: asking the system takes longer than scoring a query.
    """
    told = (os.environ.get(name, "").split(",")[0].strip() for name in _TOLD_IN)
    return min([joblib.cpu_count(), *(int(n) for n in told if n.isdecimal() and int(n) > 0)])


@contextmanager
def kernel_threads(n_threads):
    """Give kernels so many threads for a while, but never more than the caller allows numba."""
    before = nb.get_num_threads()
    nb.set_num_threads(min(n_threads, before))
    try:
        yield
    finally:
        nb.set_num_threads(before)
