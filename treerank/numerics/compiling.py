"""Compiling: numba's ``njit`` for this package, whose machine code is kept on disk.

numba reuses the machine code on disk until the file of a function changes. It does not notice
that a function of another file, which was compiled into the first one, has changed. So the name
under which machine code is kept holds the version of treerank: a new version compiles anew.

While you edit a function that is compiled into functions of other files, delete the ``*.nbi``
files below ``treerank``.
"""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

try:
    _VERSION = version("treerank")
except PackageNotFoundError:  # run from its source, without having been installed
    _VERSION = "source"


def njit(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function with ``numba.njit`` and keep its machine code on disk.

    Parameters
    ----------
    function : callable, default=None
        The function, where the decorator is used without parentheses.
    **options
        Options of ``numba.njit``.

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


def kernel_for(*parts: Any, **options: Any) -> Callable[[Callable], Any]:
    """Compile a kernel into which the given functions and flags are compiled as constants.

    numba numbers the kernels of one name on disk. Two processes that compile one name for
    different parts at the same time would take the same number, and one would run the code of
    the other. So the name of the kernel holds the names of its parts. A part that is a compiled
    function of the user's own cannot be named like that: then nothing is kept on disk.

    Parameters
    ----------
    *parts : callable or bool
        Functions and flags that the kernel uses.
    **options
        Options of ``numba.njit``.

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
    is_nameable = not any(isinstance(part, Dispatcher) for part in parts)

    def decorate(function: Callable) -> Any:
        function.__qualname__ += f"[{','.join([_VERSION, *names])}]"
        return numba.njit(cache=is_nameable, **options)(function)

    return decorate
