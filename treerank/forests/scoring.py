"""Scoring: documents reach a leaf of each tree of a forest, and the leaf values are added."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from scipy.sparse import issparse

from treerank.forests.forest import CODE_RULES, Forest
from treerank.numerics.compiling import for_kernel, njit, register_jitable
from treerank.numerics.kernel_folder import config
from treerank.numerics.threads import in_threads
from treerank.numerics.vectors import aligned, copies

_BLOCK = 512  # documents converted to doubles, and scored, at a time
_ONE = np.uint64(1)
_IN_REGISTERS = 32  # documents whose bits are computed together
_TOGETHER = 128  # documents whose columns a traversal reads
_EIGHT = 8  # documents that go down a tree together
_FEW = 2048  # documents that one thread scores before a second thread would have started


def forest_scores(forest: Forest, X: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return the scores of documents, of shape (n_documents, n_outputs).

    They equal the scores of the engine that grew the trees, bit for bit, for any number of threads.
    ``X`` is an array or a sparse matrix; missing values are NaN.
    """
    forest, X = _of_used_columns(forest, X)
    scores = np.empty((X.shape[0], forest.n_outputs))
    arguments = scoring_arguments(forest)

    def score(begin: int, end: int) -> None:
        write_scores(doubles(X, begin, end), arguments, scoring_buffers(forest), scores[begin:end])

    for_blocks(score, len(scores), n_threads)
    return scores


def scoring_arguments(forest: Forest) -> tuple[Any, ...]:
    """Return the arrays of a forest that :func:`write_scores` takes as ``arguments``."""
    layout = tuple(forest.bitvectors or forest.traversal or ())
    sums = forest.tree_output, forest.sum_dtype == "float32"
    return layout, *node_arrays(forest), sums, forest.values, forest.constant


def scoring_buffers(forest: Forest) -> tuple[np.ndarray, ...]:
    """Return working memory for :func:`write_scores`, its ``buffers``.

    Each thread needs its own.
    """
    if forest.bitvectors is not None:
        columns = aligned((len(forest.bitvectors.feature), _IN_REGISTERS))
        return columns, np.empty(_IN_REGISTERS, dtype=np.uint64)
    if forest.traversal is not None:
        return (np.zeros((len(forest.traversal.feature) + 1, _TOGETHER)),)
    return ()


def write_scores(
    X: np.ndarray, arguments: tuple[Any, ...], buffers: tuple[np.ndarray, ...], scores: np.ndarray
) -> None:
    """Write the scores of documents, of shape (n_documents, n_outputs).

    Documents are scored together: by bit vectors, or by a traversal if trees have more than 64
    leaves. A single document follows its paths, unless bit vectors are faster: they compute all
    splits, and those by category take long. Trees that have more leaves and such splits are scored
    by paths, and so are all where numba compiles nothing.
    """
    layout, nodes, sets, sums, values, constant = arguments
    scores[:] = constant
    by_traversal, has_sets = len(buffers) == 1, len(sets[0]) > 0
    is_single = len(X) == 1 and (by_traversal or has_sets)
    if is_single or not layout or config.DISABLE_JIT:
        _score_by_paths(X, values, nodes, sets, sums, scores)
    elif by_traversal:
        _score_by_traversal(X, nodes[6], *layout, *sums, *buffers, scores)
    else:
        # Few forests have sets, or sum several or single numbers: the kernel of all others is
        # compiled without what these need.
        by_set = np.empty((len(layout[0]), len(X))) if has_sets else None
        if by_set is not None:
            _fill_by_sets(X, layout[0], layout[2], nodes, sets, by_set)
        single = None if values.shape[1] == 1 and not sums[1] else sums[1]
        _score_by_vectors(X, nodes[6], by_set, *layout, sums[0], single, *buffers, scores)


def forest_leaves(forest: Forest, X: Any, *, n_threads: int = 1) -> np.ndarray:
    """Return the leaf that each document reaches in each tree.

    It is the number of the node, as int32 of shape (n_documents, n_trees).
    """
    forest, X = _of_used_columns(forest, X)
    leaves = np.empty((X.shape[0], forest.n_trees), dtype=np.int32)
    nodes, sets = node_arrays(forest)

    def find(begin: int, end: int) -> None:
        _find_leaves(doubles(X, begin, end), nodes, sets, leaves[begin:end])

    for_blocks(find, len(leaves), n_threads)
    return leaves


