"""Compiling: numba's ``njit`` with machine code that is stored in the user's cache folder.

Machine code is stored in the folder that :mod:`treerank.numerics.kernel_folder` names. Where that
folder cannot be written, each process compiles what it needs.

Machine code is stored under a name that no other kernel has, by one process at a time. numba
numbers the types for which a kernel was compiled, and reads the last number before it writes the
next. Two processes that compile a kernel for different types at the same time would give both the
same number, and the code for one type would run on the other. numba has no public way to prevent
that, so :func:`lock_writes` replaces one method of the object in which a kernel keeps its stored
code. With untested versions of numba, and where ``TREERANK_PLAIN_NUMBA`` is set, kernels are stored
as numba does it.

A process that has just compiled a kernel calls the functions of the kernel where they were compiled
first; a process that reads the kernel from disk calls the copies inside it, which were optimized
once more. Sums and products in any order (``reassoc``) would then differ in the last bits. So
functions that allow it are copied into the kernels that call them, and never called: functions of
:func:`register_jitable` as Python code, before kernels are compiled, and functions with
``forceinline`` as they were optimized.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import extending
from numba.core import event

from treerank.numerics.kernel_folder import config, kernel_folder

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # Windows
    with suppress(ImportError):
        import msvcrt

#: How the names of the modules of this package begin.
_OWN_MODULES = __name__.partition(".")[0] + "."
#: The file that is locked on Windows, where a folder cannot be locked.
_LOCK = "treerank.lock"
#: First version of numba whose kernels are tested to have this object, and the first that is not.
TESTED_VERSIONS = (0, 61), (0, 70)
#: Levels of optimization of the functions that have their own, see :func:`kernel_for`.
_LEVELS: dict[Callable[..., Any], int] = {}
#: numba's level of optimization, unless the user sets another.
_DEFAULT_LEVEL = 3


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function with ``numba.njit`` and cache its machine code on disk.

    ``options`` are passed to ``numba.njit``, but for ``optimization``, see :func:`kernel_for`.
    Works as a decorator, with or without arguments.

    Examples
    --------
    >>> @njit
    ... def add_one(x):
    ...     return x + 1
    >>> add_one(1)
    2
    """
    decorate = kernel_for(**options)
    return decorate if function is None else decorate(function)


