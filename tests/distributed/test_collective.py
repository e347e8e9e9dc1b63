import os
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from worker_fits import HOST, in_collective, in_threads, network_of

from treerank.distributed import collective
from treerank.distributed.collective import (
    LostWorkerError,
    collective_of,
    start_tracker,
    stop_tracker,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


@pytest.mark.parametrize("segment", [5, 2**19])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_workers_get_sums_maxima_and_the_arrays_of_each(size, segment, monkeypatch):
    monkeypatch.setattr(collective, "_SEGMENT", segment)
    rng = np.random.default_rng(0)
    numbers = rng.integers(-(2**60), 2**60, size=(size, 7, 3))

    def work(workers):
        own = numbers[workers.rank]
        np.testing.assert_array_equal(workers.sum(own), numbers.sum(axis=0))
        np.testing.assert_array_equal(workers.max(own), numbers.max(axis=0))
        assert workers.max(np.array([-np.inf, np.inf])).tolist() == [-np.inf, np.inf]
        assert workers.sum(np.array([2**63], dtype=np.uint64)).dtype == np.uint64
        rows = np.full((workers.rank, 2), -0.0, dtype=np.float32)
        parts = workers.gather(rows)
        assert [part.shape for part in parts] == [(rank, 2) for rank in range(size)]
        assert all(np.signbit(part).all() and part.dtype == np.float32 for part in parts)
        assert workers.gather(np.empty(0))[0].dtype == np.float64
        assert workers.gather_json({"ä": workers.rank}) == [{"ä": rank} for rank in range(size)]
        assert (workers.any(workers.rank == size - 1), workers.any(False)) == (True, False)
        return workers.rank, workers.world_size

    assert in_collective(size, work) == [(rank, size) for rank in range(size)]


def test_the_error_of_one_worker_ends_the_others_at_once():
    ended = {}

    def add_forever(workers):
        while True:
            if workers.rank == 1:
                raise KeyError("of one")
            workers.sum(np.ones(3))

    def work(rank):
        try:
            with collective_of(network | {"dmlc_task_id": f"{rank:06}"}) as workers:
                add_forever(workers)
        except Exception as error:
            ended[rank] = error

    began = time.monotonic()
    with network_of(3, patience=1) as network:
        in_threads(3, work)
    assert time.monotonic() - began < 10
    assert isinstance(ended.pop(1), KeyError)
    assert [type(error) for error in ended.values()] == [LostWorkerError] * 2
    assert "Every worker must live until the fit is done" in str(ended[0])


def test_one_message_has_sums_and_maxima():
    terms, sizes = (
        np.array([1.0, -2.0]),
        np.array([[-1.0, 5.0, 0.5], [-3.0, 2.0, np.inf], [-2.0, 7.0, 0.0]]),
    )

    def work(workers):
        messages, add = [], workers.sum
        workers.sum = lambda values: messages.append(values) or add(values)
        sums, largest = workers.sum_and_max(terms * (workers.rank + 1), sizes[workers.rank])
        return sums.tolist(), largest.tolist(), len(messages)

    assert in_collective(3, work) == [([6.0, -12.0], [-1.0, 7.0, np.inf], 1)] * 3


def test_a_worker_that_is_late_is_waited_for():
    def work(workers):
        if workers.rank == 1:
            time.sleep(3)
        return workers.sum(np.ones(1)).tolist()

    assert in_collective(3, work) == [[3.0]] * 3


@pytest.mark.filterwarnings("ignore:.*socket.cc")  # it tries to connect again
def test_who_waits_for_others_to_come_is_freed_when_the_tracker_stops():
    network = start_tracker(2, HOST)
    threading.Timer(1, stop_tracker, [network]).start()

    def work(rank):
        with pytest.raises(LostWorkerError), collective_of(network | {"dmlc_task_id": "0"}):
            pass

    began = time.monotonic()
    in_threads(1, work)
    assert time.monotonic() - began < 30
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((HOST, network["dmlc_tracker_port"]))


def listening_ports():
    """Return the ports at which this process listens."""
    links = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [
        int(fields[1].split(":")[1], 16)
        for fields in lines
        if fields[3] == "0A" and any(link.endswith(f"socket:[{fields[9]}]") for link in links)
    ]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux")
@pytest.mark.filterwarnings("ignore::UserWarning")  # of XGBoost, about strangers
@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n"])
def test_strangers_at_the_ports_do_not_change_a_sum(said):
    before, scanned = set(listening_ports()), threading.Event()

    def scan():
        for port in set(listening_ports()) - before:
            with socket.create_connection((HOST, port)) as stranger:
                stranger.sendall(said)
        scanned.set()

    def work(rank):
        with collective_of(network | {"dmlc_task_id": f"{rank:06}"}) as workers:
            first = workers.sum(np.ones(3)).tolist()
            if rank == 0:
                scan()
            scanned.wait(30)
            return first, workers.sum(np.arange(3)).tolist()

    with network_of(3) as network:
        assert in_threads(3, work) == [([3.0] * 3, [0, 3, 6])] * 3


def test_what_workers_send_is_never_unpickled():
    """XGBoost's ``broadcast`` unpickles what comes: it is not used."""
    package = Path(__file__).parents[2] / "treerank"
    forbidden = ("broadcast(", "CommunicatorContext", "pickle.load", "import pickle", "cloudpickle")
    forbidden += ("import socket", "import ssl", "import hmac", "import multiprocessing")
    for path in package.rglob("*.py"):
        text = path.read_text()
        assert not [word for word in forbidden if word in text and "distributed" in str(path)]
        assert not [word for word in forbidden[2:] if word in text], path
