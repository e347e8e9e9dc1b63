"""Meeting: the place at which the workers of a fit learn of each other, and connect."""

import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread

from treerank.distributed.collective import Collective, naming_the_loss
from treerank.distributed.connections import REACH, Door, close_all, heard, tell
from treerank.team import working_in

#: Where workers meet: address, port, and a secret, so that no other program can join.
Place = tuple[str, int, str]


@contextmanager
def waiting_for_workers(host: str, n_workers: int, patience: float) -> Iterator[Place]:
    """Let so many workers meet while the block runs, if each comes within ``patience`` seconds.

    Examples
    --------
    >>> with waiting_for_workers("127.0.0.1", 1, 60) as place, meeting_at(place) as team:
    ...     team.size
    1
    """
    lines: list[socket.socket] = []
    secret, (is_over, end) = secrets.token_hex(), socket.socketpair()
    with is_over, end, socket.create_server((host, 0), backlog=n_workers) as server:
        address = server.getsockname()[:2]
        arguments = Door(server, secret, is_over), n_workers, patience, lines
        welcome = Thread(target=_welcome, args=arguments, daemon=True)
        welcome.start()
        try:
            yield (*address, secret)
        finally:
            end.close()
            welcome.join()
            close_all(lines)


def _welcome(door: Door, n_workers: int, patience: float, lines: list[socket.socket]) -> None:
    """Tell all workers where the others are as soon as the last one has come."""
    addresses = []
    try:
        with door:
            while len(lines) < n_workers:
                line, address = door.next(patience)
                lines.append(line)
                addresses.append(address)
        for rank, line in enumerate(lines):
            tell(line, [rank, addresses])
    except OSError:  # one has not come in time, or is gone
        close_all(lines)


@contextmanager
def meeting_at(place: Place) -> Iterator[Collective]:
    """Meet the other workers, and let fits in the block be work of this team."""
    host, port, secret = place
    with ExitStack() as stack:
        with naming_the_loss():
            line = stack.enter_context(socket.create_connection((host, port), REACH))
            line.settimeout(None)
            own = line.getsockname()[0]
            with socket.create_server((own, 0), backlog=1000) as server:
                tell(line, [secret, own, server.getsockname()[1]])
                rank, addresses = heard(line)
                sending = {}
                for other, address in enumerate(addresses):
                    if other != rank:
                        reached = socket.create_connection(tuple(address), REACH)
                        sending[other] = stack.enter_context(reached)
                        tell(reached, [secret, rank])
                receiving: dict[int, socket.socket] = {}
                with Door(server, secret, line) as door:
                    while len(receiving) < len(sending):
                        connection, (other,) = door.next()
                        receiving[other] = stack.enter_context(connection)
        team = Collective(rank, line, sending, receiving)
        with working_in(team):
            yield team
