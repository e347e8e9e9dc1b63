"""What a process of ``bench_growth.py`` does: one family of functions at the sizes of one axis."""

import ctypes
import gc
import json
import tempfile
import time
from pathlib import Path

from growth_data import Data
from growth_verbs import FAMILIES

#: Sizes of each axis, as rows, features and documents per query.
AXES = {
    "rows": [(n, 136, 100) for n in (10_000, 100_000, 1_000_000)],
    "rows of 10 features": [(n, 10, 100) for n in (10_000, 100_000, 1_000_000, 10_000_000)],
    "features": [(4000, d, 100) for d in (10, 100, 1000, 5000)],
    "documents per query": [(100_000, 100, m) for m in (1, 10, 100, 1000, 10_000, 100_000)],
}
SMALL = Data(1000, 10, 10)
#: Calls are repeated until they took so many seconds, and up to three times if that takes no longer
#: than the second number: the first one also waits for memory that is fresh from the system.
LEAST_SECONDS, MOST_SECONDS, CALLS = 0.05, 10, 3


def resident(which):
    """Return the resident bytes of this process: those now (VmRSS), or their peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(which)))


def measured(function):
    """Return the processor time of a call and the bytes that it holds at most."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # sets the peak to what is now
    before, times = resident("VmRSS"), []
    while not times or sum(times) < (MOST_SECONDS if len(times) < CALLS else LEAST_SECONDS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times), resident("VmHWM") - before


def measure_family(family, axis, most_seconds, most_rows):
    """Print time and memory of each function at each size as JSON."""
    places = {"rows": 0, "rows of 10 features": 0, "features": 1, "documents per query": 2}
    slow = set()
    with tempfile.TemporaryDirectory() as folder:
        for function in FAMILIES[family](SMALL, Path(folder)).values():
            function()  # compiles
        for sizes in (each for each in AXES[axis] if each[0] <= most_rows):
            data = Data(*sizes)
            for name, function in FAMILIES[family](data, Path(folder)).items():
                if name in slow:
                    continue
                try:
                    seconds, extra = measured(function)
                except ValueError:  # such as a report on queries of a single document
                    continue
                if seconds > most_seconds:
                    slow.add(name)
                size = sizes[places[axis]]
                print(json.dumps([name, size, seconds, extra / data.X.nbytes]), flush=True)