def kernel_for(
    *parts: Any, optimization: int | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function whose closure holds ``parts`` as constants.

    Parts are functions and flags; their names are part of the name under which machine code is
    cached. It is not cached if a part is a user's function, which may change while its name does
    not, or if the function is not defined in a file.

    ``optimization`` is LLVM's level of optimization, for the kernel and for the functions of this
    package that it calls; by default numba's, which is 3. A lower one takes less time to compile.
    Measure that the kernel stays as fast: most do not. A kernel that adds up in any order
    (``reassoc``) has other last bits at another level. If the user has set ``NUMBA_OPT``, it has
    no effect.

    Examples
    --------
    >>> from math import sqrt
    >>> @kernel_for(sqrt, True)
    ... def root(x):
    ...     return sqrt(x)
    >>> root(4.0)
    2.0
    """
    names = [getattr(part, "__qualname__", repr(part)) for part in parts]
    functions = [part for part in parts if isinstance(part, FunctionType)]
    is_ours = all(map(_is_ours, parts))

    def decorate(function: Callable[..., Any]) -> Any:
        if optimization is not None:
            _LEVELS[function] = optimization
        if parts:
            function.__qualname__ += f"[{','.join(names)}]"
        file = function.__code__.co_filename
        part_files = [part.__code__.co_filename for part in functions]
        folder = kernel_folder(file, *part_files) if is_ours and Path(file).is_file() else None
        if folder is None:
            return numba.njit(**options)(function)
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            # Without the function by which C would call the kernel, a tenth of what is compiled.
            settings = {"cache": True, "no_cfunc_wrapper": True} | options
            kernel = numba.njit(**settings)(function)
        finally:
            config.CACHE_DIR = before
        lock_writes(kernel)
        return kernel

    return decorate


@contextmanager
def while_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Within the block, call ``tell(True)`` when compilation begins, ``tell(False)`` at its end.

    Kernels that are read from disk are not compiled. Those that a kernel calls are compiled within
    it, and other threads may compile some: only the start of the first and the end of the last are
    reported.

    Examples
    --------
    >>> @njit
    ... def add_one(x):
    ...     return x + 1
    >>> with while_compiling(print):
    ...     print(add_one(1), add_one(2))
    True
    False
    2 3
    """
    with event.install_listener("numba:compile", _Compilations(tell)):
        yield


class _Compilations(event.Listener):
    """Counts compilations in progress; calls ``tell`` when the first begins and the last ends.

    Numba lets one thread compile at a time.
    """

    def __init__(self, tell):
        self.tell, self.n_running = tell, 0

    def on_start(self, event):
        self.n_running += 1
        if self.n_running == 1:
            self.tell(True)

    def on_end(self, event):
        self.n_running -= 1
        if self.n_running == 0:
            self.tell(False)


class _WithoutCollections(event.Listener):
    """Keeps Python from collecting garbage while kernels of this package are compiled."""

    def __init__(self):
        self.n_running, self.is_enabled = 0, True

    def on_start(self, event):
        if _is_kernel_of_ours(event):
            self.n_running += 1
            if self.n_running == 1:
                self.is_enabled = gc.isenabled()
                gc.disable()

    def on_end(self, event):
        if _is_kernel_of_ours(event):
            self.n_running -= 1
            if self.n_running == 0 and self.is_enabled:
                gc.enable()


def _is_kernel_of_ours(compilation):
    """Return whether a compilation is of a function of this package."""
    return _is_of_package(compilation.data["dispatcher"].py_func)


class _Levels(event.Listener):
    """Compiles each kernel at the level of optimization that it asks for.

    numba reads the level from its configuration whenever it optimizes a function, and one thread
    compiles at a time. Functions of others that are compiled meanwhile, such as a user's loss or
    numba's own, keep the level that was set before: other kernels may call them.
    """

    def __init__(self):
        #: For each compilation in progress, the level before and the level within.
        self.running = []

    def on_start(self, event):
        before: Any = getattr(config, "OPT", None)
        outside = self.running[0][0] if self.running else before
        within, function = before, event.data["dispatcher"].py_func
        if not _is_of_package(function):
            within = outside
        elif function in _LEVELS and _is_default(outside):
            within = type(outside)(_LEVELS[function])
        self.running.append((before, within))
        if within is not before:
            config.OPT = within

    def on_end(self, event):
        before, within = self.running.pop()
        if within is not before and config.OPT is within:  # numba has not read settings anew
            config.OPT = before


def _is_default(level):
    """Return whether a level of optimization is numba's own, not the user's, and may be changed.

    numba does not promise what its configuration holds.
    """
    is_chosen = "NUMBA_OPT" in os.environ or getattr(level, "is_opt_max", True)
    return _is_tested() and level == _DEFAULT_LEVEL and not is_chosen


def _is_tested():
    """Return whether the version of numba is one whose parts that are not promised are known."""
    return TESTED_VERSIONS[0] <= numba.version_info.short < TESTED_VERSIONS[1]


event.register("numba:compile", _WithoutCollections())
event.register("numba:compile", _Levels())


def _is_ours(part):
    """Return whether a closure's constant is a flag, or a function of this package."""
    if isinstance(part, FunctionType):
        return _is_of_package(part)
    return not callable(part)


def _is_of_package(function):
    """Return whether a function is defined in this package; ``exec`` makes some without module."""
    return (function.__module__ or "").startswith(_OWN_MODULES)


def register_jitable(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Let kernels call a Python function, which is compiled into each of them.

    With ``inline="always"`` it is copied as Python code, before types are known. That saves most of
    the time to compile it, if it is short and has one or two calls: a function of its own is
    optimized alone, and again in each kernel. No kernel may hold such a function in its closure,
    as it would not be found on disk again.

    Examples
    --------
    >>> @register_jitable
    ... def add_one(x):
    ...     return x + 1
    >>> @njit
    ... def add_two(x):
    ...     return add_one(add_one(x))
    >>> add_two(1)
    3
    """
    if options.get("inline") == "always" or "reassoc" in (options.get("fastmath") or ()):
        decorate = numba.njit(**{**options, "inline": "always"})
    else:
        # Without the code by which Python and C would call the compiled function.
        wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        decorate = extending.register_jitable(**{**wrappers, **options})
    return decorate if function is None else decorate(function)


def for_kernel(array: np.ndarray) -> np.ndarray:
    """Return an array, or a view of one that must not be written, for a kernel that only reads it.

    numba has a type of its own for arrays that must not be written, such as those of
    ``np.load(file, mmap_mode="r")`` and of pandas, and would compile the kernel again.

    Examples
    --------
    >>> numbers = np.arange(3)
    >>> numbers.flags.writeable = False
    >>> numba.typeof(for_kernel(numbers))
    Array(int64, 1, 'C', False, aligned=True)
    """
    return array if array.flags.writeable else np.asarray(_Unlocked(array))


class _Unlocked:
    """The memory of an array, and the array, so that the memory stays."""

    def __init__(self, array):
        self.array, address = array, array.ctypes.data
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}


def lock_writes(kernel: Any) -> None:
    """Make numba store a kernel's machine code under a lock, one process at a time.

    Changes nothing for versions of numba that are not tested, where nothing is cached or there are
    no locks, or if ``TREERANK_PLAIN_NUMBA`` is set.
    """
    stored = getattr(kernel, "_cache", None)  # None if nothing is compiled
    has_locks = fcntl is not None or msvcrt is not None
    if not has_locks or not _is_tested() or stored is None or "TREERANK_PLAIN_NUMBA" in os.environ:
        return
    save = stored.save_overload

    def save_locked(types: Any, code: Any) -> None:
        with suppress(OSError), _locked(stored.cache_path):  # as on a full disk
            save(types, code)

    stored.save_overload = save_locked


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold a lock on ``folder`` within the block; wait until no other process holds it."""
    os.makedirs(folder, exist_ok=True)
    if fcntl:
        lock = os.open(folder, os.O_RDONLY)
    else:
        lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT)
    try:
        with suppress(OSError):  # some file systems have no locks
            if fcntl:
                fcntl.flock(lock, fcntl.LOCK_EX)
            else:
                msvcrt.locking(lock, msvcrt.LK_LOCK, 1)  # waits for ten seconds
        yield
    finally:
        if not fcntl:
            with suppress(OSError):
                msvcrt.locking(lock, msvcrt.LK_UNLCK, 1)
        os.close(lock)
