"""Kernels on disk: each version has its own, and so has each set of parts."""

import gc
import os
import subprocess
import sys
from threading import Thread

import numba
import numpy as np
import pytest
from numba import prange
from numba.core.codegen import JITCodeLibrary
from numba.core.errors import TypingError

from treerank.metrics.ranked import totals_kernel
from treerank.metrics.registry import METRICS
from treerank.numerics.compiling import kernel_for, njit, register_jitable
from treerank.numerics.kernel_cache import SharedCacheFile
from treerank.objectives.kernels.exact_pairs import exact_kernel
from treerank.objectives.losses import PAIR_LOSSES

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled"
)
LOSSES = list(PAIR_LOSSES.values())
SCRIPT = """
import importlib.metadata as metadata, sys
metadata.version = lambda name, known=metadata.version: (
    sys.argv[1] if name == "treerank" else known(name)
)
import numpy as np
from treerank.metrics.relevance import _look_up
gains = np.empty(1)
assert _look_up(np.array([1.0]), np.array([0.0, 3.0]), gains) == 1 and gains[0] == 3
print(sum(_look_up.stats.cache_hits.values()))
"""

#: Sums that may be reordered, of a function and of a parallel loop.
KERNELS = """
import sys
from threading import Thread
import numpy as np
from numba import prange
from treerank.numerics.compiling import njit

FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


@njit(fastmath=FASTMATH, error_model="numpy")
def pull(row):
    total, other = np.float32(0), np.float32(0)
    for j in range(np.uint64(len(row)) // np.uint64(16) * np.uint64(16)):
        r = np.float32(1) / (row[j] + np.float32(2))
        total += r * row[j]
        other += r
    return total - other


@njit(fastmath=FASTMATH, error_model="numpy")
def pull_each(x):
    found = np.empty(len(x), np.float32)
    for q in range(len(x)):
        found[q] = pull(x[q])
    return found


@njit(parallel=True, fastmath=FASTMATH, error_model="numpy")
def pull_all(x):
    found = np.empty(len(x), np.float32)
    for q in prange(len(x)):
        total, other, row = np.float32(0), np.float32(0), x[q]
        for j in range(np.uint64(len(row)) // np.uint64(16) * np.uint64(16)):
            r = np.float32(1) / (row[j] + np.float32(2))
            total += r * row[j]
            other += r
        found[q] = total - other
    return found


x = np.random.default_rng(0).random((50, 1000), np.float32)
for name in sys.argv[1:]:
    print(np.float32(globals()[name](x[0] if name == "pull" else x)).tobytes().hex())
"""

#: A stored kernel, one that numba has to compile, and one that numba makes of the stored one.
LOADING = """
import sys
import numba
import numpy as np
from treerank.numerics.compiling import njit


@njit
def halves(x):
    found = np.sort(x)
    for i in range(len(found)):
        found[i] /= 2
    return found


def intermediate_form():
    [kernel] = halves.overloads.values()
    return kernel.library._shared_module


print(halves(np.array([4.0, 2.0])), "numba.np.linalg" in sys.modules)
print(numba.njit(lambda x: np.sort(x) + np.ones(2))(halves(np.array([2.0, 4.0]))))
before = intermediate_form() is not None
print(numba.njit(lambda x: halves(x))(np.array([6.0, 2.0])), before, bool(intermediate_form()))
"""

UNKNOWN_NUMBA = """
from treerank.numerics import compiler_shortcuts

compiler_shortcuts._KNOWN = (0, 0), (0, 0)
"""


