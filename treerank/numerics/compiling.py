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

Compiling is the time that a user waits for in the first fit. What kernels only copy, such as the
functions that they call and the body of a parallel loop, gets no machine code of its own.
"""

import gc
import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from types import FunctionType
from typing import Any

import numba
from llvmlite import ir
from llvmlite.binding import Linkage, parse_assembly
from numba import extending
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import AnnotateTypes
from numba.parfors.parfor import Parfor

from treerank.numerics.compiler_shortcuts import shortcuts
from treerank.numerics.kernel_cache import keep_stored

try:
    _VERSION = version("treerank")
except PackageNotFoundError:  # run from its source without an installation
    _VERSION = "source"
#: How the names of variables begin that numba fills in as soon as a function is compiled.
_ENVIRONMENT = "_ZN08NumbaEnv"
#: numba counts no references to arrays in such functions, nor in those that they call.
UNCOUNTED = {"_nrt": False}


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function with ``numba.njit`` and store its machine code on disk.

    Parameters
    ----------
    function : callable, default=None
        The function, if the decorator is used without parentheses.
    **options
        Options of :func:`kernel_for`.

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


def kernel_for(
    *parts: Any, makes_arrays: bool = True, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
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
    makes_arrays : bool, default=True
        Whether the kernel or what it calls makes new arrays. If not, it counts no references to
        arrays, which saves up to a fifth of the time to compile.
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
    options |= {} if makes_arrays else UNCOUNTED
    names = [getattr(part, "__qualname__", repr(part)) for part in parts]
    is_nameable = not any(isinstance(part, Dispatcher) for part in parts)

    def decorate(function: Callable[..., Any]) -> Any:
        full_name = _full_name(function, parts)
        function.__qualname__ += f"[{','.join([_VERSION, *names])}]"
        is_stored = is_nameable and os.path.exists(function.__code__.co_filename)
        kernel: Any = numba.njit(cache=is_stored, pipeline_class=_KernelCompiler, **options)(
            function
        )
        if is_stored and hasattr(kernel, "_cache"):  # it is compiled
            keep_stored(kernel._cache, full_name)
        return kernel

    return decorate


def _full_name(function, parts):
    """Return a name that no other kernel of any program has, or None if it may not be unique."""
    names = [
        f"{part.__module__}.{part.__qualname__}" if isinstance(part, FunctionType) else repr(part)
        for part in parts
    ]
    if "<" in "".join(names) or (function.__closure__ and not parts):
        return None
    return f"{function.__module__}.{function.__qualname__}[{','.join(names)}]"


def register_jitable(
    function: Callable[..., Any] | None = None, *, makes_arrays: bool = True, **options: Any
) -> Any:
    """Let kernels call a Python function, which is compiled into each of them.

    Parameters
    ----------
    function : callable, default=None
        The function, if the decorator is used without parentheses.
    makes_arrays : bool, default=True
        As in :func:`kernel_for`, whatever its callers do.
    **options
        Options of ``numba.njit``.

    Returns
    -------
    callable
        The function itself, or a decorator.

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
    # Without the code by which Python would call the compiled function.
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    options |= {} if makes_arrays else UNCOUNTED
    decorate = extending.register_jitable(**options)
    return decorate if function is None else decorate(function)


class _Copied(JITCodeLibrary):
    """Code that kernels copy, and optimize. It becomes machine code when its address is wanted."""

    _is_machine_code = False

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        if self._disable_inspection:  # because its machine code was read from disk
            self._make_machine_code()
        else:
            self._finalize_dynamic_globals()
            self._add_environments()
            self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        if not self._is_machine_code and name in {f.name for f in self.get_defined_functions()}:
            self._make_machine_code()
        return super().get_pointer_to_function(name)

    def _make_machine_code(self):
        self._is_machine_code = True
        super()._optimize_final_module()
        super()._finalize_final_module()

    def _add_environments(self):
        """Add the variables that numba fills in as soon as a function is compiled."""
        engine, pointer = self._codegen._engine, ir.IntType(8).as_pointer()
        module = self.create_ir_module(self.name)
        for variable in self._final_module.global_variables:
            name = variable.name
            if name.startswith(_ENVIRONMENT) and not engine.is_symbol_defined(name):
                environment = ir.GlobalVariable(module, pointer, name)
                environment.linkage, environment.initializer = "common", pointer(None)
        if module.globals:
            engine.add_module(parse_assembly(str(module)))
            engine.finalize_object()


class _OwnCopies(JITCodeLibrary):
    """Machine code of a kernel that calls its own copies of functions."""

    def _optimize_final_module(self):
        for function in self._final_module.functions:
            if function.linkage in (Linkage.linkonce_odr, Linkage.weak_odr):  # a copy
                function.linkage = Linkage.internal
        super()._optimize_final_module()


@register_pass(mutates_CFG=False, analysis_only=True)
class _OpenLibrary(LoweringPass):
    """Provides the library that the next step of the compiler writes to.

    Python calls a kernel, but never the body of a parallel loop, which gets no code for that.
    Nobody calls a kernel from C.
    """

    _name = "treerank_open_library"

    def __init__(self):
        LoweringPass.__init__(self)

    def run_pass(self, state):
        state.library = _OwnCopies(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        flags = state.flags
        for block in state.func_ir.blocks.values():
            for loop in block.find_insts(Parfor):
                loop.flags = flags.copy()
        flags.no_cpython_wrapper = False
        return False


class _KernelCompiler(Compiler):
    """The compiler of numba with libraries of our own."""

    def _compile_core(self):
        # From the start, as numba compiles functions like `min` once for each set of flags.
        self.state.flags.no_cpython_wrapper = self.state.flags.no_cfunc_wrapper = True
        codegen = self.state.targetctx.codegen()
        before, codegen._library_class = codegen._library_class, _Copied
        is_collecting = gc.isenabled()
        gc.disable()  # it would look through all the compiler has made, again and again
        try:
            with shortcuts():
                return super()._compile_core()
        finally:
            codegen._library_class = before
            if is_collecting:
                if not gc.get_freeze_count():  # what is new counts as old, and is kept for longer
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()

    def define_pipelines(self):
        [passes] = super().define_pipelines()
        passes.add_pass_after(_OpenLibrary, AnnotateTypes)
        passes.finalize()
        return [passes]
