"""Histogram: sums of packed gradients over the documents of each bin of each feature.

The histogram of a block of eight features is one array of ``8 * STRIDE`` integers, twice as many if
gradients are packed into two integers. The data of a batch of documents are first copied to
neighboring addresses, so that the sums read memory in sequence.

Each addition is a store, and a core finishes one store per cycle: nothing else takes as long. Where
columns are sparse, all eight features of many documents are 0. Such documents are left out, and
the sum of their packed gradients, which is what the others leave of the sum of all, is added to the
bins of 0 at the end.
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
#: One in so many documents of a batch must have only zeros, so that it pays to leave them out.
_SPARSE = 4
#: Every so many documents one is looked at, to count those.
_EVERY = 16
#: Rows, about, by which it is decided whether documents are left out at all.
_LOOKED_AT = 2048
#: Rows between the row that is copied and the row that is prefetched.
_PREFETCH_DISTANCE = 64


def shared_zeros(binned: np.ndarray, zeros: np.ndarray) -> np.ndarray | None:
    """Return ``zeros``; None if in no block enough documents have them to be left out.

    :func:`fill` is compiled without the code that leaves documents out, then. ``binned`` are the
    bins of all rows, some of which are looked at.
    """
    some = binned[:: -(-len(binned) // _LOOKED_AT) or 1]
    shares = (some == zeros).sum(axis=0)
    return zeros if (_SPARSE * shares > len(some)).any() else None


@register_jitable(error_model="numpy")
def fill(
    first: int,
    blocks: np.ndarray,
    bins: np.ndarray,
    zeros: np.ndarray | None,
    packed: np.ndarray,
    rows: np.ndarray,
    histograms: np.ndarray,
) -> None:
    """Write the histograms of the documents ``rows`` for some blocks.

    ``bins`` are the bins of all rows, ``zeros`` those of a row of zeros, or None to leave no
    documents out. ``packed`` are the packed gradients of all rows. ``histograms``, of shape
    (n, 8 * STRIDE * n_integers), are the histograms of the blocks from number ``first`` on.
    """
    n_integers, n_blocks = np.uint64(packed.shape[1]), np.uint64(len(blocks))
    if n_blocks == 0:
        return
    batch = np.empty((packed.shape[1] + len(blocks), BATCH), dtype=np.int64)
    if zeros is not None:
        chosen = np.empty(BATCH, dtype=np.uint16)
    for k in range(n_blocks):
        at = np.uint64(blocks[k] - first)
        for i in range(np.uint64(histograms.shape[1])):  # a slice takes longer to compile
            histograms[at, i] = 0
    for start in range(0, len(rows), BATCH):
        n = BATCH if start + BATCH < len(rows) else len(rows) - start
        first_sum, last_sum = np.int64(0), np.int64(0)
        for i in range(np.uint64(n)):
            row, later = np.uint64(rows[start + i]), _row_to_prefetch(rows, start + np.int64(i))
            later_bins = _address_of_row(bins, later)
            _prefetch(_address_of_row(packed, later))  # type: ignore[call-arg]
            if zeros is not None:
                first_sum += packed[row, 0]
                last_sum += packed[row, -1]
            for k in range(n_integers):
                batch[k, i] = packed[row, k]
            for k in range(n_blocks):  # a prefetch each, so that the compiler uses no vectors
                block = np.uint64(blocks[k])
                _prefetch(later_bins + _BYTES * block)
                batch[n_integers + k, i] = np.int64(bins[row, block])
        for k in range(n_blocks):
            at, bins_at = np.uint64(blocks[k] - first), n_integers + k
            if zeros is not None:
                zero = np.uint64(zeros[blocks[k]])
                n_chosen = _choose(batch, bins_at, n, zero, chosen)
                if n_chosen < n:
                    sums = first_sum, last_sum
                    _add_chosen(batch, bins_at, zero, sums, chosen, n_chosen, histograms, at)
                    continue
            _add(batch, bins_at, n, histograms, at)


# The functions below get whole arrays and the row to use, not slices: a slice counts as a reference
# to its array, and threads that count references to the same array wait for each other.


@register_jitable(error_model="numpy")
def _choose(batch, bins_at, n, zeros, chosen):
    """Write the numbers of the documents whose bins differ from ``zeros``; return how many.

    The bins of the batch's ``n`` documents are row ``bins_at`` of ``batch``. Where few of them have
    ``zeros``, none is left out, and nothing is written.
    """
    n_zeros, n_chosen = np.int64(0), np.uint64(0)
    for i in range(0, n, _EVERY):
        n_zeros += np.uint64(batch[bins_at, i]) == zeros
    if _SPARSE * _EVERY * n_zeros < n:
        return n
    for i in range(np.uint64(n)):  # no branch, as it could not be predicted
        chosen[n_chosen] = i
        n_chosen += np.uint64(np.uint64(batch[bins_at, i]) != zeros)
    return np.int64(n_chosen)


@register_jitable(error_model="numpy")
def _add(batch, bins_at, n, histograms, at):
    """Add the packed gradients of a batch of documents to row ``at`` of ``histograms``.

    The bins of the ``n`` documents in the block are row ``bins_at`` of ``batch``, whose first row
    or rows are the packed gradients.
    """
    begin, is_packed = _address_of_row(histograms, at), histograms.shape[1] == WIDTH * STRIDE
    last = np.uint64(0 if is_packed else 1)
    for i in range(np.uint64(n)):
        bins = np.uint64(batch[bins_at, i])
        _add_row(begin, bins, batch[0, i], batch[last, i], is_packed)


@register_jitable(error_model="numpy", inline="always")
def _add_row(begin, bins, first, last, is_packed):
    """Add packed gradients to the bins of a document; ``begin`` is the histogram's address."""
    if is_packed:
        for j in range(WIDTH):
            _add_to(begin + np.uint64(8) * _bin_index(bins, j), (first,))  # type: ignore[call-arg]
    else:
        for j in range(WIDTH):
            at = begin + np.uint64(16) * _bin_index(bins, j)
            _add_to(at, (first, last))  # type: ignore[call-arg]


