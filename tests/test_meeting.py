"""Workers do not wait for each other longer than the fit waits for them."""

import socket
from contextlib import ExitStack
from threading import Timer

import pytest

pytest.importorskip("xgboost")

from treerank.distributed.meeting import waiting_for_workers, waiting_with

HOST = "127.0.0.1"


def test_a_wait_for_a_connection_ends_with_the_meeting():
    with ExitStack() as driver, socket.create_server((HOST, 0)) as earlier:
        place = driver.enter_context(waiting_for_workers(HOST, 1))
        with waiting_with(place), socket.create_server((HOST, 0)) as server:
            Timer(0.1, driver.close).start()
            with pytest.raises(OSError, match="Invalid argument"):
                server.accept()
        socket.create_connection(earlier.getsockname()).close()
        earlier.accept()[0].close()  # it has listened before


def test_nobody_waits_at_a_meeting_that_is_over():
    with waiting_for_workers(HOST, 1) as place:
        pass
    with pytest.raises(ConnectionRefusedError), waiting_with(place):
        pass


def test_what_listens_after_the_meeting_is_left_alone():
    with waiting_for_workers(HOST, 1) as place, waiting_with(place):
        server = socket.create_server((HOST, 0))
    with server:
        socket.create_connection(server.getsockname()).close()
        server.accept()[0].close()
