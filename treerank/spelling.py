"""Spelling: how messages name arguments, so that a shell can let them name its options.

A message that tells to write an argument asks :func:`spelled` for it. By default that is an
argument of Python.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: How the caller spells the arguments, by their names; None for Python.
_OPTIONS: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextmanager
def spelling(options: Mapping[str, str]) -> Iterator[None]:
    """Let messages name arguments as a shell does that has options for them, or has none.

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


def spelled(name: str, value: Any = None) -> str:
    """Return an argument as a caller writes it, alone or with a value: an argument of Python."""
    option = (_OPTIONS.get() or {}).get(name)
    if option is None:
        return name if value is None else f"{name}={value!r}"
    return option if value is None else f"{option} {value}"


def has_spelling(name: str) -> bool:
    """Tell whether the caller can write an argument, as Python always can."""
    options = _OPTIONS.get()
    return options is None or name in options