@register_jitable(error_model="numpy")
def _add_chosen(batch, bins_at, zeros, sums, chosen, n_chosen, histograms, at):
    """Add a batch as ``_add`` does, where all documents but the ``chosen`` ones have ``zeros``.

    ``sums`` are the sums of the packed gradients of the whole batch.
    """
    begin, is_packed = _address_of_row(histograms, at), histograms.shape[1] == WIDTH * STRIDE
    n_integers = 1 if is_packed else 2
    first_of_zeros, last_of_zeros = sums
    for t in range(np.uint64(n_chosen)):
        row = np.uint64(chosen[t])
        bins, first = np.uint64(batch[bins_at, row]), batch[0, row]
        last = batch[np.uint64(n_integers - 1), row]
        first_of_zeros -= first
        last_of_zeros -= last
        _add_row(begin, bins, first, last, is_packed)
    for j in range(WIDTH):
        index = n_integers * np.int64(_bin_index(zeros, j))
        histograms[at, index] += first_of_zeros
        if not is_packed:
            histograms[at, index + 1] += last_of_zeros


@register_jitable
def address(array: np.ndarray) -> np.uint64:
    """Return the address of an array."""
    return np.uint64(array.ctypes.data)


@register_jitable
def _row_to_prefetch(rows, i):
    """Return the row to prefetch while the row at index ``i`` is copied, at most the last row."""
    later = i + _PREFETCH_DISTANCE
    return np.uint64(rows[later if later < len(rows) else len(rows) - 1])


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
def _add_to(typing_context, address, integers):
    """Add integers to those at an address, by one instruction; numba would use one for each."""

    def generate(context, builder, signature, arguments):
        pointer, packed = arguments
        several = ir.VectorType(ir.IntType(64), len(integers))
        pointer, summand = builder.inttoptr(pointer, several.as_pointer()), several(ir.Undefined)
        for number in range(len(integers)):
            integer = builder.extract_value(packed, number)
            summand = builder.insert_element(summand, integer, ir.IntType(32)(number))
        builder.store(builder.add(builder.load(pointer, align=8), summand), pointer, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, integers), generate
