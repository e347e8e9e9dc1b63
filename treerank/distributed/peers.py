"""Peers: connections between the workers of a team, by which they send each other rows."""

import secrets
import socket
import struct
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from treerank.team import Filling, Table, Team

#: Seconds that a worker waits for another one to send or to receive.
_PATIENCE = 120
#: A connection begins with a secret, so that no other program can send rows.
_SECRET_SIZE = 32
_COUNT = struct.Struct("<q")


def own_address(towards: str, port: int) -> str:
    """Return the address of this machine in the network in which ``towards`` is.

    Examples
    --------
    >>> own_address("127.0.0.1", 80)
    '127.0.0.1'
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # sends nothing
        probe.connect((towards, port))
        return str(probe.getsockname()[0])


def exchange_tables(
    team: Team, host: str, outgoing: Callable[[int], Iterable[Table]], into: Table
) -> None:
    """Send tables to each worker and fill ``into`` with the rows that come, see ``Team.exchange``.

    Parameters
    ----------
    team : Team
        The workers.
    host : str
        Address at which this worker listens.
    outgoing, into
        See :meth:`treerank.team.Team.exchange`.
    """
    filling, secret = Filling(into), secrets.token_bytes(_SECRET_SIZE)
    with (
        socket.create_server((host, 0), backlog=team.size) as server,
        ThreadPoolExecutor(1) as sender,
    ):
        server.settimeout(_PATIENCE)
        peers = team.gather((server.getsockname()[:2], secret))
        sending = sender.submit(_send, team.rank, peers, outgoing)
        for table in outgoing(team.rank):
            filling.add(table)
        n_missing = team.size - 1
        while n_missing:
            connection, _ = server.accept()
            with connection:
                n_missing -= _receive(connection, secret, filling)
        sending.result()


def _send(rank, peers, outgoing):
    """Send tables to all other workers, beginning with the next one."""
    for step in range(1, len(peers)):
        number = (rank + step) % len(peers)
        place, secret = peers[number]
        with socket.create_connection(place, timeout=_PATIENCE) as connection:
            connection.sendall(secret)
            for table in outgoing(number):
                connection.sendall(_COUNT.pack(len(table[0])))
                for values in table:
                    connection.sendall(_bytes_of(np.ascontiguousarray(values)))
            connection.sendall(_COUNT.pack(0))


def _receive(connection, secret, filling):
    """Receive the tables of one worker; return whether it was one."""
    connection.settimeout(_PATIENCE)
    header = bytearray(_SECRET_SIZE)
    _read(connection, header)
    if not secrets.compare_digest(bytes(header), secret):
        return False
    count = bytearray(_COUNT.size)
    while True:
        _read(connection, count)
        (n_rows,) = _COUNT.unpack(count)
        if not n_rows:
            return True
        for room in filling.room(n_rows):
            _read(connection, _bytes_of(room))


def _bytes_of(values: np.ndarray) -> memoryview:
    return values.data.cast("B")


def _read(connection: socket.socket, room: Any) -> None:
    """Read exactly as many bytes as there is room for."""
    view, n_read = memoryview(room), 0
    while n_read < len(view):
        n_new = connection.recv_into(view[n_read:])
        if not n_new:
            raise ConnectionError("a worker ended while it sent rows")
        n_read += n_new
