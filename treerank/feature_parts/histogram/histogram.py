"""Histogram: sums of packed gradients over the documents of each bin of each feature.

The histogram of a block of eight features is one array of ``8 * STRIDE`` integers, twice as many if
gradients are packed into two integers. The data of a batch of documents are first copied to
neighboring addresses, so that the sums read memory in sequence.

Where columns are sparse, all eight features of many documents are 0. Such a document costs one
addition: the packed gradients of all of them are added to the bins of 0 at the end.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.numerics.compiling import register_jitable

#: Bins of a feature, including the bin of missing values.
N_BINS = 256
#: Bins from the histogram of one feature to the next. Not a power of two: else equal bins of all
#: features would compete for the same few cache lines.
STRIDE = 264
#: Documents copied at a time. Not a power of two: else all blocks would compete for the same few
#: cache lines.
BATCH = 1016
#: Bytes of a block.
_BYTES = np.uint64(8)
_BYTE = np.uint64(255)
#: Rows between the row that is copied and the row that is prefetched.
_PREFETCH_DISTANCE = 64


@register_jitable(error_model="numpy")
def fill(
    first: int,
    blocks: np.ndarray,
    binned: tuple[np.ndarray, np.ndarray],
    packed: np.ndarray,
    rows: np.ndarray,
    histograms: np.ndarray,
) -> None:
    """Write the histograms of the documents ``rows`` for some blocks.

    ``binned`` are the bins of all rows and the bins of a row of zeros, ``packed`` the packed
    gradients of all rows. ``histograms``, of shape (n, 8 * STRIDE * n_integers), are the histograms
    of the blocks from number ``first`` on.
    """
    (bins, zeros), n_integers, n_blocks = binned, np.uint64(packed.shape[1]), np.uint64(len(blocks))
    if n_blocks == 0:
        return
    batch = np.empty((packed.shape[1] + len(blocks), BATCH), dtype=np.int64)
    for k in range(n_blocks):
        histograms[blocks[k] - first] = 0
    for start in range(0, len(rows), BATCH):
        n = min(BATCH, len(rows) - start)
        for i in range(np.uint64(n)):
            row, later = np.uint64(rows[start + i]), _row_to_prefetch(rows, start + np.int64(i))
            later_bins = _address_of_row(bins, later)
            _prefetch(_address_of_row(packed, later))  # type: ignore[call-arg]
            for k in range(n_integers):
                batch[k, i] = packed[row, k]
            for k in range(n_blocks):  # a prefetch each, so that the compiler uses no vectors
                block = np.uint64(blocks[k])
                _prefetch(later_bins + _BYTES * block)
                batch[n_integers + k, i] = np.int64(bins[row, block])
        for k in range(n_blocks):
            block_bins, zero = batch[n_integers + k, :n], zeros[blocks[k]]
            _add(block_bins, zero, batch[: packed.shape[1]], histograms[blocks[k] - first])


@register_jitable(error_model="numpy")
def _add(bins, zeros, packed, histogram):
    """Add the packed gradients of a batch of documents to the histogram of one block.

    ``bins`` are their bins of the block, ``zeros`` the bins of a row of zeros, and ``packed`` is of
    shape (n_integers, n).
    """
    begin, is_packed = address(histogram), len(packed) == 1
    first_of_zeros, last_of_zeros = np.int64(0), np.int64(0)
    for i in range(np.uint64(len(bins))):
        bin_bytes, first, last = np.uint64(bins[i]), packed[0, i], packed[-1, i]
        if bin_bytes == zeros:
            first_of_zeros, last_of_zeros = first_of_zeros + first, last_of_zeros + last
        elif is_packed:
            for j in range(WIDTH):
                histogram[_bin_index(bin_bytes, j)] += first
        else:
            for j in range(WIDTH):
                at = begin + np.uint64(16) * _bin_index(bin_bytes, j)
                _add_two(at, first, last)  # type: ignore[call-arg]
    for j in range(WIDTH):
        if is_packed:
            histogram[_bin_index(zeros, j)] += first_of_zeros
        else:
            at = begin + np.uint64(16) * _bin_index(zeros, j)
            _add_two(at, first_of_zeros, last_of_zeros)  # type: ignore[call-arg]


@register_jitable
def address(array: np.ndarray) -> np.uint64:
    """Return the address of an array."""
    return np.uint64(array.ctypes.data)


@register_jitable
def _row_to_prefetch(rows, i):
    """Return the row to prefetch while the row at index ``i`` is copied, at most the last row."""
    return np.uint64(rows[min(i + _PREFETCH_DISTANCE, len(rows) - 1)])


@register_jitable
def _address_of_row(array, row):
    """Return the memory address of row ``row`` of a two-dimensional array."""
    return address(array) + row * np.uint64(array.strides[0])


@register_jitable(error_model="numpy")
def _bin_index(bins, j):
    """Return the index in a block's histogram of the bin of the block's feature ``j``.

    ``bins`` are the eight bins of a document in the block.
    """
    return np.uint64(j * STRIDE) + ((bins >> np.uint64(8 * j)) & _BYTE)


@intrinsic
def _prefetch(typing_context, address):
    """Prefetch the memory at an address, which is read soon."""

    def generate(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        # For reading, into the L2 cache: requests for the L1 cache are dropped if there are many.
        options = number(0), number(2), number(1)
        builder.call(fetch, [builder.inttoptr(arguments[0], pointer), *options])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@intrinsic
def _add_two(typing_context, address, first, second):
    """Add two integers at an address by one vector instruction; numba would use two."""

    def generate(context, builder, signature, arguments):
        pointer, *integers = arguments
        two = ir.VectorType(ir.IntType(64), 2)
        pointer, both = builder.inttoptr(pointer, two.as_pointer()), ir.Constant(two, ir.Undefined)
        for number, integer in enumerate(integers):
            both = builder.insert_element(both, integer, ir.Constant(ir.IntType(32), number))
        builder.store(builder.add(builder.load(pointer, align=8), both), pointer, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.int64), generate
