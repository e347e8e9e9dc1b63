"""Lazy names: objects written ``"module:object"``, whose modules are imported when asked for.

So a package may export what needs torch without importing it. Such an object is written
``"module:object [torch]"``, with the package that it needs.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from treerank.renamed import RENAMED, refuse_old_name

#: The extra of this package that installs another package.
EXTRAS = {
    "distributed": "dask",
    "matplotlib": "plot",
    "onnx": "onnx",
    "torch": "torch",
    "xgboost": "xgboost",
}


def load_object(path: str) -> Any:
    """Return the object that ``"module:object"`` or ``"module:object [package]"`` names.

    An error says how to install a package that is an extra of this one and is not there.

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
def naming_the_extra(importer: str) -> Iterator[None]:
    """Say how to install the extra that ``importer``, the code inside the block, fails to import.

    Examples
    --------
    >>> with naming_the_extra("MLP"):
    ...     raise ModuleNotFoundError(name="torch")
    Traceback (most recent call last):
    ...
    ImportError: MLP needs torch: pip install 'treerank[torch]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = EXTRAS[error.name]
        raise ImportError(
            f"{importer} needs {error.name}: pip install 'treerank[{extra}]'"
        ) from error


def exported(package: str) -> dict[str, str]:
    """Return the names that a package exports, in order, and the object that each stands for.

    Its file ``__init__.pyi`` lists them, which type checkers read, too. Each line is ``from module
    import Name as Name``; a comment behind it names the package that the module needs, if any.

    Examples
    --------
    >>> import treerank.rankers
    >>> exported("treerank.rankers")["Ranker"]
    'treerank.rankers.ranker:Ranker'
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_text("utf-8")
    lines = re.findall(r"^from (\S+) import (\w+) as \w+(?:  # (\w+))?$", stub, re.MULTILINE)
    named = {
        name: f"{module}:{name}" + f" [{needed}]" * bool(needed) for module, name, needed in lines
    }
    return dict(sorted(named.items()))


def lazy_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package that exports names lazily.

    ``__all__`` lists what can be imported here: ``help`` and ``import *`` ask for all of it.
    Modules of the package are attributes, too.

    Examples
    --------
    >>> import treerank.rankers
    >>> names, get, _ = lazy_names("treerank.rankers")
    >>> "Ranker" in names, get("Ranker").__name__, get("head").__name__
    (True, 'Ranker', 'treerank.rankers.head')
    """
    table = exported(package)
    needs = {name: _parts(path)[2] for name, path in table.items()}
    missing = {needed for needed in set(needs.values()) if needed and not find_spec(needed)}
    names = [name for name, needed in needs.items() if needed not in missing]

    def get(name: str) -> Any:
        if name in RENAMED.get(package, {}):
            refuse_old_name(package, name)
        if name in table:
            setattr(sys.modules[package], name, load_object(table[name]))
            return getattr(sys.modules[package], name)
        if name.isidentifier() and name[0] != "_" and find_spec(f"{package}.{name}"):
            return import_module(f"{package}.{name}")
        # With the module, from which Python suggests a name that is spelled like this one.
        wrong = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(wrong, name=name, obj=sys.modules[package])

    return names, get, lambda: names
