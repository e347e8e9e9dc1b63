"""Lazy names: a table of ``name: "module:object"``, whose modules are imported when asked for.

So a package may export what needs torch or xgboost without importing either.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_object(path: str) -> Any:
    """Return the object that ``"module:object"`` names.

    Examples
    --------
    >>> load_object("math:sqrt")(4.0)
    2.0
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def lazy_names(
    package: str, table: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that exports the names of a table.

    Examples
    --------
    >>> get, names = lazy_names("example", {"sqrt": "math:sqrt"})
    >>> get("sqrt")(4.0), names()
    (2.0, ['sqrt'])
    """

    def get(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return load_object(table[name])

    def names() -> list[str]:
        return sorted(table)

    return get, names
