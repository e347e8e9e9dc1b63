"""Threads: a process uses its share of the cores, and kernels get back the threads they had."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import joblib
import numba
import numpy as np
import pytest
from shared_kernels import shared_by
from small_rankers import DATA, made

from treerank import HistogramTrees, LightGBMTrees, get_metric, make_objective
from treerank.numerics import waiting
from treerank.numerics.threads import (
    FEW_DOCUMENTS,
    in_parts,
    in_threads,
    kernel_threads,
    threads_allowed,
    threads_for,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def eight_cores(monkeypatch):
    """Ask for the threads in another environment, and forget the answers afterwards."""
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    threads_allowed.cache_clear()
    yield
    threads_allowed.cache_clear()


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
@pytest.mark.parametrize(
    ("told", "expected"),
    [("3", 3), (" 3 ", 3), ("3,2", 3), ("64", 8), ("0", 8), ("-1", 8), ("all", 8), ("", 8)],
)
def test_the_environment_may_allow_fewer_threads(name, told, expected, eight_cores, monkeypatch):
    monkeypatch.setenv(name, told)
    assert threads_allowed() == expected


def test_engines_take_the_threads_allowed_unless_told_a_number(eight_cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert [LightGBMTrees(n_jobs=n).n_threads for n in (None, -1, -2, -9, 7)] == [5, 5, 4, 1, 7]


@pytest.mark.parametrize(("n_rows", "busy"), [(1, 1), (2**14 - 1, 1), (2**14, 2), (2**20, 8)])
def test_trees_are_grown_by_as_many_threads_as_rows_keep_busy(n_rows, busy, eight_cores):
    n_threads = [LightGBMTrees(n_jobs=n).n_threads_for(n_rows * 8) for n in (None, 3, -1)]
    assert n_threads == [busy, 3, 8]


def threads_within(context):
    with context:
        return numba.get_num_threads()


def test_kernels_get_back_the_threads_they_had():
    before = numba.get_num_threads()
    assert threads_within(kernel_threads(1)) == 1
    assert threads_within(kernel_threads(before + 1)) == before
    with pytest.raises(ZeroDivisionError), kernel_threads(1):
        raise ZeroDivisionError
    assert numba.get_num_threads() == before


def test_few_documents_get_one_thread():
    with kernel_threads(2):
        several = numba.get_num_threads()
        assert threads_within(threads_for(FEW_DOCUMENTS - 1)) == 1
        assert threads_within(threads_for(FEW_DOCUMENTS)) == several


def test_few_rows_are_grown_by_one_thread():
    noted = set()

    def derivatives(scores, *, iteration=0):
        noted.add(numba.get_num_threads())
        return scores, np.ones_like(scores)

    objective = SimpleNamespace(n_outputs=1, derivatives=derivatives)
    with shared_by(2):
        HistogramTrees(n_estimators=1).fit(np.arange(50.0).reshape(-1, 1), objective)
    assert noted == {1}


def test_no_part_waits_for_a_thread_that_has_other_work():
    begun, ended = threading.Event(), threading.Event()

    def wait_in_the_other_thread(first, last):
        if first:
            begun.set()
            assert ended.wait(60)

    def in_two_parts(kernel):
        with shared_by(2):
            in_parts(kernel, 2)

    found = []
    other = threading.Thread(target=in_two_parts, args=(wait_in_the_other_thread,))
    other.start()
    assert begun.wait(60)
    in_two_parts(lambda first, last: found.append((first, last)))
    assert found == [(0, 1), (1, 2)]
    ended.set()
    other.join()


@pytest.fixture
def seen(monkeypatch):
    """What kernels are said to work on."""
    noted = []

    def note(n_documents):
        noted.append(n_documents)
        return threads_for(n_documents)

    for room in ("objectives.pairs.objective", "objectives.lists.objective", "metrics.base"):
        monkeypatch.setattr(f"treerank.{room}.threads_for", note)
    return noted


def test_pairs_count_as_work_where_queries_are_long(seen):
    y = np.tile([0.0, 1.0], 50)
    scores = np.zeros(100)
    make_objective(y, np.repeat(np.arange(50), 2))(scores)
    make_objective(y).derivatives(scores)
    make_objective(y, loss="listnet").derivatives(scores)
    get_metric("ndcg").prepared(y)(scores)
    assert seen == [100, 50 * 50 / 8, 100, 100]


@pytest.mark.parametrize("variable", waiting.VARIABLES)
def test_threads_spin_briefly_unless_the_user_says_otherwise(variable):
    environment = {}
    waiting.spin_briefly(environment)
    assert environment == {"GOMP_SPINCOUNT": str(waiting.SPINS)}
    own = {variable: "7"}
    waiting.spin_briefly(own)
    assert own == {variable: "7"}


def test_the_runtimes_of_engines_are_loaded_after_the_number_of_spins_is_set():
    code = (
        "import os, sys, treerank; print(os.environ['GOMP_SPINCOUNT'], sys.modules.keys() &"
        "{'lightgbm', 'numba.np.ufunc.omppool', 'torch', 'xgboost'})"
    )
    others = {k: v for k, v in os.environ.items() if k not in waiting.VARIABLES}
    done = subprocess.run([sys.executable, "-c", code], env=others, capture_output=True, text=True)
    assert done.stdout == f"{waiting.SPINS} set()\n", done.stderr


@pytest.fixture
def three_threads(monkeypatch):
    """Let kernels have three threads, however many cores there are."""
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([0, 10, 20, 30], [(0, 1), (1, 2), (2, 3)]),
        ([0, 90, 95, 100], [(0, 1), (1, 1), (1, 3)]),
        ([0, 5, 10], [(0, 1), (1, 2)]),
        ([0, 7], [(0, 1)]),
        ([0], [(0, 0)]),
    ],
)
def test_threads_get_parts_of_about_as_many_documents(ends, expected, three_threads):
    parts = []
    in_parts(lambda first, last, found: found.append((first, last)), np.array(ends), parts)
    assert sorted(parts) == expected


@pytest.mark.parametrize("failing", [0, 2])
def test_an_error_in_any_thread_is_raised_when_all_have_ended(failing, three_threads):
    done = []

    def work(first, last):
        if first == failing:
            raise MemoryError(f"of part {first}")
        time.sleep(0.1)
        done.append(first)

    with pytest.raises(MemoryError, match=f"of part {failing}"):
        in_parts(work, 3)
    assert sorted(done) == sorted({0, 1, 2} - {failing})


def test_parts_in_a_thread_are_one_and_wait_for_none():
    def mark(number):
        in_parts(mark_part, 4, marks[number])

    def mark_part(first, last, own):
        own[first:last] += last - first

    marks = np.zeros((8, 4), dtype=int)
    in_threads(2, mark, range(8))
    np.testing.assert_array_equal(marks, 4)


def test_after_an_error_calls_in_threads_are_not_begun():
    begun = []

    def work(number):
        begun.append(number)
        time.sleep(0.02)
        1 // number

    with pytest.raises(ZeroDivisionError):
        in_threads(2, work, range(100))
    assert len(begun) < 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_forked_process_starts_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    in_parts(lambda first, last: None, np.arange(4))
    time.sleep(0.05)  # until the other one waits for work
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, for any thread
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        in_parts(lambda first, last: None, np.arange(4))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
@pytest.mark.parametrize("name", ["AdaRank", "ESRank", "ListNet", "PRank", "RankBoost", "RankSVM"])
def test_a_forked_process_fits_and_measures_as_the_one_before(name):
    def fit_and_measure():
        assert made(name).fit(*DATA).score(*DATA) > 0

    fit_and_measure()
    child = multiprocessing.get_context("fork").Process(target=fit_and_measure)
    child.start()
    child.join(120)
    assert child.exitcode == 0


def test_a_thread_that_outlives_the_main_one_does_all_parts_itself():
    lines = [
        "import threading, numpy as np",
        "from treerank.numerics.threads import in_parts, in_threads",
        "def mark():",
        "    threading.main_thread().join()",
        "    x = np.zeros(4)",
        "    def kernel(first, last): x[first:last] += 1",
        "    in_parts(kernel, 4)",
        "    print(x.sum(), in_threads(2, pow, [2, 3], [5, 2]))",
        "threading.Thread(target=mark).start()",
    ]
    environment = os.environ | {"NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "4.0 [32, 9]\n", done.stderr
