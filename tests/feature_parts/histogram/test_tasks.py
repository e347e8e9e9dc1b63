"""Each task of each step is done once, whoever comes, and whenever."""

import threading
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from treerank.feature_parts.histogram import tasks
from treerank.numerics.compiling import kernel_for

N_STEPS = 200_000  # long enough for threads to get in each other's way


@kernel_for(nogil=True)
def work(thread, counters, done, step):
    while True:
        task = tasks.take_task(counters, thread)
        if task <= 0:
            return task == 0
        done[step[0], task - 1] += 1
        if tasks.finish_task(counters):
            step[0] += 1
            tasks.open_tasks(counters, 1 + step[0] % 7 if step[0] < len(done) else -1)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_each_task_is_done_once(n_threads):
    counters, step = tasks.new_counters(7, 1), np.zeros(1, dtype=int)
    done = np.zeros((N_STEPS, 7), dtype=int)
    counters[1] = 0  # until all threads have begun

    def work_on(thread):
        while work(thread, counters, done, step):
            pass

    threads = [threading.Thread(target=work_on, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    counters[1] = 1
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    sizes = 1 + np.arange(N_STEPS) % 7
    np.testing.assert_array_equal(done, np.arange(7) < sizes[:, None])
    assert not work(0, counters, done, step)  # one that comes late finds nothing to do


@kernel_for(nogil=True)
def work_one_by_one(thread, counters, done, item_of, state):
    """Do items, up to 7 at a time; ``state`` has how many are begun and finished."""
    while True:
        task = tasks.take_task(counters, thread)
        if task <= 0:
            return task == 0
        done[item_of[task]] += 1
        if not tasks.lock(counters):
            continue
        item_of[task], state[1] = -1, state[1] + 1
        for slot in range(1, 8):
            if item_of[slot] < 0 and state[0] < len(done):
                item_of[slot] = state[0]
                state[0] += 1
                tasks.open_task(counters, slot)
        if state[1] == len(done):
            tasks.open_tasks(counters, -1)
        else:
            tasks.unlock(counters)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_each_task_that_is_opened_by_itself_is_done_once(n_threads):
    counters, done = tasks.new_counters(7, 0), np.zeros(N_STEPS, dtype=int)
    item_of, state = np.full(8, -1), np.array([1, 0])
    item_of[1], counters[1] = 0, 1

    def work_on(thread):
        while work_one_by_one(thread, counters, done, item_of, state):
            pass

    threads = [threading.Thread(target=work_on, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert (done == 1).all()
    assert state.tolist() == [N_STEPS, N_STEPS]
    assert not work_one_by_one(0, counters, done, item_of, state)


locked = kernel_for("lock", nogil=True)(lambda counters: tasks.lock(counters))


def test_a_thread_that_waits_for_the_lock_ends_if_another_fails():
    counters, answers = tasks.new_counters(2, 0), list[bool]()
    assert locked(counters)
    thread = threading.Thread(target=lambda: answers.append(locked(counters)), daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    counters[:] = -1
    thread.join(60)
    assert answers == [False]


def test_a_thread_that_finds_no_task_comes_back():
    counters = tasks.new_counters(3, 1)
    counters[1] = 0  # another thread has the only task
    assert work(2, counters, np.zeros((0, 7), dtype=int), np.zeros(1, dtype=int))


take = kernel_for("own tasks")(lambda counters, thread: tasks.take_task(counters, thread))


def test_a_thread_takes_its_own_task_first_and_then_those_of_threads_that_do_not_come():
    counters = tasks.new_counters(4, 3)
    assert [take(counters, 1) for _ in range(4)] == [2, 1, 3, 0]
    counters = tasks.new_counters(4, 3)
    assert take(counters, 3) == 1  # a thread without a task of its own
    counters = tasks.new_counters(300, 300)
    counters[1:300] = 0  # taken by others
    assert take(counters, 0) == 300
    counters[:] = -1
    assert [take(counters, thread) for thread in (0, 4, 299)] == [-1] * 3


class Pair(NamedTuple):
    numbers: np.ndarray
    others: np.ndarray | None


@njit
def added(numbers, array, row):
    part = array[row]
    for i in range(len(part)):
        numbers[i] += part[i]
    return part if row > 1 else array[0]


@njit
def doubled(pair, rest, n):
    pair, (number, array) = tasks.uncounted((pair, rest))
    for row in range(n):
        pair.numbers[:] *= 2
        added(pair.numbers, array, row)[:] += number
    return pair.numbers.sum()


@pytest.mark.parametrize("others", [None, np.array([[0.5]])])
def test_arrays_without_a_count_are_the_same_arrays_and_are_freed(others):
    for _ in range(2):
        numbers, array = np.array([1.0, 2.0]), np.ones((3, 2))
        assert doubled(Pair(numbers, others), (5.0, array), 3) == 38
        assert numbers.tolist() == [15.0, 23.0]
        assert array.tolist() == [[11.0] * 2, [1.0] * 2, [6.0] * 2]
    kept = weakref.ref(array)
    del array
    assert kept() is None
