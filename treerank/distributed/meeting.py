"""Meeting: the workers of a fit connect to the first one, which lets nobody else in."""

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager, suppress

from treerank.distributed.collective import Collective
from treerank.distributed.connections import Connection, challenge, naming_the_loss, reached
from treerank.distributed.launcher import Channel
from treerank.team import working_in

#: Seconds in which all workers must come: those that a cluster starts may take long.
_PATIENCE = 600
#: Seconds in which a connection must prove that it comes from a worker.
_PATIENCE_WITH_STRANGERS = 10
#: Connections that have not proved it yet. More of them wait until one of these is closed.
_MOST_STRANGERS = 64
#: Seconds between two looks at who has come.
_PULSE = 0.02


@contextmanager
def meeting(channel: Channel) -> Iterator[Collective]:
    """Meet the other workers, and let fits in the block be work of this team."""
    with ExitStack() as stack:
        connections = {}
        with naming_the_loss():
            for rank, connection in _to_the_first(channel) if channel.rank else _accepted(channel):
                connections[rank] = stack.enter_context(closing(connection))
        team = Collective(channel.rank, channel.size, dict(sorted(connections.items())))
        with working_in(team):
            yield team


def _to_the_first(channel: Channel) -> Iterator[tuple[int, Connection]]:
    context = channel.encryption[0] if channel.encryption else None
    yield 0, reached(channel.address, channel.rank, channel.secret, context, channel.is_over)


def _accepted(channel: Channel) -> Iterator[tuple[int, Connection]]:
    """Yield rank and connection of each other worker.

    Each connection is heard in a thread of its own, so that a silent one delays no other.
    """
    missing, strangers = set(range(1, channel.size)), set[Future[tuple[int, Connection]]]()
    context = channel.encryption[1] if channel.encryption else None
    family = socket.AF_INET6 if ":" in channel.host else socket.AF_INET
    end, pool = time.monotonic() + _PATIENCE, ThreadPoolExecutor(_MOST_STRANGERS)
    with ExitStack() as stack:
        stack.callback(pool.shutdown, wait=False)  # its threads end soon
        server = socket.create_server((channel.host, 0), family=family, backlog=1000)
        stack.enter_context(server).settimeout(_PULSE)
        channel.tell("address", server.getsockname()[:2])
        while missing:
            if channel.is_over() or time.monotonic() > end:
                raise TimeoutError("a worker has not come")
            if len(strangers) < _MOST_STRANGERS:
                with suppress(OSError):  # nobody has come, or this process may open no more
                    opened, _ = server.accept()
                    strangers.add(pool.submit(_heard, opened, channel.secret, context))
            done, strangers = wait(strangers, _PULSE, FIRST_COMPLETED)
            for each in done:
                if each.exception() is None:
                    rank, connection = each.result()
                    missing.remove(rank)
                    connection.is_over = channel.is_over
                    yield rank, connection


def _heard(
    opened: socket.socket, secret: bytes, context: ssl.SSLContext | None
) -> tuple[int, Connection]:
    """Return who has proved to be a worker; close the connection of anybody else."""
    limit = time.monotonic() + _PATIENCE_WITH_STRANGERS
    try:
        if context is not None:
            opened.settimeout(_PATIENCE_WITH_STRANGERS)
            opened = context.wrap_socket(opened, server_side=True)
        connection = Connection(opened, lambda: time.monotonic() > limit)
        return challenge(connection, secret), connection
    except BaseException:
        opened.close()
        raise
