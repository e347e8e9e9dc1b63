"""Compiling: numba's ``njit`` with machine code that is stored on disk.

numba reuses stored machine code until the file of the function changes. It does not notice a
change in a function of another file that was compiled into it. So the name under which machine
code is stored contains the version of treerank: a new version compiles anew.

If you edit a function that is compiled into functions of other files, delete the ``*.nbi`` files
below ``treerank``.

The machine code of a kernel contains a copy of each function that the kernel calls, optimized
once more than the function itself. The process that compiled both would call the function, and a
process that reads the kernel from disk calls the copy. Where sums may be reordered, the two differ
in the last bits. So kernels call their own copies in every process.
"""

import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import AnnotateTypes

try:
    _VERSION = version("treerank")
except PackageNotFoundError:  # run from its source without an installation
    _VERSION = "source"


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function with ``numba.njit`` and store its machine code on disk.

    Parameters
    ----------
    function : callable, default=None
        The function, if the decorator is used without parentheses.
    **options
        Options of ``numba.njit``.

    Returns
    -------
    callable
        The compiled function, or a decorator.

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

    numba numbers the stored kernels that have the same name. Two processes that compile such
    kernels with different parts at the same time would use the same number, and one process would
    run the kernel of the other. So the name of the kernel contains the names of its parts. Nothing
    is stored if a part is a compiled function of the user, whose name may not be unique, or if the
    kernel is not defined in a file.

    Parameters
    ----------
    *parts : callable or bool
        Functions and flags that the kernel uses.
    **options
        Options of ``numba.njit``.

    Returns
    -------
    callable
        The decorator.

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

    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"[{','.join([_VERSION, *names])}]"
        is_stored = is_nameable and os.path.exists(function.__code__.co_filename)
        return numba.njit(cache=is_stored, pipeline_class=_KernelCompiler, **options)(function)

    return decorate


class _OwnCopies(JITCodeLibrary):
    """Machine code of a kernel that calls its own copies of functions."""

    def _optimize_final_module(self):
        for function in self._final_module.functions:
            if function.linkage in (Linkage.linkonce_odr, Linkage.weak_odr):  # a copy
                function.linkage = Linkage.internal
        super()._optimize_final_module()


@register_pass(mutates_CFG=False, analysis_only=True)
class _OpenLibrary(LoweringPass):
    """Provides the library that the next step of the compiler writes to."""

    _name = "treerank_open_library"

    def __init__(self):
        LoweringPass.__init__(self)

    def run_pass(self, state):
        state.library = _OwnCopies(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class _KernelCompiler(Compiler):
    """The compiler of numba with libraries of our own."""

    def define_pipelines(self):
        [passes] = super().define_pipelines()
        passes.add_pass_after(_OpenLibrary, AnnotateTypes)
        passes.finalize()
        return [passes]