def check_width(forest: Forest, X: Any) -> None:
    """Refuse anything but a matrix with one column per feature."""
    if np.ndim(X) != 2 or X.shape[1] != forest.n_features:
        raise ValueError(
            f"X must have {forest.n_features} columns; got an array of shape {np.shape(X)}."
        )


def _of_used_columns(forest: Forest, X: Any) -> tuple[Forest, Any]:
    """Return ``(forest, X)``; a sparse matrix, which may be wide, is reduced to the used columns.

    Refuses X of another number of columns than the forest has features.
    """
    check_width(forest, X)
    if not issparse(X):
        return forest, X
    used, narrow = forest.of_used_features
    return narrow, X[:, used]


def doubles(X: Any, begin: int, end: int) -> np.ndarray:
    """Return some rows as doubles in C order, for a kernel."""
    rows = X[begin:end].toarray() if issparse(X) else X[begin:end]
    return for_kernel(np.ascontiguousarray(rows, dtype=np.float64))


def for_blocks(
    work: Callable[[int, int], None], n_rows: int, n_threads: int, few: int = _FEW
) -> None:
    """Call ``work(begin, end)`` for blocks of 512 rows, by threads if more than ``few`` rows."""
    ends = [*range(0, n_rows, _BLOCK), n_rows]
    in_threads(n_threads if n_rows > few else 1, work, ends[:-1], ends[1:])


