"""Histogram: sums of the words of documents, over the documents of each bin of each feature.

The histogram of a block of eight features is one array of ``8 * STRIDE`` words, twice as many if a
document has two words. The data of a batch of documents are first copied to neighboring addresses,
so that the sums read memory in sequence.

A document whose eight features are all 0 is common where columns are sparse. It costs one addition:
the words of all these documents are added to the bins of 0 at the end.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from treerank.feature_parts.histogram.binning import WIDTH
from treerank.numerics.compiling import register_jitable

#: Bins of a feature, with that of missing values.
N_BINS = 256
#: Words between the histograms of neighboring features, per word of a document. Not a power of two:
#: then equal bins of all features would compete for the same few lines of the cache.
STRIDE = 264
#: Documents copied at a time. Not a power of two: then all blocks would compete for the same few
#: lines of the cache.
BATCH = 1016
#: Bytes of a block.
_BYTES = np.uint64(8)
_BYTE = np.uint64(255)
#: Rows between the one that is copied and the one whose memory is asked for.
_AHEAD = 64


@register_jitable(error_model="numpy")
def fill(
    first: int,
    blocks: np.ndarray,
    binned: tuple[np.ndarray, np.ndarray],
    words: np.ndarray,
    rows: np.ndarray,
    histograms: np.ndarray,
) -> None:
    """Write the histograms of the documents ``rows`` for some blocks.

    ``binned`` are the bins of all rows and those of a row of zeros, and ``words`` those of all
    rows. ``histograms``, of shape (n, 8 * STRIDE * n_words), are those of blocks from ``first`` on.
    """
    (bins, zeros), n_words, n_blocks = binned, np.uint64(words.shape[1]), np.uint64(len(blocks))
    if n_blocks == 0:
        return
    near = np.empty((words.shape[1] + len(blocks), BATCH), dtype=np.int64)
    for k in range(n_blocks):
        histograms[blocks[k] - first] = 0
    for start in range(0, len(rows), BATCH):
        n = min(BATCH, len(rows) - start)
        for i in range(np.uint64(n)):
            row, later = np.uint64(rows[start + i]), _later(rows, start + np.int64(i))
            later_bins = _address_of_row(bins, later)
            _fetch(_address_of_row(words, later))  # type: ignore[call-arg]
            for k in range(n_words):
                near[k, i] = words[row, k]
            for k in range(n_blocks):  # each asks for its line: so the compiler uses no vectors
                block = np.uint64(blocks[k])
                _fetch(later_bins + _BYTES * block)
                near[n_words + k, i] = np.int64(bins[row, block])
        for k in range(n_blocks):
            own_bins, zero = near[n_words + k, :n], zeros[blocks[k]]
            _add(own_bins, zero, near[: words.shape[1]], histograms[blocks[k] - first])


@register_jitable(error_model="numpy")
def _add(bins, zeros, words, histogram):
    """Add the words of a batch of documents to the histogram of one block."""
    begin, is_packed = address(histogram), len(words) == 1
    rest, last_rest = np.int64(0), np.int64(0)
    for i in range(np.uint64(len(bins))):
        own, first, last = np.uint64(bins[i]), words[0, i], words[-1, i]
        if own == zeros:
            rest, last_rest = rest + first, last_rest + last
        elif is_packed:
            for j in range(WIDTH):
                histogram[_bin(own, j)] += first
        else:
            for j in range(WIDTH):
                _add_two(begin + np.uint64(16) * _bin(own, j), first, last)  # type: ignore[call-arg]
    for j in range(WIDTH):
        if is_packed:
            histogram[_bin(zeros, j)] += rest
        else:
            _add_two(begin + np.uint64(16) * _bin(zeros, j), rest, last_rest)  # type: ignore[call-arg]


@register_jitable
def address(array: np.ndarray) -> np.uint64:
    """Return where an array begins in memory."""
    return np.uint64(array.ctypes.data)


@register_jitable
def _later(rows, i):
    """Return the row that is copied some rows after the one of number ``i``, or the last one."""
    return np.uint64(rows[min(i + _AHEAD, len(rows) - 1)])


@register_jitable
def _address_of_row(array, row):
    """Return where a row of an array begins in memory."""
    return address(array) + row * np.uint64(array.strides[0])


@register_jitable(error_model="numpy")
def _bin(bins, j):
    """Return where the histogram has the bin of one of the eight features."""
    return np.uint64(j * STRIDE) + ((bins >> np.uint64(8 * j)) & _BYTE)


@intrinsic
def _fetch(typing_context, address):
    """Ask for the memory at an address, which is read soon."""

    def generate(context, builder, signature, arguments):
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [place], kind)
        # To read, into the second cache: requests for the first are dropped if there are many.
        how = number(0), number(2), number(1)
        builder.call(fetch, [builder.inttoptr(arguments[0], place), *how])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@intrinsic
def _add_two(typing_context, address, first, second):
    """Add two words to those at an address in one instruction, which numba does not find itself."""

    def generate(context, builder, signature, arguments):
        place, *words = arguments
        two = ir.VectorType(ir.IntType(64), 2)
        place, both = builder.inttoptr(place, two.as_pointer()), ir.Constant(two, ir.Undefined)
        for number, word in enumerate(words):
            both = builder.insert_element(both, word, ir.Constant(ir.IntType(32), number))
        builder.store(builder.add(builder.load(place, align=8), both), place, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.int64), generate
