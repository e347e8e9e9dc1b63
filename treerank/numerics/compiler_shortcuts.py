"""Shortcuts: steps of numba's compiler whose results nobody reads, left out for kernels.

They take a tenth of the time to compile. The machine code is the same without them. Versions of
numba that are not known to have these steps take all of theirs.

- At each look-up of a function that was compiled before, numba asks for all options of the
  compiler, one property after the other.
- After each of its passes, it follows which variables are in use at the start of each block. Only
  generators need that.
- It times each call of LLVM.
- It makes code by which C could call functions such as ``min`` and ``np.empty``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite.binding import ffi
from numba import version_info
from numba.core import transforms
from numba.core.lowering import BaseLower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import TargetConfig

#: First version of numba whose inner parts are known to be these, and the first that is not.
_KNOWN = (0, 61), (0, 69)
_process_all, _make_entry_for_c = PostProcessor.run, BaseLower.create_cfunc_wrapper


def is_known_numba() -> bool:
    """Tell whether the inner parts of the installed numba are known."""
    return _KNOWN[0] <= version_info.short < _KNOWN[1]


def _values(config):
    return _defaults(config.__class__) | config._values


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


def _make_entry(lowering):
    """Let C call a function if Python may: then it may be a loss of the user's own."""
    if not lowering.flags.no_cpython_wrapper:
        _make_entry_for_c(lowering)


_SHORTCUTS: tuple[tuple[Any, str, Any], ...] = (
    (TargetConfig, "values", _values),
    (PostProcessor, "run", _process),
    (BaseLower, "create_cfunc_wrapper", _make_entry),
)


@contextmanager
def shortcuts() -> Iterator[None]:
    """Leave the steps out inside the block, which must hold numba's lock for compilers."""
    if not is_known_numba():
        yield
        return
    before = [getattr(owner, name) for owner, name, _ in _SHORTCUTS]
    timers = ffi.lib._lock._cblist
    stopped = timers.copy()
    timers.clear()
    for owner, name, shortcut in _SHORTCUTS:
        setattr(owner, name, shortcut)
    try:
        yield
    finally:
        for (owner, name, _), original in zip(_SHORTCUTS, before, strict=True):
            setattr(owner, name, original)
        timers.extend(stopped)
