"""Spelling: how messages name arguments, so that a shell can let them name its options.

A message that advises to pass an argument gets its spelling from :func:`spelled`. By default, the
argument is spelled as in Python.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: How the caller spells the arguments, by their names; None for Python.
_OPTIONS: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextmanager
def spelling(options: Mapping[str, str] | None) -> Iterator[None]:
    """Within the block, let messages name arguments by the given command-line options.

    ``options`` maps arguments to options; arguments without one cannot be set by the user. None
    names arguments as in Python.

    Examples
    --------
    >>> with spelling({"document": "--id"}):
    ...     spelled("document"), spelled("document", "sku"), spelled("k"), has_spelling("k")
    ('--id', '--id sku', 'k', False)
    >>> spelled("document"), spelled("document", "sku"), has_spelling("document")
    ('document', "document='sku'", True)
    """
    token = _OPTIONS.set(options)
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def current_options() -> Mapping[str, str] | None:
    """Return the options of the block, for another process to name arguments alike."""
    return _OPTIONS.get()


def spelled(name: str, value: Any = None) -> str:
    """Return an argument as the user types it: ``name`` and ``name='a'``, or ``--name a``."""
    option = (_OPTIONS.get() or {}).get(name)
    if option is None:
        return name if value is None else f"{name}={value!r}"
    return option if value is None else f"{option} {value}"


def has_spelling(name: str) -> bool:
    """Return whether the user can set an argument: always in Python, else by an option."""
    options = _OPTIONS.get()
    return options is None or name in options
