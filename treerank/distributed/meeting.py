"""Meeting: the workers of a fit connect to each other, and let nobody else in."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import wait
from typing import Any

from treerank.distributed.collective import Collective
from treerank.distributed.connections import Flow, challenged, naming_the_loss, reached
from treerank.distributed.launcher import Channel
from treerank.team import working_in

#: Seconds in which all workers must come: those that a cluster starts may take long.
_PATIENCE = 600
#: Seconds in which a connection must prove that it comes from a worker.
_PATIENCE_WITH_STRANGERS = 10
#: Connections that have not proved it yet. More of them wait until one of these is closed.
_MOST_STRANGERS = 64
#: Seconds between two looks at whether the fit is over.
_PULSE = 1


@contextmanager
def meeting(channel: Channel) -> Iterator[Collective]:
    """Meet the other workers, and let fits in the block be work of this team.

    Every worker listens, and the launcher tells all of them all addresses. Each connects to those
    before it, and accepts those after it.
    """
    with ExitStack() as stack:
        with naming_the_loss(), _server(channel.host) as server:
            addresses = channel.swap_addresses(server.getsockname()[:2])
            context = channel.encryption[0] if channel.encryption else None
            connections = {}
            for rank, address in enumerate(addresses[: channel.rank]):
                connection = reached(address, channel.rank, channel.secret, context)
                connections[rank] = stack.enter_context(connection)
            for rank, connection in _accepted(server, channel):
                connections[rank] = stack.enter_context(connection)
        team = Collective(channel.rank, dict(sorted(connections.items())), channel.is_over)
        with working_in(team):
            yield team


def _server(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.create_server((host, 0), family=family, backlog=1000)
    server.setblocking(False)
    return server


def _accepted(server: socket.socket, channel: Channel) -> Iterator[tuple[int, socket.socket]]:
    """Yield rank and connection of each worker after this one.

    All connections are heard side by side, so that a silent one delays no other.
    """
    strangers: dict[Any, tuple[Flow, float]] = {}
    missing = set(range(channel.rank + 1, channel.size))
    end = time.monotonic() + _PATIENCE
    try:
        while missing:
            if channel.is_over() or time.monotonic() > end:
                raise TimeoutError("a worker has not come")
            doors = [server] if len(strangers) < _MOST_STRANGERS else []
            if server in wait([*doors, *strangers], _PULSE):
                _accept(server, channel, strangers)
            for connection, (flow, limit) in list(strangers.items()):
                rank = _rank_of(flow, limit)
                if rank is None:
                    continue
                del strangers[connection]
                if rank in missing:
                    missing.remove(rank)
                    yield rank, connection
                else:
                    connection.close()
    finally:
        for connection in strangers:
            connection.close()


def _accept(server: socket.socket, channel: Channel, strangers: dict[Any, Any]) -> None:
    """Accept a connection, and add what challenges it."""
    try:
        connection, _ = server.accept()
    except OSError:  # it is gone already, or this process may open no more
        time.sleep(_PULSE / 100)
        return
    connection.setblocking(False)
    if channel.encryption is not None:
        connection = channel.encryption[1].wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        )
    limit = time.monotonic() + _PATIENCE_WITH_STRANGERS
    strangers[connection] = challenged(connection, channel.secret), limit


def _rank_of(flow: Flow, limit: float) -> int | None:
    """Return the rank of who has proved to be a worker, -1 for who has failed, None for later."""
    try:
        next(flow)
    except StopIteration as done:
        return int(done.value)
    except OSError:
        return -1
    return -1 if time.monotonic() > limit else None
