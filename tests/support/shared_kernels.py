"""Kernels that threads share, whatever the number of documents."""

from contextlib import contextmanager
from unittest.mock import patch

from treerank.numerics import threads


@contextmanager
def shared_by(n_threads):
    """Give kernels ``n_threads`` threads inside the block, also for few documents."""
    with patch.object(threads, "FEW_DOCUMENTS", 0), threads.kernel_threads(n_threads):
        yield
