"""Kernels on disk: where they are, whose they are, and that they compute what fresh ones do."""

import gc
import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core import event

import treerank
from treerank.feature_parts.histogram import grower, tree
from treerank.metrics.ranked import totals_kernel
from treerank.metrics.registry import METRICS
from treerank.numerics import compiling, kernel_folder
from treerank.numerics.compiling import for_kernel, kernel_for, njit
from treerank.numerics.random_keys import uniforms_of_many
from treerank.objectives.pairs.exact_pairs import exact_kernel
from treerank.objectives.pairs.losses import PAIR_LOSSES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled"),
]
PACKAGE = Path(treerank.__file__).parent
LOSSES = list(PAIR_LOSSES.values())
#: Fits and derivatives whose kernels add up in any order; prints bits, and what was compiled.
BITS = """
import numpy as np
from treerank import SoftTrees, TreeDirectRanker, make_objective, make_web_search
from treerank.objectives.pairs import fast_pairs

X, y, qid = make_web_search(12, documents_per_query=90, n_features=8, random_state=0)
scores = np.random.default_rng(0).normal(size=len(y))
for settings in (
    {"weight": "ndcg"},
    {"weight": "map", "loss": "fidelity"},
    {"loss": "half_squared_tanh"},
    {"weight": "ndcg", "k": 3, "pairs": "top_10"},
    {"loss": "listnet"},
):
    objective = make_objective(y, qid, **settings)
    print(*[array.tobytes().hex() for array in objective.derivatives(scores)])
ranker = TreeDirectRanker(SoftTrees(n_epochs=1), random_state=0)
print(ranker.fit(X, y, qid).predict(X).tobytes().hex())
kernel = fast_pairs.kernel_of(make_objective(y, qid, weight="ndcg"))
print(sum(kernel.stats.cache_hits.values()))
"""
DRAWS = """
import numpy as np
from treerank.numerics.random_keys import uniforms_of_many
uniforms_of_many(0, 0, np.arange(3))
print(sum(uniforms_of_many.stats.cache_hits.values()), uniforms_of_many.stats.cache_path)
"""


