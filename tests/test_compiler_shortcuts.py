"""Shortcuts of the compiler: the same machine code, and numba as it was afterwards."""

import ctypes
import os
import re
from contextlib import nullcontext

import numba
import numpy as np
import pytest
from llvmlite.binding import ffi
from numba import prange
from numba.core.errors import TypingError
from numba.core.lowering import BaseLower
from numba.core.postproc import PostProcessor
from numba.core.targetconfig import TargetConfig

from treerank.numerics import compiling
from treerank.numerics.compiler_shortcuts import shortcuts
from treerank.numerics.compiling import kernel_for, njit, register_jitable

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled"
)


def state():
    """Return what shortcuts replace."""
    replaced = TargetConfig.values, PostProcessor.run, BaseLower.create_cfunc_wrapper
    return *replaced, tuple(ffi.lib._lock._cblist)


def compiled():
    """Compile a kernel anew; return its instructions, without the names of functions."""

    @register_jitable
    def smallest(x):
        least = np.inf
        for value in x:
            least = min(least, value)
        return least

    @numba.njit
    def numbers(n):
        for i in range(n):
            yield i * n

    @kernel_for(parallel=True, fastmath=True)
    def kernel(x, n):
        rows = np.empty((n, 2), np.float32)
        for i in prange(n):
            rows[i, 0], rows[i, 1] = smallest(x[i:]), x[i : i + 2].sum()
        total = 0
        for i in numbers(n):
            total += i
        return rows, total

    assert kernel(np.arange(3.0), 3)[0].tolist() == [[0, 1], [1, 3], [2, 2]]
    [code] = kernel.inspect_asm().values()
    code = re.sub(r'"?[.\w$]*(_ZN|numba|\d{8,})[^\s,()"@]*"?', "name", code)
    return [line for line in code.splitlines() if not line.startswith("\t.")]


def test_the_machine_code_is_the_same_without_shortcuts(monkeypatch):
    with_shortcuts = compiled()
    monkeypatch.setattr(compiling, "shortcuts", nullcontext)
    assert compiled() == with_shortcuts
    assert len(with_shortcuts) > 100


def test_numba_is_as_before_after_a_kernel_and_after_an_error():
    before = state()
    kernel = njit(lambda x: x.shape)
    kernel(np.zeros(2))
    assert state() == before
    with pytest.raises(TypingError):
        kernel(1)
    assert state() == before


def test_shortcuts_replace_what_numba_calls():
    """Without that nothing fails, but kernels compile for longer."""
    before = state()
    assert before[-1]
    with shortcuts():
        assert not any(old == new for old, new in zip(before, state(), strict=True))
        with shortcuts():
            pass
        assert not any(old == new for old, new in zip(before, state(), strict=True))


def test_options_of_the_compiler_are_what_numba_says():
    options = numba.core.compiler.Flags()
    options.fastmath, options.nrt = True, True
    with_defaults = options.values()
    with shortcuts():
        assert options.values() == with_defaults
        assert options.copy() == options != numba.core.compiler.Flags()


def test_c_may_call_a_loss_that_was_compiled_for_a_kernel():
    @numba.njit
    def triple(x):
        return 3 * x

    kernel_for(triple)(lambda x: x + triple(x))(2.0)
    [code] = triple.overloads.values()
    address = code.library.get_pointer_to_function(code.fndesc.llvm_cfunc_wrapper_name)
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(2.0) == 6
