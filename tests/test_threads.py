"""Threads: a process takes its share of the cores, and gives back what it changed."""

import joblib
import numba
import pytest

from treerank.feature_parts.lightgbm import LightGBMTrees
from treerank.threads import kernel_threads, threads_allowed


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
def test_the_environment_may_allow_fewer_threads_than_cores(
    name, told, expected, eight_cores, monkeypatch
):
    monkeypatch.setenv(name, told)
    assert threads_allowed() == expected


def test_engines_take_the_threads_allowed_unless_told_a_number(eight_cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert [LightGBMTrees(n_jobs=n).n_threads for n in (None, -1, -2, -9, 7)] == [5, 5, 4, 1, 7]


def test_workers_share_the_cores():
    n_workers = 2
    with joblib.Parallel(n_workers) as parallel:
        allowed = parallel(joblib.delayed(threads_allowed)() for _ in range(n_workers))
    assert sum(allowed) <= max(n_workers, joblib.cpu_count())


def test_kernels_get_back_the_threads_they_had():
    before = numba.get_num_threads()
    with kernel_threads(1):
        inside = numba.get_num_threads()
    with kernel_threads(before + 1):
        assert numba.get_num_threads() == before
    with pytest.raises(ZeroDivisionError), kernel_threads(1):
        raise ZeroDivisionError
    assert (inside, numba.get_num_threads()) == (1, before)