def node_arrays(forest: Forest) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return ``(nodes, sets)``: tuples of the arrays of nodes and of category sets, for kernels.

    The arrays of sets are empty if the forest has none.
    """
    splits = forest.feature, forest.threshold, forest.left, forest.right, forest.missing_left
    nodes, sets = (forest.roots, *splits, forest.missing_up_to), forest.categories
    if sets is None:
        return nodes, (np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0), 0)
    rule = "exact" if sets.rule == "whole" else sets.rule
    return nodes, (sets.of_node, sets.starts, sets.codes, CODE_RULES.index(rule))


@register_jitable(error_model="numpy")
def goes_left(value: float, node: int, nodes: tuple[Any, ...], sets: tuple[Any, ...]) -> bool:
    """Return whether ``value`` goes left at the split ``node``; see :func:`node_arrays`."""
    _, _, threshold, _, _, missing_left, missing_up_to = nodes
    by_set = len(sets[0]) > 0 and sets[0][node] >= 0
    if value != value or (abs(value) <= missing_up_to and not (by_set and sets[3] < 2)):
        return missing_left[node]
    if by_set:
        return _is_in(value, node, sets)
    return value <= threshold[node]


@register_jitable(error_model="numpy")
def _leaf(x, tree, nodes, sets):
    """Return the leaf that the document ``x`` reaches in a tree; see :func:`node_arrays`."""
    roots, feature, _, left, right, _, _ = nodes
    node = roots[tree]
    while feature[node] >= 0:
        is_left = goes_left(x[feature[node]], node, nodes, sets)
        node = left[node] if is_left else right[node]
    return node


@register_jitable(error_model="numpy")
def _is_in(value, node, sets):
    """Return whether the code of a value is in the set of a node."""
    of_node, starts, codes, rule = sets
    code = value
    if rule == 1:
        code = np.trunc(value)
    elif rule == 2:
        code = np.floor(np.float64(np.float32(value)))
    low, high = starts[of_node[node]], starts[of_node[node] + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < end and codes[low] == code


@register_jitable(error_model="numpy")
def _add_leaf(values, leaf, first, single, scores, i):
    """Add the values of a leaf to the scores of document ``i``, from output ``first`` on.

    ``single`` rounds the sums to single precision.
    """
    for k in range(values.shape[1]):
        total = scores[i, first + k] + values[leaf, k]
        # A sum of two singles, in double and then rounded, is their sum in single.
        scores[i, first + k] = np.float64(np.float32(total)) if single else total


@njit(error_model="numpy", nogil=True)
def _score_by_paths(X, values, nodes, sets, sums, scores):
    tree_output, single = sums
    for tree in range(len(tree_output)):
        for i in range(len(X)):
            leaf = _leaf(X[i], tree, nodes, sets)
            _add_leaf(values, leaf, tree_output[tree], single, scores, i)


@njit(error_model="numpy", nogil=True)
def _score_by_vectors(
    X,
    up_to,
    by_set,
    feature,
    missing_left,
    set_node,
    column,
    threshold,
    kept_left,
    kept_right,
    split_starts,
    leaf_starts,
    values,
    tree_output,
    single,
    columns,
    bits,
    scores,
):
    """Add the values of the leaves that documents reach to ``scores``, by bit vectors.

    The arguments from ``feature`` to ``values`` are those of ``BitVectors``, one by one, as numba
    compiles much code to take a tuple of arrays apart. ``by_set`` is None without splits by
    category. ``single`` is None if a leaf has one value, which is added in double precision;
    otherwise it tells whether sums are rounded to single precision.
    """
    splits = (
        np.uint64(column.ctypes.data),
        np.uint64(threshold.ctypes.data),
        np.uint64(kept_left.ctypes.data),
        np.uint64(kept_right.ctypes.data),
    )
    columns_at, bits_at = np.uint64(columns.ctypes.data), np.uint64(bits.ctypes.data)
    for begin in range(0, len(X), _IN_REGISTERS):
        n = len(X) - begin if begin + _IN_REGISTERS > len(X) else _IN_REGISTERS
        _fill_columns(X, begin, n, feature, missing_left, up_to, columns)
        if by_set is not None:
            for k in range(len(by_set)):
                for i in range(n if set_node[k] >= 0 else 0):
                    columns[k, i] = by_set[k, begin + i]
        for tree in range(len(leaf_starts) - 1):
            start, stop = np.uint64(split_starts[tree]), np.uint64(split_starts[tree + 1])
            _write_bits(columns_at, splits, start, stop, bits_at)  # type: ignore[call-arg]
            output, first = tree_output[tree], leaf_starts[tree]
            if single is None:  # most forests: a loop without decisions
                row, of_tree, to = np.uint64(begin), np.uint64(first), np.uint64(output)
                for t in range(np.uint64(n)):  # unsigned: not counted from the end
                    scores[row + t, to] += values[of_tree + lowest_bit(bits[t]), 0]
            else:
                for i in range(n):
                    leaf = first + np.int64(lowest_bit(bits[i]))
                    _add_leaf(values, leaf, output, single, scores, begin + i)


@intrinsic
def _write_bits(typing_context, columns, splits, start, stop, bits):
    """Write the bits that documents keep after the splits from ``start`` to ``stop`` - 1.

    A loop over splits, whose bits stay in registers; numba would read and write them in each step.
    ``columns``, the four entries of ``splits`` and ``bits`` are addresses of the arrays.
    """

    def generate(context, builder, signature, arguments):
        columns, splits, start, stop, bits = arguments
        integer, several = ir.IntType(64), ir.VectorType(ir.IntType(64), _IN_REGISTERS)

        def entry(array, index, kind, size=8):
            address = builder.add(array, builder.mul(index, integer(size)))
            return builder.load(builder.inttoptr(address, kind.as_pointer()), align=8)

        before = builder.block
        loop, after = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_unsigned("<", start, stop), loop, after)
        builder.position_at_end(loop)
        split, kept = builder.phi(integer), builder.phi(several)
        column, threshold, kept_left, kept_right = (
            entry(builder.extract_value(splits, number), split, kind)
            for number, kind in enumerate((integer, ir.DoubleType(), integer, integer))
        )
        values = ir.VectorType(ir.DoubleType(), _IN_REGISTERS)
        values = entry(columns, column, values, 8 * _IN_REGISTERS)
        threshold, kept_left, kept_right = (
            copies(builder, value, _IN_REGISTERS) for value in (threshold, kept_left, kept_right)
        )
        is_left = builder.fcmp_ordered("<=", values, threshold)
        mask = builder.select(is_left, kept_left, kept_right)
        next_split, still_kept = builder.add(split, integer(1)), builder.and_(kept, mask)
        builder.cbranch(builder.icmp_unsigned("<", next_split, stop), loop, after)
        builder.position_at_end(after)
        result, all_bits = builder.phi(several), several([-1] * _IN_REGISTERS)
        for phi, at_first, later in (
            (split, start, next_split),
            (kept, all_bits, still_kept),
            (result, all_bits, still_kept),
        ):
            phi.add_incoming(at_first, before)
            phi.add_incoming(later, loop)
        builder.store(result, builder.inttoptr(bits, several.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(columns, splits, start, stop, bits), generate


@njit(error_model="numpy", nogil=True)
def _score_by_traversal(
    X,
    up_to,
    feature,
    missing_left,
    set_node,
    roots,
    column,
    threshold,
    child,
    values,
    tree_output,
    single,
    columns,
    scores,
):
    nodes_reached = np.empty(_EIGHT, dtype=np.int64)
    for begin in range(0, len(X), _TOGETHER):
        n = min(len(X) - begin, _TOGETHER)
        _fill_columns(X, begin, n, feature, missing_left, up_to, columns)
        for tree in range(len(roots)):
            for first in range(0, n, _EIGHT):
                nodes_reached[:] = roots[tree]
                _go_down(nodes_reached, first, columns, column, threshold, child)
                for i in range(min(_EIGHT, n - first)):
                    to = begin + first + i
                    _add_leaf(values, nodes_reached[i], tree_output[tree], single, scores, to)


@register_jitable(error_model="numpy")
def _go_down(reached, first, columns, column, threshold, child):
    """Move eight documents from the roots in ``reached`` down to their leaves, in place.

    ``columns`` are the compared values, of shape (n_columns, n); document ``i`` of the eight has
    the values ``columns[:, first + i]``. A node compares the value in ``column[node]`` with its
    threshold; a leaf leads to itself. The compiler unrolls the inner loop.
    """
    moved = 1
    while moved:
        moved = 0
        for i in range(_EIGHT):
            node = reached[i]
            is_left = columns[column[node], first + i] <= threshold[node]
            reached[i] = child[node] + (not is_left)
            moved |= reached[i] ^ node


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """Return the index of the lowest bit of a mask that is 1; meaningless for an empty mask."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


