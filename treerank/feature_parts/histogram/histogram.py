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
from treerank.numerics.vectors import copies

#: Bins of a feature, including the bin of missing values.
N_BINS = 256
#: Bins from the histogram of one feature to the next. Not a power of two: else equal bins of all
#: features would compete for the same few cache lines.
STRIDE = 264
#: Documents copied at a time. Not a power of two: else all blocks would compete for the same few
#: cache lines.
BATCH = 1016
#: Bytes of a block, and of the number of a row.
_BYTES, _ROW_BYTES = np.uint64(8), np.uint64(4)
_BYTE = np.uint64(255)
_ONE, _TWO = np.uint64(1), np.uint64(2)
#: Documents, and blocks, of a square: it is transposed in registers of 512 bits.
_EIGHT = np.uint64(8)
#: One in so many documents of a batch must have only zeros, so that it pays to leave them out.
_SPARSE = np.uint64(4)
#: Every so many documents one is looked at, to count those.
_EVERY = np.uint64(16)
#: Rows, about, by which it is decided whether documents are left out at all.
_LOOKED_AT = 2048
#: Rows between the row that is copied and the row that is prefetched.
_PREFETCH_DISTANCE = np.uint64(64)
#: Row ``m`` begins with the numbers of the bits that are set in ``m``, of eight.
_SET_BITS = np.array(
    [sorted(range(8), key=lambda bit: not m >> bit & 1) for m in range(256)], dtype=np.uint8
)


