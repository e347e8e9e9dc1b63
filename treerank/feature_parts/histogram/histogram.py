"""Histogram: sums of packed gradients over the documents of each bin of each feature.

The histogram of a block of eight features is one array of ``8 * STRIDE`` integers, twice as many if
gradients are packed into two integers. The data of a batch of documents are first copied to
neighboring addresses, so that the sums read memory in sequence. The bins are read document by
document and are needed block by block: squares of eight documents and eight blocks are transposed
in registers.

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
_ONE, _TWO = np.uint64(1), np.uint64(2)
#: One in so many documents of a batch must have only zeros, so that it pays to leave them out.
_SPARSE = np.uint64(4)
#: Every so many documents one is looked at, to count those.
_EVERY = np.uint64(16)
#: Rows, about, by which it is decided whether documents are left out at all.
_LOOKED_AT = 2048
#: Rows between the row that is copied and the row that is prefetched.
_PREFETCH_DISTANCE = np.uint64(64)
#: Words of a square, a cache line of words from each of as many rows, which is transposed in
#: registers of 512 bits; and bytes of the number of a row.
_SQUARE, _ROW_BYTES = np.uint64(8), np.uint64(4)


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
    documents out. ``packed`` are the packed gradients of all rows. ``rows``, of uint32, and
    ``bins`` are read by address, so they must be contiguous. ``histograms``, of shape
    (n, 8 * STRIDE * n_integers), are the histograms of the blocks from number ``first`` on.
    """
    n_integers, n_blocks = np.uint64(packed.shape[1]), np.uint64(len(blocks))
    if n_blocks == 0:
        return
    # Blocks between these are copied although they may be left out: most often there are none.
    begin, n_words = np.uint64(blocks[0]), np.uint64(blocks[-1] + 1 - blocks[0])
    # The packed gradients of each document; then, block by block, the bins of each document.
    batch = np.empty((n_integers + n_words) * np.uint64(BATCH), dtype=np.int64)
    if zeros is not None:
        chosen = np.empty(BATCH, dtype=np.uint16)
    for k in range(n_blocks):
        at = np.uint64(blocks[k] - first)
        for i in range(np.uint64(histograms.shape[1])):  # a slice takes longer to compile
            histograms[at, i] = 0
    words, length = n_integers * np.uint64(BATCH), np.uint64(BATCH)
    rows_begin, bins_begin, batch_begin = (
        address(rows),
        address(bins) + _BYTES * begin,
        address(batch),
    )
    row_bytes, last_row = np.uint64(bins.strides[0]), np.uint64(len(rows) - 1)
    for start in range(np.uint64(0), np.uint64(len(rows)), length):
        n = np.uint64(len(rows)) - start
        n = n if n < length else length
        n_squares = n // _SQUARE if n_words >= _SQUARE else np.uint64(0)
        first_sum, last_sum = np.int64(0), np.int64(0)
        for i in range(n):
            row, later = np.uint64(rows[start + i]), start + i + _PREFETCH_DISTANCE
            later = np.uint64(rows[later if later < last_row else last_row])
            _prefetch(_address_of_row(packed, later))  # type: ignore[call-arg]
            for k in range(np.uint64(0), n_words + _SQUARE - _ONE, _SQUARE):
                word = k if k < n_words else n_words - _ONE
                _prefetch(bins_begin + later * row_bytes + _BYTES * word)
            if zeros is not None:
                first_sum += packed[row, 0]
                last_sum += packed[row, -1]
            for k in range(n_integers):
                batch[i * n_integers + k] = packed[row, k]
            if i >= _SQUARE * n_squares:
                for k in range(n_words):
                    batch[words + k * length + i] = np.int64(bins[row, begin + k])
        for i in range(n_squares):
            eight = rows_begin + _ROW_BYTES * (start + _SQUARE * i)
            for k in range(np.uint64(0), n_words, _SQUARE):  # the last squares overlap
                word = k if k + _SQUARE <= n_words else n_words - _SQUARE
                into = batch_begin + _BYTES * (words + word * length + _SQUARE * i)
                _transpose(eight, bins_begin + _BYTES * word, row_bytes, into)  # type: ignore[call-arg]
        for k in range(n_blocks):
            at = np.uint64(blocks[k] - first)
            bins_at = words + (np.uint64(blocks[k]) - begin) * length
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

    The bins of the ``n`` documents are in ``batch`` from index ``bins_at`` on. Where few of them
    have ``zeros``, none is left out, and nothing is written.
    """
    n_zeros, n_chosen = np.uint64(0), np.uint64(0)
    for i in range(np.uint64(0), n, _EVERY):
        n_zeros += np.uint64(np.uint64(batch[bins_at + i]) == zeros)
    if _SPARSE * _EVERY * n_zeros < n:
        return n
    for i in range(n):  # no branch, as it could not be predicted
        chosen[n_chosen] = i
        n_chosen += np.uint64(np.uint64(batch[bins_at + i]) != zeros)
    return n_chosen


@register_jitable(error_model="numpy")
def _add(batch, bins_at, n, histograms, at):
    """Add the packed gradients of a batch of documents to row ``at`` of ``histograms``.

    The bins of the ``n`` documents in the block are in ``batch`` from index ``bins_at`` on, and
    their packed gradients are at its beginning.
    """
    begin = _address_of_row(histograms, at)
    if histograms.shape[1] == WIDTH * STRIDE:
        for i in range(n):
            _add_one(begin, np.uint64(batch[bins_at + i]), batch[i])
    else:
        for i in range(n):
            _add_two(begin, np.uint64(batch[bins_at + i]), batch[_TWO * i], batch[_TWO * i + _ONE])


@register_jitable(error_model="numpy", inline="always")
def _add_one(begin, bins, packed):
    """Add an integer to the bins of a document; ``begin`` is the histogram's address."""
    for j in range(WIDTH):
        _add_to(begin + np.uint64(8) * _bin_index(bins, j), (packed,))  # type: ignore[call-arg]