@register_jitable(inline="always")
def _fill_columns(X, begin, n, feature, missing_left, up_to, columns):
    """Fill ``columns``, of shape (n_columns, n), with the values that splits compare.

    The documents are the ``n`` rows of ``X`` from ``begin`` on. A missing value becomes -inf if it
    goes left, otherwise NaN. Most documents have none: then the columns of a feature are equal.
    """
    some_missing = False
    for k in range(np.uint64(len(feature))):
        if k > 0 and feature[k] == feature[k - _ONE]:
            for i in range(np.uint64(n)):
                columns[k, i] = columns[k - _ONE, i]
            continue
        for i in range(np.uint64(n)):
            columns[k, i] = X[np.uint64(begin) + i, np.uint64(feature[k])]
        for i in range(np.uint64(n)):
            some_missing |= not abs(columns[k, i]) > up_to
    for k in range(np.uint64(len(feature) if some_missing else 0)):
        missing = -np.inf if missing_left[k] else np.nan
        for i in range(np.uint64(n)):
            value = columns[k, i]
            columns[k, i] = missing if not abs(value) > up_to else value


@njit(error_model="numpy", nogil=True)
def _fill_by_sets(X, feature, set_node, nodes, sets, by_set):
    """Write into ``by_set[k, i]`` whether document ``i`` goes left at split ``k``: 0 if so, else 1.

    Split ``k`` is by the categories of ``feature[k]`` at node ``set_node[k]``; a node of -1 is
    skipped.
    """
    for k in range(len(feature)):
        node = set_node[k]
        for i in range(len(X) if node >= 0 else 0):
            by_set[k, i] = 0.0 if goes_left(X[i, feature[k]], node, nodes, sets) else 1.0


@njit(error_model="numpy", nogil=True)
def _find_leaves(X, nodes, sets, leaves):
    for tree in range(leaves.shape[1]):
        for i in range(len(X)):
            leaves[i, tree] = _leaf(X[i], tree, nodes, sets)
