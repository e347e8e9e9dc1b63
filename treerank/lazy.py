"""Lazy names: a table of ``name: "module:object"``, whose modules are imported when asked for.

So a package may export what needs torch without importing it. Such an object is written
``"module:object [torch]"``, with the package that it needs.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: The extra of this package that installs another package.
EXTRAS = {"torch": "torch", "xgboost": "xgboost", "matplotlib": "plots", "pyarrow": "parquet"}


def load_object(path: str) -> Any:
    """Return the object that ``"module:object"`` or ``"module:object [package]"`` names.

    Raises
    ------
    ImportError
        If a package that is an extra of this one is not installed; says how to install it.

    Examples
    --------
    >>> load_object("math:sqrt")(4.0)
    2.0
    """
    module, name, _ = _parts(path)
    with naming_the_extra(name):
        return getattr(import_module(module), name)


def _parts(path: str) -> tuple[str, str, str]:
    """Return the module, the object, and the package it needs, or nothing."""
    where, _, needed = path.partition(" [")
    module, _, name = where.partition(":")
    return module, name, needed.rstrip("]")


@contextmanager
def naming_the_extra(what: str) -> Iterator[None]:
    """Say how to install the extra that the code inside the block fails to import.

    Parameters
    ----------
    what : str
        What needs the extra.

    Examples
    --------
    >>> with naming_the_extra("MLP"):
    ...     raise ModuleNotFoundError(name="torch")
    Traceback (most recent call last):
    ...
    ImportError: MLP needs torch: pip install treerank[torch]
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = EXTRAS[error.name]
        raise ImportError(f"{what} needs {error.name}: pip install treerank[{extra}]") from error


def lazy_names(
    package: str, table: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that exports the names of a table.

    ``__dir__`` lists what can be imported here: ``help`` and ``import *`` ask for all of it.
    Modules of the package are attributes, too.

    Examples
    --------
    >>> get, names = lazy_names("json", {"sqrt": "math:sqrt", "Net": "net:Net [no_such_package]"})
    >>> get("sqrt")(4.0), names(), get("tool").__name__
    (2.0, ['sqrt'], 'json.tool')
    """

    def get(name: str) -> Any:
        if name in table:
            return load_object(table[name])
        if name.isidentifier() and name[0] != "_" and find_spec(f"{package}.{name}"):
            return import_module(f"{package}.{name}")
        # With the module, from which Python suggests a name that is spelled like this one.
        wrong = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(wrong, name=name, obj=sys.modules[package])

    def names() -> list[str]:
        needs = {name: _parts(path)[2] for name, path in table.items()}
        missing = {needed for needed in set(needs.values()) if needed and not find_spec(needed)}
        return sorted(name for name, needed in needs.items() if needed not in missing)

    return get, names
