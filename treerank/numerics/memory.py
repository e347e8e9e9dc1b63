"""Memory: what is free goes back to the system.

The allocator of the C library keeps free memory below memory in use, and asks the system for more
where none of the free pieces is large enough. So memory that was needed for a moment would still
be there when a fit needs most.
"""

import ctypes
import sys
from functools import cache


def give_back() -> None:
    """Give free memory back to the system, where the C library can: that of Linux, mostly."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim():
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
