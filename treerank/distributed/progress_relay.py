"""Progress relay: the first worker tells the process that has started the fit how far it is."""

import secrets
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from threading import Thread
from typing import Any

from treerank.distributed.connections import REACH, Door, heard, tell
from treerank.progress import Listener, Note, current_listener, ignore_progress, listening

#: Seconds to wait for the last message, where a worker was lost.
_PATIENCE = 5
#: Where progress is told: an address and a secret.
Place = tuple[Any, str]


@contextmanager
def hearing_progress(host: str) -> Iterator[Place | None]:
    """Call the listener of this fit with what a worker tells; None where there is no listener.

    Parameters
    ----------
    host : str
        Address of this machine at which workers reach it.

    Examples
    --------
    >>> with listening(lambda n_done, n_total, note: print(n_done, "of", n_total)):
    ...     with hearing_progress("127.0.0.1") as place, telling_progress(place):
    ...         _ = current_listener()(1, 2, {})
    1 of 2
    """
    listener = current_listener()
    if listener is ignore_progress:
        yield None
        return
    secret, (is_over, end) = secrets.token_hex(), socket.socketpair()
    with is_over, end, socket.create_server((host, 0)) as server:
        address = server.getsockname()[:2]
        door = Door(server, secret, is_over)
        thread = Thread(target=_hear, args=(door, listener), daemon=True)
        thread.start()
        try:
            yield address, secret
        finally:
            end.close()
            thread.join(_PATIENCE)


def _hear(door: Door, listener: Listener) -> None:
    """Call the listener with the messages of one connection after the other."""
    with suppress(OSError), door:  # the fit is over
        while True:
            connection, _ = door.next()
            with suppress(OSError), connection:  # it is closed
                while True:
                    listener(*heard(connection))


def telling_progress(place: Place | None) -> AbstractContextManager[Any]:
    """Tell the iterations of the fits inside the block to a place; None is nowhere."""
    return nullcontext() if place is None else _telling(*place)


@contextmanager
def _telling(address: Any, secret: str) -> Iterator[None]:
    def tell_iteration(n_done: int, n_total: int | None, note: Note) -> None:
        values = note if isinstance(note, str) else {name: float(note[name]) for name in note}
        with suppress(OSError):  # a fit does not end for want of a listener
            tell(connection, [n_done, n_total, values])

    with ExitStack() as stack:
        with suppress(OSError):
            connection = stack.enter_context(socket.create_connection(address, REACH))
            connection.settimeout(None)
            tell(connection, [secret])
            stack.enter_context(listening(tell_iteration))
        yield
