"""Lazy names: objects written ``"module:object"``, whose modules are imported when asked for.

So a package may export what needs torch without importing it. What a package exports stands once,
in its ``__init__.pyi``, which type checkers read, too.
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
#: Packages that these modules, and modules below them, need, and that are no dependencies.
_NEEDED = {
    "treerank.baselines.neural": "torch",
    "treerank.distributed": "xgboost",
    "treerank.feature_parts.any_model.modules": "torch",
    "treerank.feature_parts.networks": "torch",
    "treerank.feature_parts.trees.xgboost": "xgboost",
}


def load_object(path: str) -> Any:
    """Import and return the object named as ``"module:object"``.

    An error says how to install a package that is an extra of this one and is not there.

    Examples
    --------
    >>> load_object("math:sqrt")(4.0)
    2.0
    """
    module, _, name = path.partition(":")
    with naming_the_extra(name):
        return getattr(import_module(module), name)


def needed_by(path: str) -> set[str]:
    """Return the optional packages that the object ``"module:object"`` needs.

    Examples
    --------
    >>> needed_by("treerank.feature_parts.networks.mlp:MLP")
    {'torch'}
    """
    module = path.partition(":")[0]
    return {_NEEDED[name] for name in _NEEDED if f"{module}.".startswith(f"{name}.")}


@contextmanager
def naming_the_extra(importer: str) -> Iterator[None]:
    """Within the block, let errors of a missing optional package say how to install it.

    ``importer`` names what needs it.

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
    """Return the names that a package exports, sorted, with the ``"module:object"`` of each.

    Its file ``__init__.pyi`` lists them, in lines ``from module import Name as Name``.

    Examples
    --------
    >>> import treerank.rankers
    >>> exported("treerank.rankers")["Ranker"]
    'treerank.rankers.ranker:Ranker'
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_text("utf-8")
    lines = re.findall(r"^from (\S+) import (\w+) as ", stub, re.MULTILINE)
    return dict(sorted((name, f"{module}:{name}") for module, name in lines))


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
    needed = {name: needed_by(path) for name, path in table.items()}
    missing = {package for package in set().union(*needed.values()) if not find_spec(package)}
    names = [name for name in table if not needed[name] & missing]

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