def run(script, folder, *words):
    """Run a script in a process that stores its kernels in a folder; return its lines."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, *script, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_another_version_compiles_its_own_kernels(tmp_path):
    hits = [run(["-c", SCRIPT], tmp_path, version) for version in ("1", "1", "2", "2")]
    assert hits == [["0"], ["1"], ["0"], ["1"]]


def test_a_kernel_gives_the_same_bits_compiled_and_from_disk_in_any_order(tmp_path):
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    compiled = run([script], tmp_path / "one", "pull_all", "pull_each", "pull")
    assert run([script], tmp_path / "one", "pull_all", "pull_each", "pull") == compiled
    assert run([script], tmp_path / "two", "pull", "pull_each", "pull_all") == compiled[::-1]
    assert run([script], tmp_path / "two", "pull_all", "pull_each") == compiled[:2]
    assert run([script], tmp_path / "three", "pull") == compiled[2:]
    assert run([script], tmp_path / "three", "pull_each", "pull") == compiled[1:]


def test_a_stored_kernel_needs_nothing_that_only_a_compiler_does(tmp_path):
    script = tmp_path / "kernels.py"
    script.write_text(LOADING)
    compiled, loaded = (run([script], tmp_path / "stored") for _ in range(2))
    assert compiled == ["[1. 2.] True", "[2. 3.]", "[1. 3.] True True"]
    assert loaded == ["[1. 2.] False", "[2. 3.]", "[1. 3.] False True"]
    script.write_text(UNKNOWN_NUMBA + LOADING)
    assert run([script], tmp_path / "other") == run([script], tmp_path / "other") == compiled


def test_numba_has_the_step_that_gives_kernels_their_own_copies():
    """Without it nothing fails, but kernels lose the promise of the test before."""
    assert callable(JITCodeLibrary._optimize_final_module)


@pytest.fixture
def machine_code(monkeypatch):
    """Names of the functions that become machine code."""
    names, finalize = [], JITCodeLibrary._finalize_specific

    def finalize_and_note(library):
        if library.name != "nrt":  # numba's own, once per process
            names.append(library.name)
        finalize(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", finalize_and_note)
    return names


def test_what_a_kernel_copies_becomes_no_machine_code(machine_code):
    @register_jitable
    def double(x):
        return 2 * x

    @kernel_for(parallel=True)
    def double_all(x):
        for i in prange(len(x)):
            x[i] = double(x[i])

    x = np.arange(3.0)
    double_all(x)
    assert x.tolist() == [0, 2, 4]
    assert machine_code == [double_all.py_func.__qualname__]


def test_python_may_call_a_function_that_was_compiled_for_a_kernel(machine_code):
    @numba.njit
    def triple(x):
        return 3 * x

    @kernel_for(triple)
    def add_triple(x):
        return x + triple(x)

    assert add_triple(2.0) == 8
    assert len(machine_code) == 2
    assert triple(2.0) == 6
    assert len(machine_code) == 2


def test_kernels_for_different_parts_never_share_a_file():
    totals = {type(metric).list_total for metric in METRICS.values()}  # some metrics share one
    kernels = [totals_kernel(total) for total in totals]
    kernels += [exact_kernel(loss.of_margin, np.maximum, False, False) for loss in LOSSES]
    kernels += [exact_kernel(LOSSES[0].of_margin, np.maximum, True, False)]
    names = {kernel.py_func.__qualname__ for kernel in kernels}
    assert len(names) == len(totals) + len(LOSSES) + 1


def test_processes_that_store_code_at_the_same_time_keep_both(tmp_path):
    first, second = (SharedCacheFile(str(tmp_path), "kernel", "stamp") for _ in range(2))
    beside = Thread(target=second.save, args=("double", "for double"))

    class Slow(SharedCacheFile):
        def _save_index(self, overloads):
            beside.start()
            beside.join(0.2)
            super()._save_index(overloads)

    first.__class__ = Slow
    first.save("single", "for single")
    beside.join()
    assert [second.load(key) for key in ("single", "double")] == ["for single", "for double"]


@pytest.mark.parametrize("is_collecting", [True, False])
def test_garbage_is_collected_after_compiling_as_it_was_before(is_collecting):
    seen = []

    @register_jitable
    def part(x):
        return x.shape if isinstance(x, tuple) else x  # a tuple has no shape

    try:
        (gc.enable if is_collecting else gc.disable)()
        kernel = njit(lambda x: part(x))
        kernel(1)
        seen.append(gc.isenabled())
        with pytest.raises(TypingError):
            kernel((1, 2))
        seen.append(gc.isenabled())
    finally:
        gc.enable()
    assert seen == [is_collecting] * 2
