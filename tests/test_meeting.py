"""Workers meet, tell each other everything, and wait no longer than the fit waits for them."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event, Thread, Timer

import numpy as np
import pytest

from treerank.distributed.collective import LostTeamError
from treerank.distributed.meeting import meeting_at, waiting_for_workers
from treerank.distributed.progress_relay import hearing_progress, telling_progress
from treerank.progress import current_listener, listening

HOST = "127.0.0.1"


def met(n_workers, work):
    """Return what ``work(team)`` returns for each worker, by rank."""

    def run(_):
        with meeting_at(place) as team:
            return team.rank, work(team)

    with waiting_for_workers(HOST, n_workers, 60) as place, ThreadPoolExecutor(n_workers) as pool:
        return [found for _, found in sorted(pool.map(run, range(n_workers)))]


def test_nobody_goes_on_before_the_last_one_has_come():
    is_met = Event()

    def meet():
        with meeting_at(place):
            is_met.set()

    with waiting_for_workers(HOST, 2, 60) as place:
        first = Thread(target=meet)
        first.start()
        assert not is_met.wait(0.2)
        with meeting_at(place):
            assert is_met.wait(60)
        first.join()


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_all_workers_get_what_each_has(n_workers):
    large = np.random.default_rng(0).integers(9, size=(n_workers, 2**19))  # more than fits a socket

    def work(team):
        own = large[team.rank]
        parts = np.array_split(own, n_workers)
        texts = team.gather("ä" * team.rank)
        sums = team.total(own), team.largest(own), team.total_of_own(parts)
        return texts, sums, team.gather(own)

    for rank, (texts, (total, largest, part), arrays) in enumerate(met(n_workers, work)):
        assert texts == ["ä" * each for each in range(n_workers)]
        np.testing.assert_array_equal(arrays, large)
        np.testing.assert_array_equal(total, large.sum(axis=0))
        np.testing.assert_array_equal(largest, large.max(axis=0))
        np.testing.assert_array_equal(part, np.array_split(large.sum(axis=0), n_workers)[rank])


@pytest.mark.parametrize("end", ["a death", "the end of the fit"])
def test_a_worker_waits_for_the_others_as_long_as_the_fit_lasts(end):
    is_leaving = Event()

    def leave():
        with meeting_at(place):
            is_leaving.wait(60)

    with ExitStack() as fit:
        place = fit.enter_context(waiting_for_workers(HOST, 2, 60))
        other = Thread(target=leave)
        other.start()
        with meeting_at(place) as team:
            Timer(0.1, is_leaving.set if end == "a death" else fit.close).start()
            with pytest.raises(LostTeamError, match="every worker must live"):
                team.gather(1)
        is_leaving.set()
        other.join()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of its tracker
def test_a_wait_for_the_others_in_xgboost_has_a_limit(monkeypatch):
    xgboost_network = pytest.importorskip("treerank.distributed.xgboost_network")
    monkeypatch.setattr(xgboost_network, "_PATIENCE", 1)
    is_over = Event()

    def work(_):
        with meeting_at(place) as team:
            if team.rank == 1:
                team.gather(None)
                is_over.wait(60)
                return
            with (
                pytest.raises(LostTeamError, match="every worker"),
                xgboost_network.xgboost_network(team),
            ):
                pass
            is_over.set()

    with waiting_for_workers(HOST, 2, 60) as place, ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))


def test_nobody_waits_at_a_meeting_that_is_over():
    with waiting_for_workers(HOST, 1, 60) as place:
        pass
    with pytest.raises(LostTeamError), meeting_at(place):
        pass


def test_who_is_there_does_not_wait_forever_for_the_others():
    with (
        waiting_for_workers(HOST, 2, 0.1) as place,
        pytest.raises(LostTeamError),
        meeting_at(place),
    ):
        pass


_NESTED = b"[" * 100_000  # deeper than a reader of JSON goes


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b'\0\0\0\x05["a"]',
        b"\0\0\0\x012",
        pytest.param(len(_NESTED).to_bytes(4) + _NESTED, id="nested"),
    ],
)
def test_who_does_not_know_the_secret_is_no_worker(said):
    with waiting_for_workers(HOST, 1, 5) as place:
        with socket.create_connection(place[:2]) as stranger:
            stranger.sendall(said)
        with meeting_at(place) as team:
            assert (team.rank, team.size) == (0, 1)


@pytest.mark.parametrize("said", [b"", b"\0\0"])
def test_a_silent_stranger_delays_nobody(said, monkeypatch):
    """Each server, that of the meeting and those of the workers, first hears a stranger."""
    with ExitStack() as strangers:

        def create_server(*args, create=socket.create_server, **options):
            server = create(*args, **options)
            stranger = socket.create_connection(server.getsockname()[:2])
            strangers.enter_context(stranger).sendall(said)
            return server

        monkeypatch.setattr(socket, "create_server", create_server)
        began = time.monotonic()
        assert met(2, lambda team: team.gather(team.rank)) == [[0, 1], [0, 1]]
        assert time.monotonic() - began < 10


def test_a_silent_stranger_does_not_keep_a_worker_from_telling_how_far_it_is():
    told = []
    with (
        listening(lambda *progress: told.append(progress)),
        hearing_progress(HOST) as place,
        socket.create_connection(place[0]),
        telling_progress(place),
    ):
        current_listener()(1, 2, {"map": 0.5})
        current_listener()(2, 2, "done")
    assert told == [(1, 2, {"map": 0.5}), (2, 2, "done")]