@register_jitable(error_model="numpy", inline="always")
def _add_two(begin, bins, first, last):
    """Add two integers to the bins of a document; ``begin`` is the histogram's address."""
    for j in range(WIDTH):
        at = begin + np.uint64(16) * _bin_index(bins, j)
        _add_to(at, (first, last))  # type: ignore[call-arg]


@register_jitable(error_model="numpy")
def _add_chosen(batch, bins_at, zeros, sums, chosen, n_chosen, histograms, at):
    """Add a batch as ``_add`` does, where all documents but the ``chosen`` ones have ``zeros``.

    ``sums`` are the sums of the packed gradients of the whole batch.
    """
    begin, is_packed = _address_of_row(histograms, at), histograms.shape[1] == WIDTH * STRIDE
    first_of_zeros, last_of_zeros = sums
    if is_packed:
        for t in range(n_chosen):
            row = np.uint64(chosen[t])
            first_of_zeros -= batch[row]
            _add_one(begin, np.uint64(batch[bins_at + row]), batch[row])
    else:
        for t in range(n_chosen):
            row = np.uint64(chosen[t])
            first, last = batch[_TWO * row], batch[_TWO * row + _ONE]
            first_of_zeros -= first
            last_of_zeros -= last
            _add_two(begin, np.uint64(batch[bins_at + row]), first, last)
    n_integers = 1 if is_packed else 2
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
def _transpose(typing_context, rows, begin, row_bytes, into):
    """Copy eight integers of each of eight rows to the columns of a square.

    ``rows`` is the address of eight row numbers of 32 bits. Row ``i`` begins at the address
    ``begin + i * row_bytes``. The rows of the square begin at ``into``, ``BATCH`` integers apart.
    """

    def generate(context, builder, signature, arguments):
        rows, begin, row_bytes, into = arguments
        number, word = ir.IntType(32), ir.IntType(64)
        square, vectors = ir.VectorType(word, 8), []
        for i in range(8):
            place = builder.inttoptr(builder.add(rows, word(4 * i)), number.as_pointer())
            row = builder.zext(builder.load(place, align=4), word)
            place = builder.add(begin, builder.mul(row, row_bytes))
            vectors.append(builder.load(builder.inttoptr(place, square.as_pointer()), align=8))
        # Vectors that are ``half`` apart exchange halves of each run of ``2 * half`` integers.
        for half in (1, 2, 4):
            lower = [j if j & half == 0 else 8 + j - half for j in range(8)]
            for i in range(8):
                if i & half == 0:
                    pair = vectors[i], vectors[i + half]
                    for to_vector, places in ((i, lower), (i + half, [j + half for j in lower])):
                        mask = ir.Constant(ir.VectorType(number, 8), places)
                        vectors[to_vector] = builder.shuffle_vector(*pair, mask)
        for k in range(8):
            place = builder.add(into, word(8 * BATCH * k))
            builder.store(vectors[k], builder.inttoptr(place, square.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64, types.uint64), generate


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
