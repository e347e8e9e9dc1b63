"""Binning: the at most 255 intervals of values, or categories, that trees distinguish.

Bin ``b`` of a feature holds the values above ``bounds[b - 1]`` and up to ``bounds[b]``. Bin ``b``
of a categorical feature holds the code ``bounds[b]``. Missing values, and codes that are not
among the most frequent, have the bin number after the last. Bounds are found from a sample of the
rows, as LightGBM finds them: frequent values get a bin of their own, and the other bins hold about
equally many rows.

The bin of a feature takes a byte, and eight features are a *block* of 64 bits, the first one in the
lowest byte. Histograms are filled for one block at a time, because the histograms of eight features
fit into the fastest cache. Features that are 0 in the same documents, as far as a sample tells,
share a block: a document with eight zeros needs no work. The bins of one document are neighbors in
memory, because a small leaf reads few, scattered documents. Constant features are dropped. The bins
of rows that are read in batches are in an unnamed file, of which the system keeps as much in memory
as fits.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from scipy.sparse import issparse

from treerank.documents.rows import Rows
from treerank.documents.stacked import StackedMatrix
from treerank.feature_parts.trees.bin_sample import sample_of
from treerank.files.scratch import scratch_array
from treerank.numerics.compiling import for_kernel, njit
from treerank.numerics.distinct import count_distinct
from treerank.numerics.threads import in_parts, in_threads
from treerank.numerics.vectors import aligned, copies

#: Largest number of bins of values: a byte has 256 values, and one is for missing values.
MOST_BINS = 255
#: Number of features in a block.
WIDTH = 8
_CHUNK = 256  # rows whose values stay in the cache while their bins are found
#: Number of bounds that are compared with a value at once: 16 groups of 16 bounds.
_COMPARED_AT_ONCE = 16
_BYTES = np.uint64(8)  # of a bound
_TRANSPOSED = 256  # rows that are transposed at a time
#: Rows, at most, by which features are put into blocks, and their product with the features.
_COMPARED, _MOST_COMPARED = 2048, 2**21
#: Least share of rows in which all features of a block are 0, so that they are put together.
_SPARSE_SHARE = 0.25
_CANDIDATES = 256  # for the next column of a block, those with the most zeros

#: Describes a *column of bins*: one byte of the blocks, which holds the bins of one feature.
#:
#: - feature: column of X; -1 if the byte is unused.
#: - n_values: number of bins of values; missing values have this bin number.
#: - sign: monotone constraint.
#: - is_category: whether the bins are categories.
#: - zero: bin of the value 0.
_FIELDS = ("feature", "n_values", "sign", "is_category", "zero")
COLUMN = np.dtype([(name, np.int64) for name in _FIELDS])


class Bins(NamedTuple):
    """The bins of all features.

    Attributes
    ----------
    bounds : ndarray of shape (n_features, 256)
        Upper bounds of bins, or codes of categories, padded with infinity.
    columns : ndarray of COLUMN
        Columns of bins, without monotone constraints.
    zeros : ndarray of uint64 of shape (n_blocks,)
        Bins of a row of zeros.
    """

    #: Upper bounds, or codes of categories, padded with infinity; of shape (n_features, 256).
    bounds: np.ndarray
    columns: np.ndarray  # of COLUMN, without monotone constraints
    zeros: np.ndarray  # bins of a row of zeros


def find_bins(
    rows: Rows, *, most: int = MOST_BINS, categorical: Collection[int] = (), seed: int = 0
) -> Bins:
    """Return at most ``most`` bins of each feature.

    Each of several workers finds those of some features.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> bins = find_bins(as_rows([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    >>> bins.columns[:1], bins.bounds[0, :3]
    (array([(0, 3, 0, 0, 0)], dtype=...), array([1.5, 3. , inf]))
    """
    sample = sample_of(rows, seed)
    sample = Rows(sample.array()) if sample.is_batched else sample  # which are read only once
    n_rows, n_features = sample.shape
    n_compared = max(64, min(_COMPARED, _MOST_COMPARED // max(1, n_features)))
    compared = sample.take(np.arange(0, n_rows, -(-n_rows // n_compared))).array()
    first_feature, last_feature = rows.share_of(n_features)
    stored, starts = _by_feature(sample, first_feature, last_feature)
    n_own = last_feature - first_feature
    own_bounds, own_n_values = aligned((n_own, 256)), np.zeros(n_own, dtype=np.int64)
    own_bounds[:] = np.inf
    is_category = np.isin(np.arange(n_features), list(categorical))

    def bin_features(first: int) -> None:
        """Write bounds, and the number of bins, 0 if the feature is constant, of a few features."""
        for f in range(first, min(first + WIDTH, n_own)):
            values = stored[starts[f] : starts[f + 1]]
            distinct, counts = _with_zeros(*count_distinct(values), n_rows - len(values))
            write = _write_codes if is_category[first_feature + f] else _write_bounds
            n = max(1, write(distinct, counts, most, own_bounds[f]))
            own_n_values[f] = n if n > 1 or counts.sum() < n_rows else 0

    in_threads(nb.get_num_threads(), bin_features, range(0, n_own, WIDTH))
    bounds, n_values = rows.of_all(own_bounds), rows.of_all(own_n_values)
    varying = np.flatnonzero(n_values)
    bins = _bins_of(varying, n_values, is_category, bounds)
    is_zero = _binned(Rows(compared), bins).view(np.uint8).reshape(compared.shape[0], -1)
    is_zero = (is_zero == bins.columns["zero"]).T[: len(varying)]
    return _bins_of(varying[_order_of(is_zero)], n_values, is_category, bounds)


def _by_feature(sample, first_feature, last_feature):
    """Return ``(values, starts)`` of the features from the first to the last, not included.

    The ``f``-th of them has the values ``starts[f]`` to ``starts[f + 1]``. Zeros of a sparse matrix
    are left out.
    """
    if sample.is_sparse:
        columns = sample.array().tocsc()
        return columns.data, columns.indptr[first_feature : last_feature + 1]
    n_rows, n_features = len(sample), last_feature - first_feature
    dtype = sample.values.dtype if sample.values.dtype != object else float  # NaN would not sort
    values = np.empty((n_features, n_rows), dtype=dtype)

    def copy(first: int, last: int) -> None:
        for start in range(first * _CHUNK, last * _CHUNK, _CHUNK):
            chunk = sample.batch(start, start + _CHUNK)
            values[:, start : start + _CHUNK] = chunk[:, first_feature:last_feature].T

    in_parts(copy, -(-n_rows // _CHUNK))
    return values.ravel(), np.arange(n_features + 1) * n_rows


def _bins_of(features, n_values, is_category, bounds):
    """Return the bins of ``features``, in this order; the other arguments are by feature."""
    columns = np.zeros(-(-len(features) // WIDTH) * WIDTH, dtype=COLUMN)
    columns["feature"] = -1
    used = columns[: len(features)]
    used["feature"], used["n_values"] = features, n_values[features]
    used["is_category"] = is_category[features]
    bins = Bins(bounds, columns, np.zeros(len(columns) // WIDTH, dtype=np.uint64))
    bins.zeros[:] = _binned(Rows(np.zeros((1, len(bounds)))), bins)
    columns["zero"] = bins.zeros.view(np.uint8)
    return bins


def _order_of(is_zero):
    """Return an order of features in which those that are 0 in the same rows share blocks.

    ``is_zero`` is of shape (n_features, n_rows). Blocks of such features come between the others,
    which keep their order. Threads take neighboring blocks, and should get equally much work: the
    blocks with the most zeros are far from each other.
    """
    least, patterns = _SPARSE_SHARE * is_zero.shape[1], np.packbits(is_zero, axis=1)
    n_zeros = is_zero.sum(axis=1)
    left = np.argsort(-n_zeros, kind="stable")
    left, sparse = left[n_zeros[left] >= least], list[list[int]]()
    while len(left) >= WIDTH:
        block, common = list[int](), np.full_like(patterns[0], 255)
        while len(block) < WIDTH:
            both = np.bitwise_count(patterns[left[:_CANDIDATES]] & common).sum(axis=1, dtype=int)
            best = int(np.argmax(both))
            if both[best] < least:
                break
            common &= patterns[left[best]]
            block.append(left[best])
            left = np.delete(left, best)
        if len(block) == WIDTH:
            sparse.append(block)
    sparse = sparse[1::2] + sparse[::2][::-1]
    others = np.setdiff1d(np.arange(len(is_zero)), sparse)
    dense = [others[at : at + WIDTH] for at in range(0, len(others), WIDTH)]
    positions = [(i + 0.5) / len(sparse) for i in range(len(sparse))]
    positions += [(i + 1) / len(dense) for i in range(len(dense))]  # a block with room comes last
    blocks = [*sparse, *dense]
    return np.concatenate([blocks[i] for i in np.argsort(positions, kind="stable")] or [others])


def _with_zeros(distinct, counts, n_zeros):
    """Return the distinct values and their counts with ``n_zeros`` further zeros."""
    if n_zeros == 0:
        return distinct, counts
    at = np.searchsorted(distinct, 0.0)
    return np.insert(distinct, at, 0.0), np.insert(counts, at, n_zeros)


def _write_codes(distinct, counts, most, codes):
    """Write the ``most`` most frequent codes to ``codes``, in ascending order.

    Return their number.
    """
    frequent = np.sort(np.argsort(-counts, kind="stable")[:most])
    codes[: len(frequent)] = distinct[frequent]
    return len(frequent)


@njit(nogil=True)
def _write_bounds(distinct, counts, most, bounds):
    """Write the bounds of at most ``most`` bins to ``bounds``; return the number of bins.

    ``distinct`` are the distinct values, ascending, and ``counts`` their numbers of rows. The last
    bin has no upper bound.
    """
    n_rest, n_left, n_bins, size = 0, most, 0, 0
    for count in counts:
        n_rest += count
    least = n_rest / most if len(distinct) > most else 0.0  # frequent values have their own bin
    for count in counts:
        if count >= least:
            n_left, n_rest = n_left - 1, n_rest - count
    target = n_rest / (n_left if n_left > 1 else 1)
    for i in range(len(distinct) - 1):
        if n_bins == most - 1:
            break
        alone, next_alone = counts[i] >= least, counts[i + 1] >= least
        if not alone:
            size, n_rest = size + counts[i], n_rest - counts[i]
        if alone or size >= target or (next_alone and size >= 1 and 2 * size >= target):
            low, high = distinct[i], distinct[i + 1]
            middle = low + (high - low) / 2
            # Not the middle if no number lies between, or one of them is infinite.
            bounds[n_bins] = middle if low <= middle < high else low
            n_bins, size = n_bins + 1, 0
            if not alone:
                n_left -= 1
                target = n_rest / (n_left if n_left > 1 else 1)
    return n_bins + 1


def bin_rows(rows: Rows, bins: Bins) -> np.ndarray:
    """Return the bins of rows, of uint64 and shape (n_rows, n_blocks).

    Stacked rows of one of several workers, which nothing else reads after this, are taken: their
    memory is free for the trees.

    Examples
    --------
    >>> from treerank.feature_parts.rows import as_rows
    >>> rows = as_rows(np.array([[1.0, 5.0], [2.0, 7.0], [4.0, np.nan]]))
    >>> [hex(word) for word in bin_rows(rows, find_bins(rows))[:, 0]]
    ['0x0', '0x101', '0x202']
    """
    if isinstance(rows.values, StackedMatrix):
        return _binned_by_part(rows, bins)
    if not rows.is_batched:
        return _binned(rows, bins)
    binned = scratch_array((len(rows), len(bins.zeros)), np.uint64)
    for at, values in rows.batches(len(rows)):
        binned[at] = _binned(Rows(values), bins)
    return binned


def _binned(rows, bins):
    """Return the bins of rows in memory."""
    binned = np.empty((len(rows), len(bins.zeros)), dtype=np.uint64)
    positions = _positions_of_stored(rows)

    def bin_chunks(first: int, last: int) -> None:
        for start in range(first * _CHUNK, last * _CHUNK, _CHUNK):
            at = np.arange(start, min(start + _CHUNK, len(binned)))
            _bin_chunk(rows.batch(start, start + _CHUNK), bins, binned, at)

    if positions is None:
        in_parts(bin_chunks, -(-len(binned) // _CHUNK))
    else:
        _bin_stored(rows.values, positions, bins, binned)
    return binned


def _binned_by_part(rows, bins):
    """Return the bins of stacked rows, part by part; of one of several workers, take the rows."""
    binned = np.empty((len(rows), len(bins.zeros)), dtype=np.uint64)
    positions = _positions(rows)
    parts = rows.values.take_parts() if rows.is_shard else rows.values.parts()
    for start, part in parts:
        _bin_stored(part, positions[start : start + len(part)], bins, binned)
        del part
    return binned


def _bin_stored(values, positions, bins, binned):
    """Write the bins of each row of ``values`` to its position in ``binned``; -1 is no position."""

    def bin_chunks(first: int, last: int) -> None:
        for start in range(first * _CHUNK, last * _CHUNK, _CHUNK):
            at, chunk = positions[start : start + _CHUNK], values[start : start + _CHUNK]
            if at.min() < 0:
                at, chunk = at[at >= 0], chunk[at >= 0]
            _bin_chunk(chunk, bins, binned, at.astype(np.int64))

    in_parts(bin_chunks, -(-len(values) // _CHUNK))


def _positions_of_stored(rows):
    """Return the position in ``rows`` of each row of their values; -1 if it is none of them.

    None if rows are read, or copied, in the order of ``rows``: without an order, if they are few of
    the rows of their values, or if some of these are there twice.
    """
    values, order = rows.values, rows.order
    if order is None or not isinstance(values, np.ndarray) or 2 * len(order) < len(values):
        return None
    positions = _positions(rows)
    return positions if np.count_nonzero(positions >= 0) == len(order) else None  # none twice


def _positions(rows):
    """Return the position in ``rows`` of each row of their values; -1 if it is none of them."""
    positions = np.full(len(rows.values), -1, dtype=np.int32)
    order = slice(None) if rows.order is None else rows.order
    positions[order] = np.arange(len(rows), dtype=np.int32)
    return positions


def _bin_chunk(values, bins, binned, at):
    """Write the bins of some rows to the rows ``at`` of ``binned``."""
    binned[at] = bins.zeros
    values, rows, starts, step = _stored_values(values)
    memory, into = np.empty(_COMPARED_AT_ONCE), binned.view(np.uint8)
    _bin_columns(values, at[rows], starts, step, bins.bounds, bins.columns, memory, into)


def _stored_values(values):
    """Return ``(values, rows, starts, step)``: the stored values, and their rows.

    Column ``j`` begins at the entry ``starts[j]``, and its next ones follow after ``step``; it has
    all ``rows``. With a step of 0, as of a CSC matrix, each value has a row of its own, and the
    column ends before ``starts[j + 1]``. Types are always the same, since each type compiles a
    kernel.
    """
    if issparse(values):
        values = values.tocsc()
        return values.data.astype(float), values.indices.astype(int), values.indptr.astype(int), 0
    n_rows, n_columns = values.shape
    starts, step = np.arange(n_columns), n_columns
    if values.strides[0] == values.itemsize:  # column by column, as in a data frame
        values, starts, step = values.T, n_rows * starts, 1
    values = for_kernel(np.ascontiguousarray(values, dtype=np.float64))
    return values.ravel(), np.arange(n_rows), starts, step


@njit(error_model="numpy", nogil=True)
def _bin_columns(values, rows, starts, step, bounds, columns, last_bounds, binned):
    """Overwrite the bins of zeros in ``binned``, of uint8, by the bins of stored values.

    ``values``, ``rows``, ``starts`` and ``step`` are the result of ``_stored_values``, ``bounds``
    and ``columns`` are attributes of ``Bins``; ``last_bounds`` is working memory. A missing value,
    or a category without a bin, has the last bin. A value is compared with the last bounds of 16
    groups of bounds, and then with the bounds of its group.
    """
    is_sparse = step == 0
    step = np.uint64(1 if is_sparse else step)
    for number in range(np.uint64(len(columns))):
        column = columns[number]
        if column.feature < 0:
            continue
        feature, first = np.uint64(column.feature), np.uint64(starts[column.feature])
        n = np.uint64(starts[column.feature + 1]) - first if is_sparse else np.uint64(len(rows))
        begin = np.uint64(bounds.ctypes.data) + feature * np.uint64(bounds.strides[0])
        for k in range(_COMPARED_AT_ONCE):
            last_bounds[k] = bounds[feature, _COMPARED_AT_ONCE * (k + 1) - 1]
        for i in range(n):
            value = values[first + i * step]
            group: Any = _count_below(np.uint64(last_bounds.ctypes.data), value)  # type: ignore[call-arg]
            bin_ = np.uint64(_COMPARED_AT_ONCE) * group
            bin_ += _count_below(begin + _BYTES * bin_, value)
            if value != value or (column.is_category and bounds[feature, bin_] != value):
                bin_ = np.uint64(column.n_values)
            binned[np.uint64(rows[first + i if is_sparse else i]), number] = bin_


@intrinsic
def _count_below(typing_context, address, value):
    """Return how many of the 16 bounds at an address are below a value, in a few instructions."""

    def generate(context, builder, signature, arguments):
        address, value = arguments
        bounds = ir.VectorType(value.type, _COMPARED_AT_ONCE).as_pointer()
        bounds = builder.load(builder.inttoptr(address, bounds), align=8)
        is_below = builder.fcmp_ordered("<", bounds, copies(builder, value, _COMPARED_AT_ONCE))
        count = builder.ctpop(builder.bitcast(is_below, ir.IntType(_COMPARED_AT_ONCE)))
        return builder.zext(count, ir.IntType(64))

    return types.uint64(types.uint64, types.float64), generate


def by_column(binned: np.ndarray, *, in_file: bool = False) -> np.ndarray:
    """Return the bins column by column, of uint8 and shape (n_columns, n_rows).

    A leaf is split by one feature, whose bins are neighbors here. Bins in a file are not copied:
    the file would be twice as large.
    """
    by_row = binned.view(np.uint8).reshape(len(binned), WIDTH * binned.shape[1])
    if in_file:
        return by_row.T
    columns = np.empty(by_row.shape[::-1], dtype=np.uint8)

    def transpose(first: int, last: int) -> None:
        for start in range(first * _TRANSPOSED, last * _TRANSPOSED, _TRANSPOSED):
            columns[:, start : start + _TRANSPOSED] = by_row[start : start + _TRANSPOSED].T

    in_parts(transpose, -(-len(by_row) // _TRANSPOSED))
    return columns
