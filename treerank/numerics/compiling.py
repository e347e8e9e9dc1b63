"""Compiling: numba's ``njit`` with machine code that is stored in the user's cache folder.

Machine code is stored under a name that no other kernel has, in the folder that
:mod:`treerank.numerics.kernel_folder` names. Where that folder cannot be written, each process
compiles what it needs.

A process that has just compiled a kernel calls the functions of the kernel where they were compiled
first; a process that reads the kernel from disk calls the copies inside it, which were optimized
once more. Sums and products in any order (``reassoc``) would then differ in the last bits. So
functions that allow it are copied into the kernels that call them, and never called: those of
:func:`register_jitable` as Python code, before kernels are compiled, and those with ``forceinline``
as they were optimized.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba import extending
from numba.core import event

from treerank.numerics.kernel_folder import config, kernel_folder
from treerank.numerics.one_writer import let_one_process_write

#: How the names of the modules of this package begin.
_OWN = __name__.partition(".")[0] + "."


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function with ``numba.njit`` and store its machine code on disk.

    ``options`` are those of ``numba.njit``.

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


def kernel_for(*parts: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a kernel that uses given functions and flags as constants.

    The parts are part of the name under which machine code is stored. Nothing is stored if a part
    is a function of the user, which may change while its name does not, or if the kernel is not
    defined in a file.

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
    is_ours = all(map(_is_ours, parts))

    def decorate(function: Callable[..., Any]) -> Any:
        if parts:
            function.__qualname__ += f"[{','.join(names)}]"
        is_in_file = Path(function.__code__.co_filename).is_file()
        folder = kernel_folder() if is_ours and is_in_file else None
        if folder is None:
            return numba.njit(**options)(function)
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            kernel = numba.njit(cache=True, **options)(function)
        finally:
            config.CACHE_DIR = before
        let_one_process_write(kernel)
        return kernel

    return decorate


@contextmanager
def while_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call ``tell(True)`` when a kernel begins to be compiled, and ``tell(False)`` at its end.

    Kernels that are read from disk are not compiled. Those that a kernel calls are compiled within
    it, and other threads may compile some: of all of them, the first and the last are told of.

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
    """Counts the kernels that are being compiled; numba lets one thread compile at a time."""

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


def _is_ours(part):
    """Tell whether a part of a kernel is a flag, or a function of this package."""
    if isinstance(part, FunctionType):
        return part.__module__.startswith(_OWN)
    return not callable(part)


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
