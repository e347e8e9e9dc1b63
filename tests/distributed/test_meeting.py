"""Workers meet, tell each other everything, let nobody else in, and end with their fit."""

import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from threading import Event, Thread, Timer

import numpy as np
import pytest
from certificates import make_certificate

from treerank.distributed import meeting as meeting_module
from treerank.distributed.connections import Connection, LostTeamError, challenge, reached
from treerank.distributed.launcher import Channel
from treerank.distributed.meeting import meeting

pytestmark = pytest.mark.slow

HOST = "127.0.0.1"


class Fit:
    """What threads of this process know of a fit of theirs."""

    def __init__(self, size, host=HOST, encryption=None):
        self.size, self.host, self.encryption = size, host, encryption
        self.address, self.is_told, self.over = None, Event(), Event()

    def channel(self, rank, before=lambda address: None):
        def tell(kind, address):
            assert kind == "address"
            self.address = address
            before(address)
            self.is_told.set()

        assert rank == 0 or self.is_told.wait(60)
        known = rank, self.size, b"secret", self.address if rank else None
        return Channel(*known, tell, self.over.is_set, self.host, self.encryption)

    def met(self, work, before=lambda address: None):
        """Return what ``work(team)`` returns for each worker, by rank."""

        def run(rank):
            with meeting(self.channel(rank, before)) as team:
                assert (team.rank, team.size) == (rank, self.size)
                return work(team)

        with ThreadPoolExecutor(self.size) as pool:
            return list(pool.map(run, range(self.size)))


@pytest.fixture(scope="module")
def encryption(tmp_path_factory):
    """Contexts of a certificate, to connect and to accept, as those of a cluster of Dask."""
    certificate, key = make_certificate(tmp_path_factory.mktemp("certificate"))
    contexts = []
    for purpose in (ssl.Purpose.SERVER_AUTH, ssl.Purpose.CLIENT_AUTH):
        context = ssl.create_default_context(purpose, cafile=certificate)
        context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
        context.load_cert_chain(certificate, key)
        contexts.append(context)
    return tuple(contexts)


def swapped(team):
    """Exchange more than fits a socket in all ways; return all that comes."""
    large = np.random.default_rng(0).integers(9, size=(team.size, 2**19))
    own, into = large[team.rank], np.zeros(team.size * 3)
    team.exchange(lambda rank: [[np.full(3, float(team.rank))]], [into])
    np.testing.assert_array_equal(np.sort(into), np.repeat(np.arange(team.size), 3))
    np.testing.assert_array_equal(team.gather(own), large)
    np.testing.assert_array_equal(team.total(own), large.sum(axis=0))
    np.testing.assert_array_equal(team.largest(own), large.max(axis=0))
    return team.gather("ä" * team.rank)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_all_workers_get_what_each_has(n_workers):
    assert Fit(n_workers).met(swapped) == [["ä" * each for each in range(n_workers)]] * n_workers


def test_so_they_do_by_encrypted_connections_and_by_addresses_of_version_6(encryption):
    def work(team):
        assert all(isinstance(each.socket, ssl.SSLSocket) for each in team._connections.values())
        return swapped(team)

    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:  # this machine has no such address
        host = HOST
    else:
        host = "::1"
    assert Fit(3, host, encryption).met(work) == [["", "ä", "ää"]] * 3


