"""Memory that a fit by workers of Dask keeps for its next arrays."""

import os
import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, numpy as np
from treerank.distributed.freed_memory import keeping_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(500_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
first = faults()
with keeping_freed_memory():
    faults()
    inside = faults()
    try:
        with keeping_freed_memory():
            raise KeyError
    except KeyError:
        pass
    with keeping_freed_memory():
        pass
print(first, inside, faults())
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc",
    reason="only the GNU C library has a threshold for freed memory",
)


def page_faults(threshold):
    """Return the page faults of arrays before, in and after a block."""
    environment = {k: v for k, v in os.environ.items() if k != "MALLOC_TRIM_THRESHOLD_"}
    if threshold is not None:
        environment["MALLOC_TRIM_THRESHOLD_"] = threshold
    run = [sys.executable, "-c", FAULTS]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    return list(map(int, done.stdout.split()))


def test_freed_memory_is_kept_in_the_block_alone():
    """50 arrays of 4 MB are 48,800 pages, which the system clears anew unless they are kept."""
    before, inside, after = page_faults("65536")
    assert before > 40_000
    assert inside < 2_000
    assert after > 40_000


def test_other_processes_are_left_alone():
    """Where Dask has set nothing, the C library keeps memory by itself."""
    assert max(page_faults(None)) < 2_000
