"""Machine code that comes with treerank: used as it was made, or not at all."""

import os
import platform
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numba
import pytest

import treerank
from treerank.numerics import machine_code

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")) or platform.machine() not in ("x86_64", "AMD64"),
    reason="nothing is compiled, or for another kind of processor",
)
USE = """
import sys
import numba
from numba.core import event

numba.__version__ = sys.argv[1]
compiled = []


class Noting(event.Listener):
    def on_start(self, event):
        compiled.append(event)

    def on_end(self, event):
        pass


event.register("numba:compile", Noting())
import numpy as np
import treerank
{before}
from treerank.metrics.relevance import label_gains

print(treerank.__file__, {use}, bool(compiled))
"""
#: Kernels with parallel loops and with functions of their own; and one that compiles quickly.
PAIRS = "treerank.make_objective([2, 0, 1])([0.5, 0.25, 1.0])[1].tobytes().hex()"
GAINS = "label_gains([0, 1, 2, 0], gain=[0, 1 / 3, 10]).tobytes().hex()"
#: What .ci/wheel does, for the code of this processor.
KEEPING = """
from treerank.numerics import machine_code
from treerank.numerics.kernel_cache import SharedCacheFile

for level in machine_code.LEVELS:
    (machine_code.FOLDER / level).mkdir(parents=True)
SharedCacheFile.save = lambda file, key, data: machine_code.save(file.kernel, key, data)
"""


def run(package, kernels, use=GAINS, before="", version=numba.__version__, **environment):
    """Use a kernel in a fresh process; return the result and whether it compiled."""
    done = subprocess.run(
        [sys.executable, "-c", USE.format(before=before, use=use), version],
        cwd=package.parent,  # where Python looks first
        env=os.environ | environment | {"NUMBA_CACHE_DIR": str(kernels)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    path, result, has_compiled = done.stdout.split()
    assert Path(path).parent == package
    return result, has_compiled == "True"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A copy of the package with the machine code of some kernels, and what they compute."""
    here = tmp_path_factory.mktemp("site")
    package = here / "treerank"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(treerank.__file__).parent, package, ignore=ignored)
    both = f"{PAIRS} + ',' + {GAINS}"
    results, has_compiled = run(package, tmp_path_factory.mktemp("kernels"), both, KEEPING)
    assert has_compiled
    if not files_of(package):
        pytest.skip("the processor is older than AVX2")
    package = here.rename(here.with_name("elsewhere")) / "treerank"
    return package, dict(zip((PAIRS, GAINS), results.split(","), strict=True))


def files_of(package):
    return [path for path in package.glob("machine_code/*/*/*") if path.is_file()]


@pytest.mark.parametrize("use", [PAIRS, GAINS], ids=["pairs", "gains"])
def test_a_kernel_that_came_with_treerank_is_not_compiled(made, tmp_path, use):
    package, results = made
    assert run(package, tmp_path, use) == (results[use], False)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_code_of_the_user_never_takes_the_place_of_what_came_with_treerank(made, tmp_path):
    """Else the fits of an installation would not all use the same code."""
    package, results = made
    hidden = package.with_name("hidden")
    (package / "machine_code").rename(hidden)
    assert run(package, tmp_path) == (results[GAINS], True)
    [stored] = tmp_path.rglob("*.nbc")
    hidden.rename(package / "machine_code")
    stored.write_bytes(b"not read")
    assert run(package, tmp_path) == (results[GAINS], False)


@pytest.mark.parametrize(
    "other",
    [{"version": "0"}, {"NUMBA_CPU_NAME": "generic"}],
    ids=["another numba", "an old processor"],
)
def test_machine_code_for_something_else_is_not_used(made, tmp_path, other):
    package, results = made
    assert run(package, tmp_path, **other) == (results[GAINS], True)


@pytest.mark.parametrize("change", ["source", "damage"])
def test_after_a_change_the_kernel_is_compiled(made, tmp_path, change):
    """A change of any source, as constants of one file are compiled into kernels of others."""
    original, results = made
    package = tmp_path / "treerank"
    shutil.copytree(original, package)
    if change == "source":
        with open(package / "checks.py", "a", encoding="utf-8") as file:
            file.write("# A comment.\n")
    else:
        for path in files_of(package):
            path.write_bytes(path.read_bytes()[:-100])
    assert run(package, tmp_path / "kernels") == (results[GAINS], True)


@pytest.mark.parametrize(
    ("present", "features", "level"),
    [
        (["x86-64-v4", "x86-64-v3"], "x86-64-v4", "x86-64-v4"),
        (["x86-64-v4", "x86-64-v3"], "x86-64-v3", "x86-64-v3"),
        (["x86-64-v4"], "x86-64-v3", None),
        (["x86-64-v3"], "x86-64-v4", "x86-64-v3"),
        ([], "x86-64-v4", None),
    ],
)
def test_a_processor_gets_the_best_code_that_it_runs(
    tmp_path, monkeypatch, present, features, level
):
    for name in present:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(machine_code, "FOLDER", tmp_path)
    machine_code._level.cache_clear()
    flags = ",".join([*(f"+{name}" for name in machine_code.LEVELS[features]), "-avx512fp16"])
    assert machine_code._level(flags) == level
    assert machine_code._level(flags.replace("+avx2", "-avx2")) is None
    machine_code._level.cache_clear()


def test_code_does_not_depend_on_the_folder_in_which_it_was_compiled(made):
    package, _ = made
    for path in files_of(package):
        assert b"/site0/" not in zlib.decompress(path.read_bytes())
