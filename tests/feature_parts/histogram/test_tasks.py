"""Each task of each step is done once, whoever comes, and whenever."""

import threading

import numpy as np
import pytest

from treerank.feature_parts.histogram import tasks
from treerank.numerics.compiling import kernel_for

N_STEPS = 200_000  # long enough for threads to get in each other's way


@kernel_for(nogil=True)
def work(counters, done, step):
    while True:
        task = tasks.take_task(counters)
        if task <= 0:
            return task == 0
        done[step[0], task - 1] += 1
        if tasks.finish_task(counters):
            step[0] += 1
            tasks.open_tasks(counters, 1 + step[0] % 7 if step[0] < len(done) else -1)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_each_task_is_done_once(n_threads):
    counters, step = tasks.new_counters(), np.zeros(1, dtype=int)
    done = np.zeros((N_STEPS, 7), dtype=int)
    counters[0] = 0  # until all threads have begun

    def work_on():
        while work(counters, done, step):
            pass

    threads = [threading.Thread(target=work_on) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    counters[0] = 1
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    sizes = 1 + np.arange(N_STEPS) % 7
    np.testing.assert_array_equal(done, np.arange(7) < sizes[:, None])
    assert not work(counters, done, step)  # one that comes late finds nothing to do


def test_a_thread_that_finds_no_task_comes_back():
    counters = tasks.new_counters()
    counters[0] = 0  # another thread has the only task
    assert work(counters, np.zeros((0, 7), dtype=int), np.zeros(1, dtype=int))
