"""Progress relay: the first worker tells the process that has started the fit how far it is."""

import secrets
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from threading import Event, Thread
from typing import Any

from treerank.progress import Listener as ProgressListener
from treerank.progress import Note, current_listener, ignore_progress, listening

#: Seconds to wait for the last message, where a worker was lost.
_PATIENCE = 5
#: Where progress is told: an address and a secret.
Place = tuple[Any, bytes]


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
    secret, is_done = secrets.token_bytes(), Event()
    with Listener((host, 0), authkey=secret) as server:
        thread = Thread(target=_hear, args=(server, listener, is_done), daemon=True)
        thread.start()
        try:
            yield server.address, secret
        finally:
            is_done.set()
            with suppress(OSError):  # a connection ends the wait for one
                socket.create_connection(server.address, _PATIENCE).close()
            thread.join(_PATIENCE)


def _hear(server: Listener, listener: ProgressListener, is_done: Event) -> None:
    """Call the listener with the messages of one connection after the other."""
    while not is_done.is_set():
        with suppress(AuthenticationError, EOFError, OSError), server.accept() as connection:
            while True:
                listener(*connection.recv())


def telling_progress(place: Place | None) -> AbstractContextManager[Any]:
    """Tell the iterations of the fits inside the block to a place; None is nowhere."""
    return nullcontext() if place is None else _telling(*place)


@contextmanager
def _telling(address: Any, secret: bytes) -> Iterator[None]:
    def tell(n_done: int, n_total: int | None, note: Note) -> None:
        with suppress(OSError):  # a fit does not end for want of a listener
            connection.send((n_done, n_total, note))

    with ExitStack() as stack:
        with suppress(AuthenticationError, EOFError, OSError):
            connection = stack.enter_context(Client(address, authkey=secret))
            stack.enter_context(listening(tell))
        yield
