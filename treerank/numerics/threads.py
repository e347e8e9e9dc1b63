"""Threads: how many this process may use, and how many kernels get for a while.

Threads that work together wait for each other, up to a time slice of the system where something
else runs on one of the cores. So few documents get one thread: a second would save microseconds
and may cost milliseconds, at every call. And several processes share the cores, as in a search
with ``n_jobs=2``: joblib tells each of its workers its share, and none takes more.
"""

import functools
import os
from contextlib import contextmanager
from contextvars import ContextVar

import joblib
import numba as nb

#: Documents below which a second thread does not pay; kernels take 20 ns or so for each.
FEW_DOCUMENTS = 20_000
_few = ContextVar("_few", default=FEW_DOCUMENTS)
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
def kernel_threads(n_threads, *, few=None):
    """Give kernels so many threads for a while, but never more than the caller allows numba.

    ``few`` is another number of documents for :func:`threads_for`.
    """
    before = nb.get_num_threads()
    nb.set_num_threads(min(n_threads, before))
    token = _few.set(_few.get() if few is None else few)
    try:
        yield
    finally:
        _few.reset(token)
        nb.set_num_threads(before)


def threads_for(n_documents):
    """Return a context in which kernels on few documents run on one thread."""
    return kernel_threads(1 if n_documents < _few.get() else nb.get_num_threads())
