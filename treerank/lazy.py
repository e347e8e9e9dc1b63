"""Lazy names: a table of ``name: "module:object"``, whose modules are imported when asked for.

So a package may export what needs torch or xgboost without importing either.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

#: The extra of this package that installs another package.
EXTRAS = {"torch": "torch", "xgboost": "xgboost", "matplotlib": "plots", "pyarrow": "parquet"}


def load_object(path: str) -> Any:
    """Return the object that ``"module:object"`` names.

    Raises
    ------
    ImportError
        If a package that is an extra of this one is not installed; says how to install it.

    Examples
    --------
    >>> load_object("math:sqrt")(4.0)
    2.0
    """
    module, _, name = path.partition(":")
    with naming_the_extra(name):
        return getattr(import_module(module), name)


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