def shared_zeros(binned: np.ndarray, zeros: np.ndarray) -> np.ndarray | None:
    """Return ``zeros``; None if in no block enough documents have them to be left out.

    :func:`fill` is compiled without the code that leaves documents out, then. ``binned`` are the
    bins of all rows, some of which are looked at.
    """
    some = binned[:: -(-len(binned) // _LOOKED_AT) or 1]
    shares = (some == zeros).sum(axis=0)
    return zeros if (_SPARSE * shares > len(some)).any() else None


def size_of_batch(n_integers: int, n_blocks: int) -> int:
    """Return how many numbers the data of a batch take, of up to ``n_blocks`` blocks.

    ``n_integers`` is the number of packed integers of a document.
    """
    return (n_integers + max(n_blocks, int(_EIGHT)) + 1) * BATCH


@register_jitable(error_model="numpy")
def fill(
    first: int,
    blocks: np.ndarray,
    bins: np.ndarray,
    zeros: np.ndarray | None,
    packed: np.ndarray,
    rows: np.ndarray,
    histograms: np.ndarray,
    batch: np.ndarray,
) -> None:
    """Write the histograms of the documents ``rows`` for some blocks.

    ``bins`` are the bins of all rows, ``zeros`` those of a row of zeros, or None to leave no
    documents out. ``packed`` are the packed gradients of all rows. ``rows``, of uint32, and
    ``bins`` are read by address, so they must be contiguous. ``histograms``, of shape
    (n, 8 * STRIDE * n_integers), are the histograms of the blocks from number ``first`` on.
    ``batch`` is memory for the data of a batch, see :func:`size_of_batch`: the packed gradients of
    each document; then, block by block, the bins of each document; then the numbers of the
    documents that are not left out.
    """
    n_integers, n_blocks = np.uint64(packed.shape[1]), np.uint64(len(blocks))
    if n_blocks == 0:
        return
    # Blocks between these are copied although they may be left out: most often there are none.
    begin, n_words = np.uint64(blocks[0]), np.uint64(blocks[-1] + 1 - blocks[0])
    if n_words < _EIGHT <= np.uint64(bins.shape[1]):  # a square is copied faster than a few blocks
        last = np.uint64(bins.shape[1]) - _EIGHT
        begin, n_words = begin if begin < last else last, _EIGHT
    for k in range(n_blocks):
        at = np.uint64(blocks[k] - first)
        for i in range(np.uint64(histograms.shape[1])):  # a slice takes longer to compile
            histograms[at, i] = 0
    words, length, n_rows = n_integers * np.uint64(BATCH), np.uint64(BATCH), np.uint64(len(rows))
    for start in range(np.uint64(0), n_rows, length):
        n = n_rows - start if n_rows - start < length else length
        _copy_bins(bins, begin, n_words, packed, rows, start, n, batch, words)
        sums = _copy_packed(packed, rows, start, n, batch)
        for k in range(n_blocks):
            at = np.uint64(blocks[k] - first)
            bins_at = words + (np.uint64(blocks[k]) - begin) * length
            if zeros is not None:
                zero = np.uint64(zeros[blocks[k]])
                if _pays(batch, bins_at, n, zero):
                    chosen_at = words + n_words * length
                    n_chosen = _choose(batch, bins_at, n, zero, chosen_at)
                    _add_chosen(batch, bins_at, zero, sums, chosen_at, n_chosen, histograms, at)
                    continue
            _add(batch, bins_at, n, histograms, at)


# The functions below get whole arrays and the row to use, not slices: a slice counts as a reference
# to its array, and threads that count references to the same array wait for each other.


@register_jitable(error_model="numpy")
def _copy_bins(bins, begin, n_words, packed, rows, start, n, batch, into):
    """Copy the bins of the ``n`` rows from number ``start`` on to ``batch``, block by block.

    They are those of the ``n_words`` blocks from number ``begin`` on, and are copied from index
    ``into`` of ``batch`` on. Three lines of bins of later rows are prefetched, since most often a
    row has no more, and the packed gradients of the rows, which are copied next.
    """
    n_rows, row_bytes = np.uint64(len(rows)), np.uint64(bins.strides[0])
    bins_begin, last = np.uint64(bins.ctypes.data) + _BYTES * begin, _BYTES * n_words - _ONE
    packed_begin, packed_bytes = np.uint64(packed.ctypes.data), np.uint64(packed.strides[0])
    rows_begin, to = np.uint64(rows.ctypes.data), np.uint64(batch.ctypes.data) + _BYTES * into
    for i in range(np.uint64(0), n, _EIGHT):
        eight, n_later = rows_begin + _ROW_BYTES * (start + i), n_rows - start - i
        if n_later >= _EIGHT:
            n_later -= _EIGHT
            ahead = n_later if n_later < _PREFETCH_DISTANCE else _PREFETCH_DISTANCE
            _prefetch_eight(  # type: ignore[call-arg]
                eight + _ROW_BYTES * ahead, bins_begin, row_bytes, last, packed_begin, packed_bytes
            )
        if n_words >= _EIGHT and i + _EIGHT <= n:
            for k in range(np.uint64(0), n_words, _EIGHT):  # the last squares overlap
                word = k if k + _EIGHT < n_words else n_words - _EIGHT
                square = to + _BYTES * (word * np.uint64(BATCH) + i)
                _transpose(eight, bins_begin + _BYTES * word, row_bytes, square)  # type: ignore[call-arg]
        else:
            for j in range(i, n if n < i + _EIGHT else i + _EIGHT):
                row = np.uint64(rows[start + j])
                for k in range(n_words):
                    batch[into + k * np.uint64(BATCH) + j] = np.int64(bins[row, begin + k])


@register_jitable(error_model="numpy")
def _copy_packed(packed, rows, start, n, batch):
    """Copy the packed gradients of the ``n`` rows from number ``start`` on; return their sums."""
    first_sum, last_sum = np.int64(0), np.int64(0)
    if packed.shape[1] == 1:
        for i in range(n):
            batch[i] = packed[rows[start + i], 0]
            first_sum += batch[i]
        return first_sum, first_sum
    for i in range(n):
        row = np.uint64(rows[start + i])
        first, last = packed[row, 0], packed[row, 1]
        batch[_TWO * i], batch[_TWO * i + _ONE] = first, last
        first_sum += first
        last_sum += last
    return first_sum, last_sum


@register_jitable(error_model="numpy")
def _pays(batch, bins_at, n, zeros):
    """Return whether so many documents have ``zeros`` that it pays to leave them out.

    The bins of the ``n`` documents are in ``batch`` from index ``bins_at`` on.
    """
    n_zeros = np.uint64(0)
    for i in range(np.uint64(0), n, _EVERY):
        n_zeros += np.uint64(np.uint64(batch[bins_at + i]) == zeros)
    return _SPARSE * _EVERY * n_zeros >= n


@register_jitable(error_model="numpy")
def _choose(batch, bins_at, n, zeros, chosen_at):
    """Write the numbers of the documents whose bins differ from ``zeros``; return how many.

    The bins of the ``n`` documents are in ``batch`` from index ``bins_at`` on, and the numbers are
    written to it from index ``chosen_at`` on.
    """
    n_chosen, n_eights = np.uint64(0), n - n % _EIGHT
    begin, set_bits = np.uint64(batch.ctypes.data), np.uint64(_SET_BITS.ctypes.data)
    for i in range(np.uint64(0), n_eights, _EIGHT):  # no branch, as it could not be predicted
        of_eight, into = begin + _BYTES * (bins_at + i), begin + _BYTES * (chosen_at + n_chosen)
        n_chosen += _choose_of_eight(of_eight, zeros, i, set_bits, into)  # type: ignore[call-arg]
    for i in range(n_eights, n):
        batch[chosen_at + n_chosen] = i
        n_chosen += np.uint64(np.uint64(batch[bins_at + i]) != zeros)
    return n_chosen


@register_jitable(error_model="numpy")
def _add(batch, bins_at, n, histograms, at):
    """Add the packed gradients of a batch of documents to row ``at`` of ``histograms``.

    The bins of the ``n`` documents in the block are in ``batch`` from index ``bins_at`` on, and
    their packed gradients are at its beginning.
    """
    begin = np.uint64(histograms.ctypes.data) + at * np.uint64(histograms.strides[0])
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
def _add_chosen(batch, bins_at, zeros, sums, chosen_at, n_chosen, histograms, at):
    """Add a batch as ``_add`` does, where all documents but the chosen ones have ``zeros``.

    The numbers of the ``n_chosen`` documents are in ``batch`` from index ``chosen_at`` on. ``sums``
    are the sums of the packed gradients of the whole batch.
    """
    begin = np.uint64(histograms.ctypes.data) + at * np.uint64(histograms.strides[0])
    is_packed = histograms.shape[1] == WIDTH * STRIDE
    first_of_zeros, last_of_zeros = sums
    if is_packed:
        for t in range(n_chosen):
            row = np.uint64(batch[chosen_at + t])
            first_of_zeros -= batch[row]
            _add_one(begin, np.uint64(batch[bins_at + row]), batch[row])
    else:
        for t in range(n_chosen):
            row = np.uint64(batch[chosen_at + t])
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
def _choose_of_eight(typing_context, begin, zeros, number, set_bits, into):
    """Write the numbers of the documents, of eight, whose bins differ from ``zeros``.

    Returns how many they are; what is written after them means nothing. The bins begin at the
    address ``begin``, and the numbers at ``into``. ``number`` is that of the first document, and
    ``set_bits`` the address of ``_SET_BITS``.
    """

    def generate(context, builder, signature, arguments):
        begin, zeros, number, set_bits, into = arguments
        byte, word = ir.IntType(8), ir.IntType(64)

        def place(address, kind):
            return builder.inttoptr(address, ir.VectorType(kind, 8).as_pointer())

        bins = builder.load(place(begin, word), align=8)
        differ = builder.icmp_unsigned("!=", bins, copies(builder, zeros, 8))
        differ = builder.zext(builder.bitcast(differ, byte), word)
        row = builder.add(set_bits, builder.mul(differ, word(8)))
        numbers = builder.zext(builder.load(place(row, byte), align=8), ir.VectorType(word, 8))
        numbers = builder.add(numbers, copies(builder, number, 8))
        builder.store(numbers, place(into, word), align=8)
        return builder.ctpop(differ)

    return types.uint64(*[types.uint64] * 5), generate


@intrinsic
def _prefetch_eight(typing_context, rows, bins, row_bytes, last, packed, packed_bytes):
    """Prefetch the bins and the packed gradients of eight rows, which are read soon.

    ``rows`` is the address of their numbers. The bins of row ``i`` begin at the address ``bins + i
    * row_bytes``, and byte ``last`` is the last one of them; its packed gradients are at ``packed +
    i * packed_bytes``.
    """

    def generate(context, builder, signature, arguments):
        rows, bins, row_bytes, last, packed, packed_bytes = arguments
        pointer, number, word = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        # For reading, into the L2 cache: requests for the L1 cache are dropped if there are many.
        options = number(0), number(2), number(1)
        line = word(64)
        second = builder.select(builder.icmp_unsigned("<", last, line), last, line)
        for i in range(8):
            place = builder.inttoptr(builder.add(rows, word(4 * i)), number.as_pointer())
            row = builder.zext(builder.load(place, align=4), word)
            begin = builder.add(bins, builder.mul(row, row_bytes))
            of_packed = builder.add(packed, builder.mul(row, packed_bytes))
            lines = begin, builder.add(begin, second), builder.add(begin, last), of_packed
            for address in lines:
                builder.call(fetch, [builder.inttoptr(address, pointer), *options])
        return context.get_dummy_value()

    return types.void(*[types.uint64] * 6), generate


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
