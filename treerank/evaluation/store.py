"""Store: a folder of finished fits, so that a comparison that was killed can be continued.

One file per ranker and split holds the scores of the test set. Its name ends in a key: a digest
of the ranker's class and parameters, the search, the data and the versions of treerank and of the
packages that it uses. So a fit whose configuration has changed is repeated, and another metric
needs no new fit. A function of your own counts by its code, its defaults, the variables that it
closes over and the global variables that it reads, functions of its module in the same way. A
class of your own counts by the code of its methods, and the constants that they read, such as
numbers: other variables may change while it is fitted. Modules, installed packages, functions of
other modules and what cannot be described count by their names: empty the folder when you change
those. Reading a file runs no code.
"""

import contextlib
import dataclasses
import dis
import functools
import inspect
import io
import json
import math
import platform
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import joblib
import numpy as np
from sklearn.frozen import FrozenEstimator

from treerank.checks import has_methods, quote
from treerank.datasets.folds import Split
from treerank.evaluation.engine_rankers import ENGINE_RANKERS
from treerank.evaluation.fits import Fitted, Search
from treerank.files.replaced import check_output, replaced_file

#: Packages that scores may depend on, where they are installed.
_PACKAGES = sorted(
    {"treerank", "numpy", "scipy", "scikit-learn", "numba", "torch"}.union(
        package for package, _ in ENGINE_RANKERS.values()
    )
)
#: Modules whose functions count by the versions of their packages, not by global variables.
_VERSIONED = {name.replace("-", "_") for name in _PACKAGES} | {"sklearn"}
#: Types of global variables that do not change while a method runs.
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)
#: The memory address in the text of an object that tells nothing else of itself.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Store:
    """A folder of finished fits, created if it does not exist."""

    folder: Path

    def check(self) -> None:
        """Refuse before any fit a folder that cannot be written."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"store must be a folder; got the file {quote(str(self.folder))}.")
        self.folder.mkdir(parents=True, exist_ok=True)
        check_output(self.folder / "fit.npz")

    def read(self, job: Any, key: str) -> Fitted | None:
        """Return the stored fit of a job, or None if there is none or its file is damaged.

        ``key`` is the digest of its configuration, see :func:`key_of`.
        """
        try:
            content = io.BytesIO(self._path(job, key).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                seconds, watched = tuple(about["seconds"]), about["watched"]
                return Fitted(file["scores"], about["best_params"], seconds, watched)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(self, job: Any, key: str, fitted: Fitted, configuration: dict[str, Any]) -> None:
        """Store the fit of a job; the file appears only when it is complete.

        ``key`` is the digest of ``configuration``, which is stored, too.
        """
        about = {"best_params": describe(fitted.best_params), "seconds": fitted.seconds}
        about |= {"watched": fitted.watched, "configuration": configuration}
        content = io.BytesIO()
        np.savez_compressed(content, scores=fitted.scores, about=json.dumps(about))
        with replaced_file(self._path(job, key)) as file:
            file.write(content.getvalue())

    def _path(self, job: Any, key: str) -> Path:
        """Return the file of the fit of a job, named by ranker, split and key."""
        names = (re.sub(r"[^A-Za-z0-9._-]+", "_", part) for part in (job.name, job.split.name))
        name = "-".join(names)
        return self.folder / f"{name[:80]}-{key[:20]}.npz"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results may depend on."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def configuration_of(ranker: Any, search: Search | None, split: Split) -> dict[str, Any]:
    """Return all that the scores depend on, as JSON values: ranker, search, data and versions."""
    return {
        "ranker": describe(ranker),
        "search": describe(search),
        "data": split.fingerprint,
        "versions": versions(),
    }


def key_of(configuration: dict[str, Any]) -> str:
    """Return a digest of a configuration."""
    return joblib.hash(json.dumps(configuration, sort_keys=True), hash_name="sha1")


def describe(value: Any) -> Any:
    """Return a value as JSON values, different ones for values that give different results.

    An object with a state is described by its state, as it would be pickled. Refuses a value whose
    text is only its memory address.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> describe(DecisionTreeRegressor(max_depth=2))["class"]
    'sklearn.tree._classes.DecisionTreeRegressor'
    >>> describe({"rate": np.float64(0.5), "trees": (1, 2)})
    {'rate': 0.5, 'trees': [1, 2]}
    """
    return _Describer().describe(value)


@dataclass(frozen=True)
class _Describer:
    """Describes values as JSON values, see :func:`describe`.

    Attributes
    ----------
    within : tuple of int
        Addresses of the objects that contain the present value; a cycle is described by the index
        here.
    is_fitted : bool, default=False
        Whether estimators are described by their state, and not by their parameters.
    functions : dict from int to function
        Functions whose global variables have been described, by address.
    in_class : bool, default=False
        Whether methods are described, which count by their code and by constants alone.
    classes : dict from int to str
        Digests of the code of classes, by address.
    """

    within: tuple[int, ...] = ()
    is_fitted: bool = False
    functions: dict[int, FunctionType] = field(default_factory=dict)
    in_class: bool = False
    classes: dict[int, str] = field(default_factory=dict)

    def describe(self, value: Any) -> Any:
        """Return a value as JSON values."""
        if id(value) in self.within:
            return {"within": self.within.index(id(value))}
        inner = dataclasses.replace(self, within=(*self.within, id(value)))
        match value:
            case Enum():
                return {"class": _path_of(type(value)), "member": value.name}
            case None | bool() | str() | int():
                return value
            case np.generic() if value.dtype.kind in "biufSU":
                return self.describe(value.item())
            case float():
                return value if math.isfinite(value) else {"float": repr(value)}
            case complex():
                return {"complex": repr(value)}
            case bytes() | bytearray():
                return {"bytes": joblib.hash(bytes(value))}
            case np.ndarray() if value.dtype != object:
                return {"array": joblib.hash(value)}
            case list() | tuple():
                return [inner.describe(entry) for entry in value]
            case set() | frozenset():
                return {"set": sorted((inner.describe(entry) for entry in value), key=json.dumps)}
            case dict() if type(value) is dict and all(isinstance(name, str) for name in value):
                return {name: inner.describe(entry) for name, entry in value.items()}
            case dict() if type(value) is dict:
                return {"items": [inner.describe([*item]) for item in value.items()]}
            case type():
                return {"type": _path_of(value)} | inner.describe_class(value)
            case MethodType():
                return {"method": value.__name__, "of": inner.describe(value.__self__)}
            case FunctionType():
                return inner.describe_function(value)
            case FrozenEstimator():
                frozen = dataclasses.replace(inner, is_fitted=True)
                return {"frozen": frozen.describe(value.estimator)}
        return inner.describe_object(value)

    def describe_function(self, function: FunctionType) -> Any:
        """Return name, code, defaults, closure and global variables of a function, described."""
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        held = {"defaults": function.__defaults__, "keywords": function.__kwdefaults__}
        describe = self.describe_fixed if self.in_class else self.describe
        state = {name: describe(value) for name, value in held.items() if value}
        state |= {"closure": describe(cells)} if cells else {}
        state |= {"globals": values} if (values := self.describe_globals(function)) else {}
        return {"function": _path_of(function), "code": _code_of(function.__code__)} | state

    def describe_globals(self, function: FunctionType) -> dict[str, Any]:
        """Return the global variables that a function reads, described, by name.

        The dict is empty for a function that was visited before, and for functions of packages
        whose versions are part of the configuration.
        """
        package = str(function.__globals__.get("__name__")).partition(".")[0]
        if package in _VERSIONED or id(function) in self.functions:
            return {}
        self.functions[id(function)] = function
        names = sorted(_globals_of(function.__code__) & function.__globals__.keys())
        values = function.__globals__
        return {name: self.describe_global(values[name], values) for name in names}

    def describe_fixed(self, values: Any) -> list[Any]:
        """Return functions and constants among the entries of a list, tuple or dict, described."""
        entries = values.values() if isinstance(values, dict) else values
        functions = map(_function_in, entries)
        return [self.describe_global(f, getattr(f, "__globals__", {})) for f in functions]

    def describe_global(self, value: Any, its_module: dict[str, Any]) -> Any:
        """Return a global variable as a digest, or as the name of its class.

        Functions of ``its_module``, the global variables of the module, are described by their
        code; other functions and modules by their names.
        """
        inner = dataclasses.replace(self, within=(*self.within, id(value)))
        kind = {"class": _path_of(type(value))}
        match value:
            case ModuleType():
                return {"module": value.__name__}
            case type():
                return {"type": _path_of(value)} | inner.describe_class(value)
            case list() | tuple() | dict() | FunctionType() if id(value) in self.within:
                return {"within": self.within.index(id(value))}
            case list() | dict() if self.in_class:
                return kind
            case list() | tuple():
                return [inner.describe_global(entry, its_module) for entry in value]
            case dict():
                items = ([*item] for item in value.items())
                return {"items": [inner.describe_global(item, its_module) for item in items]}
        try:  # what is compiled or decorated counts by the function that it was made of
            is_local = getattr(value, "__globals__", None) is its_module
            function = value if is_local else inspect.unwrap(value)
            if not isinstance(function, FunctionType):
                is_fixed = not self.in_class or isinstance(value, _CONSTANTS)
                return kind | ({"digest": joblib.hash(value)} if is_fixed else {})
        except Exception:  # of any kind: it may be any object, such as a lock
            return kind
        if function.__globals__ is its_module:
            return inner.describe_function(function)
        return {"function": _path_of(function)}

    def describe_class(self, value: type) -> dict[str, str]:
        """Return a digest of the code of a class, as "code", unless packages bring all of it."""
        bases = [base for base in value.__mro__ if not _is_installed(base.__module__)]
        if bases and id(value) not in self.classes:
            self.classes[id(value)] = ""  # its methods may read it
            inner = dataclasses.replace(self, in_class=True, functions={}, within=())
            members = [[_path_of(base), inner.describe_members(base)] for base in bases]
            self.classes[id(value)] = joblib.hash(json.dumps(members, sort_keys=True))
        return {"code": self.classes[id(value)]} if bases else {}

    def describe_members(self, value: type) -> dict[str, Any]:
        """Return the methods and the constants in the body of a class, described, by name."""
        described = {}
        for name, member in sorted(vars(value).items()):
            match member:
                case property():
                    entries = [member.fget, member.fset, member.fdel]
                case functools.cached_property():
                    entries = [member.func]
                case _:
                    entries = [member]
            if isinstance(member, FunctionType) or not name.startswith("__"):  # no docstring
                described[name] = self.describe_fixed(entries)
        return described

    def describe_object(self, value: Any) -> Any:
        """Return the class of an object, and its parameters, fields or state."""
        kind = {"class": _path_of(type(value))} | self.describe_class(type(value))
        if has_methods(value, "get_params") and not self.is_fitted:
            return kind | {"params": self.describe(value.get_params(deep=False))}
        if dataclasses.is_dataclass(value) and not self.is_fitted:
            values = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return kind | {"fields": self.describe(values)}
        if isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by numba
            return kind | {"compiled": self.describe_function(value.py_func)}
        try:
            reduced = value.__reduce_ex__(2)
        except Exception:  # of any kind: classes say how they are pickled
            reduced = None
        if isinstance(reduced, tuple):
            entries = [list(part) if isinstance(part, Iterator) else part for part in reduced[1:]]
            made_by = getattr(reduced[0], "__name__", None)
            if made_by == "__newobj__":  # the class is known, and what else there is of the object
                entries[0] = entries[0][1:]
            state = [self.describe(entry) for entry in entries if entry]
            return kind | {"state": state} | ({} if made_by == "__newobj__" else {"by": made_by})
        if isinstance(reduced, str) and getattr(value, "__module__", None):  # a name of a module
            return {"name": f"{value.__module__}.{reduced}"}
        text = repr(value)
        if _ADDRESS.search(text):
            raise ValueError(
                f"store must be None for what cannot be told apart from others; got {quote(value)}."
                " Write a function of its own, or a class whose objects can be pickled."
            )
        return kind | {"text": text}


def _path_of(value: Any) -> str:
    """Return the import path of a class or of a function."""
    return f"{value.__module__}.{value.__qualname__}"


def _function_in(value: Any) -> Any:
    """Return the function that a static, class or cached method was made of, or else the value."""
    with contextlib.suppress(Exception):  # of any kind: it may be any object
        function = value if isinstance(value, FunctionType) else inspect.unwrap(value)
        return function if isinstance(function, FunctionType) else value
    return value


def _is_installed(module: str) -> bool:
    """Tell whether a module is one of Python or of an installed package, which has a version.

    Packages that are installed as a link to their folder are the user's own.
    """
    package = module.partition(".")[0]
    if package in _VERSIONED or package in sys.stdlib_module_names:
        return True
    if module == "__main__":  # its file in another process is that of the process
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def _globals_of(code: CodeType) -> set[str]:
    """Return the names of the global variables that code reads, also in functions inside it."""
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return names.union(*(_globals_of(c) for c in code.co_consts if type(c) is CodeType))


def _code_of(code: CodeType) -> str:
    """Return a digest of code that does not depend on its line numbers or its file."""
    inner = [_code_of(c) for c in code.co_consts if isinstance(c, CodeType)]
    constants = [
        repr(sorted(map(repr, c)) if isinstance(c, frozenset) else c)  # sets have no order
        for c in code.co_consts
        if not isinstance(c, CodeType)
    ]
    return joblib.hash([code.co_code, code.co_names, code.co_varnames, constants, inner])