def run(script, folder, package=Path(treerank.__file__).parent, **environment):
    """Run a script in a process that stores kernels in a folder; return its lines."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=package.parent,  # where Python looks first
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)} | environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_stored_kernels_have_the_bits_of_fresh_ones(tmp_path):
    *fresh, hits = run(BITS, tmp_path)
    assert hits == "0"
    *stored, hits = run(BITS, tmp_path)
    assert hits == "1"
    assert stored == fresh


@pytest.fixture
def package(tmp_path):
    """Some source files of treerank, in a folder of their own."""
    here = Path(treerank.__file__).parent
    package = tmp_path / "site" / "treerank"
    for path in (*here.rglob("*.py"), *here.rglob("*.pyi")):
        copy = package / path.relative_to(here)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return package


def test_kernels_are_compiled_anew_after_an_edit_of_a_file_and_in_another_folder(package, tmp_path):
    folder = tmp_path / "kernels"
    assert run(DRAWS, folder, package)[0].split()[0] == "0"
    hits, path = run(DRAWS, folder, package)[0].split()
    assert hits == "1"
    assert Path(path).is_relative_to(folder / "treerank")
    edit(package / "numerics" / "random_keys.py")
    assert run(DRAWS, folder, package)[0].split()[0] == "0"
    moved = package.parent.rename(tmp_path / "elsewhere") / "treerank"
    assert run(DRAWS, folder, moved)[0].split()[0] == "0"
    assert not [*moved.rglob("*.nbi"), *moved.rglob("*.nbc")]


def edit(path):
    with open(path, "a", encoding="utf-8") as file:
        file.write("# A comment.\n")


#: A kernel of a module that imports compiled functions of others.
SORTED = """
import numpy as np
from treerank.objectives.pairs.ranking import _sort_by_merging
one = np.zeros(1)
_sort_by_merging(np.arange(1), one, np.arange(2), np.zeros(1, np.int32), one)
print(sum(_sort_by_merging.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    ("file", "is_kept"),
    [
        ("numerics/sorting.py", False),  # compiled into the kernel
        ("numerics/compiling.py", False),
        ("objectives/pairs/problem.py", True),
        ("metrics/base.py", True),
    ],
)
def test_kernels_stay_where_no_file_of_theirs_changes(file, is_kept, package, tmp_path):
    assert run(SORTED, tmp_path / "kernels", package) == ["0"]
    edit(package / file)
    assert run(SORTED, tmp_path / "kernels", package) == ["1" if is_kept else "0"]


#: What a kernel may read of a module without kernels: types, which are part of its signature.
def constants_from_elsewhere(path):
    """Yield the numbers and arrays that a module with kernels imports from one without."""
    text = path.read_text(encoding="utf-8")
    for module, names in kernel_folder._IMPORT.findall(text):
        made = importlib.import_module(module)
        source = Path(made.__file__)
        if source.is_relative_to(PACKAGE) and "numerics.compiling" not in source.read_text("utf-8"):
            for name in re.findall(r"\w+", names):
                if isinstance(getattr(made, name, None), int | float | np.ndarray | np.generic):
                    yield f"{name} of {module}"


def test_kernels_read_numbers_of_modules_with_kernels_alone():
    """Else a stored kernel would outlive a change of the number."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "numerics.compiling import" in text:
            assert not re.search(r"^ *import treerank", text, re.MULTILINE)
            found[path.stem] = [*constants_from_elsewhere(path)]
    by_python_alone = {"graded_metrics": ["MAX_LABEL of treerank.documents.gains"]}
    assert {stem: names for stem, names in found.items() if names} == by_python_alone


def test_kernels_are_compiled_anew_after_an_edit_of_their_named_tuples():
    """Numba tells named tuples apart by name: stored code would read fields of the old order."""
    assert grower.Growth is tree.Growth
    assert tree.__file__ in kernel_folder._imports_of(grower.__file__)


class Collecting(event.Listener):
    """Records whether Python collects garbage when a compilation begins."""

    def __init__(self):
        self.recorded = []

    def on_start(self, event):
        self.recorded.append(gc.isenabled())

    def on_end(self, event):
        pass


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("argument", [np.arange(3), "not an array"])
def test_garbage_is_not_collected_during_compilation_and_afterwards_as_before(argument, is_enabled):
    listener, kernel = Collecting(), numba.njit(uniforms_of_many.py_func)
    (gc.enable if is_enabled else gc.disable)()
    try:
        with event.install_listener("numba:compile", listener):
            if isinstance(argument, str):
                with pytest.raises(numba.core.errors.TypingError):
                    kernel(0, 0, argument)
            else:
                kernel(0, 0, argument)
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()
    assert listener.recorded[0] is False


def test_functions_of_the_user_are_compiled_as_by_numba_alone():
    """Also one without a module, as ``exec`` makes them."""
    listener, names = Collecting(), {}
    exec("def double(x):\n    return 2 * x", names)
    names["double"].__module__ = None
    with event.install_listener("numba:compile", listener):
        assert numba.njit(names["double"])(3) == 6
    assert listener.recorded == [True]
    assert kernel_for(names["double"])(run).stats.cache_path is None


class Leveling(event.Listener):
    """Records the level of optimization at which each function is compiled."""

    def __init__(self):
        self.recorded = {}

    def on_start(self, event):
        self.recorded[event.data["dispatcher"].py_func.__name__] = int(numba.config.OPT)

    def on_end(self, event):
        pass


def kernel_at_level_one():
    """Return a kernel that calls a function of this package and one of the user, all new."""

    def ours(x):
        return x + 1

    def users(x):
        return 2 * x

    ours.__module__ = "treerank.numerics.compiling"
    users.__module__ = "of_a_user"
    inner, other = numba.njit(ours), numba.njit(users)

    def quickly(x):
        return inner(x) + other(x)

    quickly.__module__ = ours.__module__
    return kernel_for(optimization=1)(quickly), numba.njit(users)


def levels_of(compiled, argument=1):
    listener = Leveling()
    with event.install_listener("numba:compile", listener):
        compiled(argument)
    return listener.recorded


def test_a_kernel_has_its_level_and_other_functions_keep_numbas(monkeypatch):
    monkeypatch.delenv("NUMBA_OPT", raising=False)
    before = numba.config.OPT
    kernel, users = kernel_at_level_one()
    assert levels_of(kernel) == {"quickly": 1, "ours": 1, "users": 3}
    assert numba.config.OPT is before
    assert levels_of(users) == {"users": 3}


def test_the_level_is_restored_after_each_function(monkeypatch):
    monkeypatch.delenv("NUMBA_OPT", raising=False)
    before, levels = numba.config.OPT, []

    def alone(x):
        return x + 1

    alone.__module__ = "treerank.numerics.compiling"
    assert kernel_for(optimization=1)(alone)(1) == 2
    assert numba.config.OPT is before
    kernel, _ = kernel_at_level_one()
    end = compiling._Levels.on_end

    def recorded(self, event):
        end(self, event)
        levels.append((event.data["dispatcher"].py_func.__name__, int(numba.config.OPT)))

    monkeypatch.setattr(compiling._Levels, "on_end", recorded)
    kernel(1)
    assert levels == [("ours", 1), ("users", 1), ("quickly", 3)]


def test_the_level_is_restored_after_a_compilation_that_fails(monkeypatch):
    monkeypatch.delenv("NUMBA_OPT", raising=False)
    before = numba.config.OPT
    kernel, _ = kernel_at_level_one()
    with pytest.raises(numba.core.errors.TypingError):
        kernel("not a number")
    assert numba.config.OPT is before


@pytest.mark.parametrize("level", ["0", "2", "3", "max"])
def test_the_level_of_the_user_wins(level, tmp_path):
    script = """
import sys, numba
sys.path.append(".")
from tests.numerics.test_compiling import kernel_at_level_one, levels_of
print(*levels_of(kernel_at_level_one()[0]).values())
numba.config.OPT = type(numba.config.OPT)(2)
print(*levels_of(kernel_at_level_one()[0]).values())
"""
    chosen = 3 if level == "max" else int(level)
    assert run(script, tmp_path, NUMBA_OPT=level) == [f"{chosen} " * 2 + f"{chosen}", "2 2 2"]


def test_untested_versions_of_numba_keep_their_level(monkeypatch):
    monkeypatch.delenv("NUMBA_OPT", raising=False)
    monkeypatch.setattr(compiling, "TESTED_VERSIONS", ((0, 0), (0, 0)))
    assert set(levels_of(kernel_at_level_one()[0]).values()) == {3}


def test_kernels_go_to_the_cache_folder_of_the_user(tmp_path):
    variables = {
        "XDG_CACHE_HOME": str(tmp_path),
        "LOCALAPPDATA": str(tmp_path),
        "HOME": str(tmp_path),
    }
    (line,) = run(DRAWS, "", **variables)
    assert Path(line.split()[1]).is_relative_to(tmp_path)


def test_where_the_folder_cannot_be_written_nothing_is_stored(package, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for _ in range(2):
        assert run(DRAWS, tmp_path / "file", package) == ["0 None"]
    assert not [*package.rglob("*.nbi")]


def test_folders_that_no_process_uses_are_removed_and_nothing_else(tmp_path):
    old = time.time() - (kernel_folder.DAYS + 1) * 24 * 3600
    ages = {"a-numba-1-x": old, "a-numba-1-y": None, "a.b-numba-1-x": old, "a": old}
    for name, used in ages.items():
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, used and (used, used))
    kernel_folder.remove_unused(tmp_path, "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a-numba-1-y", "a.b-numba-1-x"]
    kernel_folder.remove_unused(tmp_path / "not there", "a")


def test_numba_stores_other_functions_where_it_did():
    before = numba.config.CACHE_DIR
    njit(lambda x: x)
    assert before == numba.config.CACHE_DIR


def test_kernels_for_different_parts_never_share_a_file():
    totals = {type(metric).list_total for metric in METRICS.values()}  # some metrics share one
    kernels = [totals_kernel(total) for total in totals]
    kernels += [exact_kernel(loss.of_margin, np.maximum, False, False) for loss in LOSSES]
    kernels += [exact_kernel(LOSSES[0].of_margin, np.maximum, True, False)]
    names = {kernel.py_func.__qualname__ for kernel in kernels}
    assert len(names) == len(totals) + len(LOSSES) + 1


@pytest.mark.parametrize("part", [numba.njit(lambda x: x), lambda x: x])
def test_kernels_with_functions_of_the_user_are_not_stored(part):
    kernel = kernel_for(part)(run)
    assert kernel.stats.cache_path is None


class LocksOfWindows:
    """The module ``msvcrt``, which locks bytes of a file, over the locks of this system."""

    LK_LOCK, LK_UNLCK = 1, 0

    def locking(self, descriptor, mode, n_bytes):
        import fcntl

        assert os.path.isfile(f"/proc/self/fd/{descriptor}")
        fcntl.flock(descriptor, fcntl.LOCK_EX if mode == self.LK_LOCK else fcntl.LOCK_UN)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="tells which files are open")
@pytest.mark.parametrize("system", ["here", "on Windows"])
def test_a_kernel_is_stored_while_no_other_process_stores_one(system, tmp_path, monkeypatch):
    monkeypatch.delenv("TREERANK_PLAIN_NUMBA", raising=False)
    if system == "on Windows":
        monkeypatch.setattr(compiling, "fcntl", None)
        monkeypatch.setattr(compiling, "msvcrt", LocksOfWindows())
    inside, free = Event(), Event()

    def save(types, code):
        inside.set()
        assert free.wait(60)

    threads = []
    for _ in range(2):
        stored = SimpleNamespace(cache_path=str(tmp_path), save_overload=save)
        compiling.lock_writes(SimpleNamespace(_cache=stored))
        threads.append(Thread(target=stored.save_overload, args=("types", "code")))
    threads[0].start()
    assert inside.wait(60)
    inside.clear()
    threads[1].start()
    assert not inside.wait(0.2)
    free.set()
    assert inside.wait(60)
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("plain", ["by name", "by version", "not at all"])
def test_numba_has_the_part_that_is_replaced_unless_switched_off_or_untested(plain, monkeypatch):
    """Without it nothing fails, but two processes may write at the same time."""
    monkeypatch.delenv("TREERANK_PLAIN_NUMBA", raising=False)
    if plain == "by name":
        monkeypatch.setenv("TREERANK_PLAIN_NUMBA", "1")
    elif plain == "by version":
        monkeypatch.setattr(compiling, "TESTED_VERSIONS", ((0, 0), (0, 0)))
    is_replaced = "save_overload" in vars(njit(kernel_folder._name_of)._cache)
    assert is_replaced == (plain == "not at all")


def test_a_kernel_gets_the_memory_of_an_array_that_must_not_be_written():
    numbers = np.arange(12.0).reshape(3, 4)
    assert for_kernel(numbers) is numbers
    for kept in (numbers, numbers.T, numbers[:, ::2], numbers[:0]):
        locked = kept[:]
        locked.flags.writeable = False
        given = for_kernel(locked)
        assert numba.typeof(given) == numba.typeof(kept)
        assert given.ctypes.data == kept.ctypes.data
        assert np.array_equal(given, kept)
        assert not locked.flags.writeable
    locked = np.arange(10**6)
    locked.flags.writeable = False
    given = for_kernel(locked)
    del locked
    gc.collect()
    assert given.base.array[-1] == given[-1] == 10**6 - 1
