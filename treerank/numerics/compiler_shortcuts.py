"""Shortcuts: steps of numba's compiler whose results nobody reads, left out while a kernel compiles.

They take a fifth of the time to compile. The machine code is the same without them.

- numba asks for all options of a function at each look-up of a function that was compiled before,
  one property after the other.
- It follows which variables are in use at the start of each block, after each of its passes. Only
  generators need that.
- It times each call of LLVM.
- It makes code by which C could call functions such as ``min`` and ``np.empty``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite.binding import ffi
from numba.core import transforms
from numba.core.lowering import BaseLower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import TargetConfig

_process_all, _let_c_call = PostProcessor.run, BaseLower.create_cfunc_wrapper


@contextmanager
def shortcuts() -> Iterator[None]:
    """Leave the steps out inside the block, which must hold numba's lock for compilers."""
    values, process = TargetConfig.values, PostProcessor.run
    let_c_call = BaseLower.create_cfunc_wrapper
    calls = ffi.lib._lock._cblist
    timers = calls.copy()
    TargetConfig.values, PostProcessor.run = _values, _process
    BaseLower.create_cfunc_wrapper = _let_c_call_what_python_may
    calls.clear()
    try:
        yield
    finally:
        TargetConfig.values, PostProcessor.run = values, process
        BaseLower.create_cfunc_wrapper = let_c_call
        calls.extend(timers)


def _values(config: Any) -> dict[str, Any]:
    return _defaults(type(config)) | config._values


@cache
def _defaults(options):
    return {name: option.default for name, option in options.options.items()}


def _process(processor, emit_dels=False, extend_lifetimes=False):
    """Do what ``PostProcessor.run`` does, without the variables in use at the start of blocks."""
    code = processor.func_ir
    if emit_dels or code.is_generator:
        _process_all(processor, emit_dels, extend_lifetimes)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None


def _let_c_call_what_python_may(lowering):
    """Make code by which C calls a function, such as a loss of the user's own."""
    if not lowering.flags.no_cpython_wrapper:
        _let_c_call(lowering)
