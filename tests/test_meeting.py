"""Workers go on together, and wait no longer than the fit waits for them."""

import socket
from contextlib import ExitStack
from threading import Event, Thread, Timer

import pytest

pytest.importorskip("xgboost")

from treerank.distributed.meeting import meeting_at, waiting_for_workers

HOST = "127.0.0.1"


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


def test_a_wait_for_a_connection_ends_with_the_meeting():
    with ExitStack() as driver, socket.create_server((HOST, 0)) as earlier:
        place = driver.enter_context(waiting_for_workers(HOST, 1, 60))
        with meeting_at(place), socket.create_server((HOST, 0)) as server:
            server.settimeout(10)
            Timer(0.1, driver.close).start()
            with pytest.raises(OSError, match="Invalid argument"):
                server.accept()
        socket.create_connection(earlier.getsockname()).close()
        earlier.accept()[0].close()  # it has listened before


def test_nobody_waits_at_a_meeting_that_is_over():
    with waiting_for_workers(HOST, 1, 60) as place:
        pass
    with pytest.raises(ConnectionRefusedError), meeting_at(place):
        pass


def test_who_is_there_does_not_wait_forever_for_the_others():
    with (
        waiting_for_workers(HOST, 2, 0.1) as place,
        pytest.raises(ConnectionAbortedError, match="nobody waits"),
        meeting_at(place),
    ):
        pass


def test_what_listens_after_the_meeting_is_left_alone():
    with waiting_for_workers(HOST, 1, 60) as place, meeting_at(place):
        server = socket.create_server((HOST, 0))
    with server:
        socket.create_connection(server.getsockname()).close()
        server.accept()[0].close()