def test_values_arrive_as_they_were_sent():
    structured = np.array([(1, 2.5)], dtype=[("a", "<i4"), ("b", "<f8")])
    value = {"a": [1, [2.5, float("inf")], None], "b": b"\0bytes", "c": "\ud800", "d": {}}
    arrays = np.array(3.0), np.empty((0, 2), "f4"), structured, np.array(["ä", "bc"])
    arrays += (np.arange(6).reshape(2, 3).T, np.array(["2020"], dtype="M8[D]"))
    here, there = (Connection(each, lambda: False) for each in socket.socketpair())
    with closing(here), closing(there):
        here.send((value, arrays))
        found_value, found_arrays = there.receive()
        assert found_value == value
        for found, expected in zip(found_arrays, arrays, strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        for wrong in (np.array([{}]), {1}):
            with pytest.raises(TypeError, match="must exchange JSON and arrays of numbers"):
                here.send(wrong)


@pytest.mark.parametrize("end", ["a death", "the end of the fit"])
def test_a_worker_waits_for_the_others_as_long_as_the_fit_lasts(end):
    fit, is_leaving = Fit(2), Event()

    def work(team):
        if team.rank == 1:
            is_leaving.wait(60)
            return
        Timer(0.1, is_leaving.set if end == "a death" else fit.over.set).start()
        with pytest.raises(LostTeamError, match="every worker must live"):
            team.gather(1)
        is_leaving.set()

    fit.met(work)


@pytest.mark.parametrize("end", ["time", "the end of the fit"])
def test_nobody_waits_forever_for_a_worker_that_never_comes(end, monkeypatch):
    if end == "time":
        monkeypatch.setattr(meeting_module, "_PATIENCE", 0.1)
    fit = Fit(2)
    channel = fit.channel(0)
    if end == "the end of the fit":
        fit.over.set()
    with pytest.raises(LostTeamError), meeting(channel):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of its tracker
def test_a_wait_for_the_others_in_xgboost_has_a_limit(monkeypatch):
    xgboost_network = pytest.importorskip("treerank.distributed.xgboost_network")
    monkeypatch.setattr(xgboost_network, "_PATIENCE", 1)
    is_over = Event()

    def work(team):
        if team.rank == 1:
            team.gather(None)
            is_over.wait(60)
            return
        with (
            pytest.raises(LostTeamError, match="every worker"),
            xgboost_network.xgboost_network(team, HOST),
        ):
            pass
        is_over.set()

    Fit(2).met(work)


@pytest.mark.parametrize("leave", [False, True])
def test_more_strangers_than_a_worker_hears_are_closed_after_a_time_limit(leave, monkeypatch):
    monkeypatch.setattr(meeting_module, "_PATIENCE_WITH_STRANGERS", 0.5)
    monkeypatch.setattr(meeting_module, "_MOST_STRANGERS", 3)
    words = b"", b"\0\0", b"GET / HTTP/1.1\r\n\r\n", b"[" * 100_000

    def trickle(stranger):
        with suppress(OSError):  # it is closed
            while True:
                stranger.sendall(b"x")
                time.sleep(0.1)

    with ExitStack() as strangers:

        def come(address):
            """The first worker hears them before the other one."""
            for said in (*words, *words):
                stranger = strangers.enter_context(socket.create_connection(address))
                stranger.sendall(said)
                if leave:
                    stranger.close()
            slow = strangers.enter_context(socket.create_connection(address))
            Thread(target=trickle, args=[slow], daemon=True).start()

        began = time.monotonic()
        assert Fit(2).met(lambda team: team.gather(team.rank), come) == [[0, 1], [0, 1]]
        assert time.monotonic() - began < 10


@pytest.fixture
def said(monkeypatch):
    """All that is written to connections."""
    found, write = [], Connection.write
    monkeypatch.setattr(
        Connection, "write", lambda self, data: (found.append(bytes(data)), write(self, data))
    )
    return found


def in_pairs(server_secret, client_secret, client=reached):
    """Return what a server that challenges a client finds, and what the client does."""

    def served():
        opened, _ = server.accept()
        with closing(Connection(opened, lambda: False)) as connection:
            try:
                return challenge(connection, server_secret)
            except OSError as error:
                return error

    def asked():
        try:
            with closing(client(server.getsockname(), 7, client_secret)):
                return "joined"
        except OSError as error:
            return error

    with socket.create_server((HOST, 0)) as server, ThreadPoolExecutor(2) as pool:
        return [each.result() for each in (pool.submit(served), pool.submit(asked))]


def test_both_sides_must_know_the_secret_which_is_never_sent(said):
    assert in_pairs(b"secret", b"secret") == [7, "joined"]
    assert not any(b"secret" in each for each in said)
    here, there = in_pairs(b"secret", b"another")
    assert isinstance(here, ConnectionAbortedError)
    assert isinstance(there, ConnectionError)


def test_a_false_server_is_refused():
    def pretend(server):
        connection, _ = server.accept()
        with connection:
            connection.sendall(bytes(32))
            connection.recv(72, socket.MSG_WAITALL)
            connection.sendall(bytes(32))

    with socket.create_server((HOST, 0)) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(pretend, server)
        with pytest.raises(ConnectionAbortedError, match="no worker of this fit"):
            reached(server.getsockname(), 0, b"secret")


def test_what_was_said_once_does_not_let_a_second_one_in(said):
    def replay(address, rank, secret):
        connection = socket.create_connection(address)
        connection.recv(32)
        connection.sendall(next(each for each in said if len(each) == 72))
        assert connection.recv(32) == b""
        return connection

    assert in_pairs(b"secret", b"secret") == [7, "joined"]
    assert isinstance(in_pairs(b"secret", None, replay)[0], ConnectionAbortedError)


def test_who_has_no_certificate_is_not_let_in_and_delays_nobody(encryption):
    strangers = []

    def come(address):
        plain, alone = (socket.create_connection(address) for _ in range(2))
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        strangers.extend([plain, alone])

    fit = Fit(2, encryption=encryption)
    assert fit.met(lambda team: team.gather(team.rank), come) == [[0, 1], [0, 1]]
    for stranger in strangers:
        stranger.close()
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    fit = Fit(2, encryption=encryption)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(lambda: meeting(fit.channel(0)).__enter__())
        assert fit.is_told.wait(60)
        with pytest.raises(OSError, match=r"(?i)certificate|closed|reset|no worker"):
            reached(fit.address, 1, b"secret", anybody)
        fit.over.set()
        assert isinstance(waits.exception(60), LostTeamError)


def test_small_messages_do_not_wait_for_each_other():
    def work(team):
        start = time.monotonic()
        for _ in range(100):
            team.gather(np.arange(3))
        return time.monotonic() - start

    assert max(Fit(2).met(work)) < 3  # the system would hold each back for 40 ms
