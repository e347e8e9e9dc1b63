"""Instructions of the processor that numba has no function for.

Plain Python runs the functions as they are written; compiled code gets an instruction instead.
"""

from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import lower_builtin, type_callable

Integer: TypeAlias = int | np.integer
_WORD, _NUMBER, _ADDRESS = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
#: Of LLVM's function: data, for reading, into the second cache. Requests for the first are dropped
#: as soon as there are many.
_PREFETCH_KIND = _NUMBER(0), _NUMBER(2), _NUMBER(1)


def add_pair(array: np.ndarray, place: Integer, first: Integer, second: Integer) -> None:
    """Add two words to two neighbors of a contiguous array of words, by one vector."""
    array[place] += first
    array[place + 1] += second


def prefetch(array: np.ndarray, place: Integer) -> None:
    """Ask for an element of a contiguous array, which is read soon; all are numbered in a row."""


@type_callable(add_pair)
def _type_of_add_pair(context):
    return lambda array, place, first, second: types.none


@type_callable(prefetch)
def _type_of_prefetch(context):
    return lambda array, place: types.none


@lower_builtin(add_pair, types.Array, types.Integer, types.Integer, types.Integer)
def _write_add_pair(context, builder, sig, args):
    pair = ir.VectorType(_WORD, 2)
    added = ir.Constant(pair, ir.Undefined)
    for i, word in enumerate(args[2:]):
        added = builder.insert_element(added, word, _NUMBER(i))
    target = builder.bitcast(_address(context, builder, sig, args), pair.as_pointer())
    before = builder.load(target, align=8)
    builder.store(builder.add(before, added), target, align=8)
    return context.get_dummy_value()


@lower_builtin(prefetch, types.Array, types.Integer)
def _write_prefetch(context, builder, sig, args):
    kind = ir.FunctionType(ir.VoidType(), [_ADDRESS, *(k.type for k in _PREFETCH_KIND)])
    function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    address = builder.bitcast(_address(context, builder, sig, args), _ADDRESS)
    builder.call(function, [address, *_PREFETCH_KIND])
    return context.get_dummy_value()


def _address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Return the address of element ``args[1]`` of the array ``args[0]``."""
    array = context.make_array(sig.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])
