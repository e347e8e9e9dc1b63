r"""Pairs in single precision: derivatives of the sigmoid family, a vector of pairs at a time.

With ``u = e_j / (e_i + e_j)``, where ``e`` is the exponential of a score, a pair costs one
division. Each query is laid out in columns, and for each document a loop runs over the slots of
its partners, a vector at a time. All columns lie one after the other in one array, which one query
after the other uses.

Where only pairs with a document near the top count, the documents near the top are copied behind
all others. A document that is not near the top then visits these copies alone, a short run
instead of a long one.

Queries whose scores range too far for single precision are left to the exact kernel.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from treerank.numerics.compiling import kernel_for, njit, register_jitable
from treerank.numerics.threads import in_parts, in_turn
from treerank.numerics.ties import extent
from treerank.objectives.pairs import exact_pairs
from treerank.objectives.pairs.label_order import Sums
from treerank.objectives.pairs.problem import PairProblem
from treerank.objectives.pairs.ranking import FASTMATH

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": FASTMATH}
#: The top is copied where queries are at least this many times longer than it.
ENOUGH = 8
#: Number of columns of a query.
N_COLUMNS = 12
#: What they hold: exponentials of scores, and of partners' scores alone; sums of gradients and
#: hessians; and what the weight of a pair is made of, in the end the rows of the values of
#: ``Ranks``. Unsigned, as all that counts slots.
EXPONENTIAL, PARTNER, GRADIENT, HESSIAN, GAIN, DOCUMENT = np.arange(6, dtype=np.uint64)
ABOVE, WITHIN, BELOW, BLOCK, INSIDE, INSIDE_TIE = np.arange(6, N_COLUMNS, dtype=np.uint64)
#: Places that are read at a time, so that no loop over single slots remains.
LANES = np.uint64(16)
#: Numbers of single precision in a cache line.
LINE = 16
#: Half the range of scores for which single precision can hold e and its reciprocal.
HALF_RANGE = 40.0
#: Steps of 1 in the table of exponentials from -HALF_RANGE to HALF_RANGE.
STEPS = 8
POWERS = np.exp(np.arange(2 * HALF_RANGE * STEPS + 2) / STEPS - HALF_RANGE)
#: Length of the columns of queries that fit. The compiler knows it, so it need not check for every
#: document that columns do not overlap. See :func:`width_for`.
WIDTH = 1392


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over all pairs, without their values, in single precision.

    Queries whose scores range too far for it are summed in double precision. ``iteration`` is a key
    of random numbers.
    """
    g, h = np.empty((2, len(scores)))
    n_queries, labels, shape = problem.groups.n_queries, problem.labels, problem.loss.shape
    assert shape is not None
    total_weight, wide = np.zeros(n_queries), np.empty(n_queries, dtype=bool)
    x, ranks, ranking = problem.ranking(scores, iteration, single=True)
    e = np.empty(len(x), np.float32)
    powers = _exponentials, x, shape.steepness, labels.indptr, e, wide
    constants = -shape.gradient_factor, shape.hessian_factor
    # One by one: numba compiles more code to take arrays out of tuples.
    partners = labels.indptr, labels.low, labels.high
    slots = e, *partners, *problem.weights_single, ranks.values
    tail = *constants, wide, g, h, total_weight
    call = _with_memory, kernel_of(problem), problem, ranks, *slots, *tail
    in_parts(in_turn(*ranking, powers, call), labels.indptr)
    if wide.any():
        fast_sums = Sums(g, h, total_weight, np.empty(n_queries))
        exact_pairs.fill_in(fast_sums, np.flatnonzero(wide), problem, scores, iteration)
    return Sums(g, h, problem.fixed_total_weight if problem.is_separable else total_weight)


def _with_memory(first, last, kernel, problem, ranks, *arguments):
    """Call a kernel with the memory that it needs: to allocate it there takes longer to compile."""
    longest, limited = problem.judgments.totals.longest, copies_top(problem)
    width = WIDTH if is_narrow(longest, limited) else width_for(2 * longest if limited else longest)
    memory = np.zeros(N_COLUMNS * width + LINE, np.float32)
    begin = -(memory.ctypes.data // memory.itemsize) % LINE  # vectors then cross no cache line
    columns = memory[begin : begin + N_COLUMNS * width]
    of_top = ranks.order, ranks.near, np.empty((2, longest + 1), np.int64)
    kernel(first, last, columns, *(of_top if limited else ()), *arguments)


def kernel_of(problem: PairProblem) -> Callable[..., Any]:
    """Return the compiled kernel for a problem whose loss has a ``shape``."""
    assert problem.loss.shape is not None
    narrow = is_narrow(problem.judgments.totals.longest, copies_top(problem))
    flags = problem.pairs.top is not None, copies_top(problem), narrow, problem.is_weighted
    normalized = problem.normalization is not None and not problem.is_separable
    return _fast_kernel(problem.loss.shape.of_upset, problem.weight, *flags, normalized)


def copies_top(problem: PairProblem) -> bool:
    """Tell whether the documents near the top are copied behind all others.

    They are where queries, weighed by their sizes, are on average 8 times longer than the top.
    """
    totals = problem.judgments.totals
    return totals.n_squared >= ENOUGH * problem.rank_rule.reach * totals.n_documents


@functools.cache
def _fast_kernel(of_upset, weight, truncated, limited, narrow, weighted, scaled):
    """Return the kernel for a loss with a shape, which fills in all sums but the values.

    Each flag changes the order of sums or products, and so the last bits.

    Parameters
    ----------
    of_upset : callable
        Gradient and hessian of a pair, see ``Shape``.
    weight : PairWeight
        Weight of a pair.
    truncated : bool
        Whether only pairs with a document near the top count.
    limited : bool
        Whether the top of each query is copied, see :func:`copies_top`.
    narrow : bool
        Whether all queries fit into columns of the fixed length ``WIDTH``.
    weighted : bool
        Whether documents have weights.
    scaled : bool
        Whether the sum of the pair weights of each query is needed, to normalize it.
    """
    flags = truncated, limited, narrow, weighted, scaled
    of_pair, separates = weight.of_pair, weight.separates

    if limited:
        return _kernel_with_copies(of_upset, of_pair, separates, *flags)

    @kernel_for(of_upset, of_pair, separates, *flags, nogil=True, **OPTIONS)
    def over_runs(
        first,
        last,
        columns,
        e,
        indptr,
        lows,
        highs,
        gains,
        documents,
        values,
        gradient_factor,
        hessian_factor,
        wide,
        g,
        h,
        total_weight,
    ):
        width = np.uint64(WIDTH) if narrow else np.uint64(len(columns) // N_COLUMNS)
        for q in range(first, last):
            if wide[q]:
                continue
            a, b = indptr[q], indptr[q + 1]
            _load(columns, width, a, b, e, gains, documents, values, False, weighted)
            filled = emptied = 0
            total = np.float64(0)
            for i in range(b - a):
                low, high = lows[a + i], highs[a + i]
                if low == high:
                    continue
                if filled < high or emptied < low:
                    _set_partners(columns, width, filled, high, emptied, low)
                    filled = high if filled < high else filled
                    emptied = low if emptied < low else emptied
                total += _add_document(
                    columns,
                    width,
                    np.uint64(i),
                    low,
                    high,
                    of_upset,
                    of_pair,
                    separates,
                    truncated,
                    weighted,
                    scaled,
                )
            total_weight[q] = total
            for t in range(np.uint64(b - a)):
                g[np.uint64(a) + t] = gradient_factor * columns[GRADIENT * width + t]
                h[np.uint64(a) + t] = hessian_factor * columns[HESSIAN * width + t]

    return over_runs


def _kernel_with_copies(of_upset, of_pair, separates, truncated, limited, narrow, weighted, scaled):
    """Return the kernel of :func:`_fast_kernel` that copies the top of each query.

    It is a function of its own, because the other one compiles a fifth faster without copies.
    """
    flags = truncated, limited, narrow, weighted, scaled

    @kernel_for(of_upset, of_pair, separates, *flags, nogil=True, **OPTIONS)
    def over_runs(
        first,
        last,
        columns,
        order,
        near,
        working,
        e,
        indptr,
        lows,
        highs,
        gains,
        documents,
        values,
        gradient_factor,
        hessian_factor,
        wide,
        g,
        h,
        total_weight,
    ):
        width = np.uint64(WIDTH) if narrow else np.uint64(len(columns) // N_COLUMNS)
        for q in range(first, last):
            if wide[q]:
                continue
            a, b = indptr[q], indptr[q + 1]
            _load(columns, width, a, b, e, gains, documents, values, True, weighted)
            again = working[0, : b - a + 1]
            top = order[a : a + near[q]]
            _copy_top(columns, width, rounded_up(b - a), top, again, working[1])
            filled = emptied = 0
            total = np.float64(0)
            for i in range(b - a):
                low, high = lows[a + i], highs[a + i]
                if low == high:
                    continue
                if filled < high or emptied < low:
                    _set_partners(columns, width, filled, high, emptied, low)
                    _set_partners(
                        columns, width, again[filled], again[high], again[emptied], again[low]
                    )
                    filled = high if filled < high else filled
                    emptied = low if emptied < low else emptied
                if again[i] == again[i + 1]:
                    low, high = again[low], again[high]
                total += _add_document(
                    columns,
                    width,
                    np.uint64(i),
                    low,
                    high,
                    of_upset,
                    of_pair,
                    separates,
                    truncated,
                    weighted,
                    scaled,
                )
            total_weight[q] = total
            _add_copies(columns, width, again)
            for t in range(np.uint64(b - a)):
                g[np.uint64(a) + t] = gradient_factor * columns[GRADIENT * width + t]
                h[np.uint64(a) + t] = hessian_factor * columns[HESSIAN * width + t]

    return over_runs


@register_jitable(inline="always")
def _load(columns, width, a, b, e, gains, documents, values, limited, weighted):
    """Fill the columns that the pairs of a query read; the query has the slots ``a`` to ``b``.

    Vectors also read a few slots behind the documents. What earlier queries left there is
    multiplied by 0, and must be finite.
    """
    size, n = rounded_up(b - a), np.uint64(b - a)
    for t in range(np.uint64(2) * size if limited else size):
        columns[PARTNER * width + t] = 0
        columns[GRADIENT * width + t] = 0
        columns[HESSIAN * width + t] = 0
        columns[GAIN * width + t] = 0  # gains alone may be infinite
    start = np.uint64(a)  # unsigned slots need no check: the loop vectorizes
    for t in range(n):
        columns[EXPONENTIAL * width + t] = e[start + t]
        columns[GAIN * width + t] = gains[start + t]
        if weighted:
            columns[DOCUMENT * width + t] = documents[start + t]
    for row in range(np.uint64(len(values))):
        for t in range(n):
            columns[(ABOVE + row) * width + t] = values[row, start + t]


@register_jitable(inline="always")
def _add_document(
    columns, width, i, low, high, of_upset, of_pair, separates, truncated, weighted, scaled
):
    """Add the pairs of document ``i`` with the slots ``low`` to ``high`` to the sums of both.

    Return the sum of their weights, which is 0 unless ``scaled``. Slots are relative to the query.
    """
    one, none = np.float32(1), np.float32(0)
    slope_i, curvature_i, mass_i = none, none, none
    partner, G, H = PARTNER * width, GRADIENT * width, HESSIAN * width
    gain, document, block = GAIN * width, DOCUMENT * width, BLOCK * width
    above, within, below = ABOVE * width, WITHIN * width, BELOW * width
    inside, inside_tie = INSIDE * width, INSIDE_TIE * width
    # Read before the loop, which otherwise must check that it does not change them.
    e_i, gain_i, above_i = columns[EXPONENTIAL * width + i], columns[gain + i], columns[above + i]
    below_i, within_i, block_i = columns[below + i], columns[within + i], columns[block + i]
    if truncated:
        inside_i, inside_tie_i = columns[inside + i], columns[inside_tie + i]
    if weighted:
        document_i = columns[document + i]
    # Whole vectors: where e is 0, u is 0, and so is everything computed from it. An
    # unsigned j needs no check for negative slots, which would stop vectorization.
    for j in range(np.uint64(low) // LANES * LANES, rounded_up(high)):
        e_j = columns[partner + j]
        r = one / (e_i + e_j)
        tied = block_i == columns[block + j]
        w = of_pair(
            gain_i,
            columns[gain + j],
            above_i,
            columns[above + j],
            below_i,
            columns[below + j],
            within_i,
            tied,
        )
        if truncated:
            inside_j = columns[inside + j]
            # Equal: both inside, both outside, or of the block across the edge.
            w *= inside_tie_i if inside_i == inside_j else max(inside_i, inside_j)
        if weighted:
            w *= document_i * columns[document + j]
        if separates:  # the order of products decides the last bits
            slope, curvature = of_upset(e_j * r, e_i * r, one)
            slope, curvature = slope * w, curvature * w
        else:
            slope, curvature = of_upset(e_j * r, e_i * r, w)
        columns[G + j] += slope
        columns[H + j] += curvature
        slope_i += slope
        curvature_i += curvature
        if scaled:
            mass_i += w if e_j > 0 else none
    columns[G + i] -= slope_i
    columns[H + i] += curvature_i
    return mass_i


def is_narrow(longest: int, limited: bool) -> bool:
    """Tell whether queries of up to ``longest`` documents fit into columns of fixed length.

    With ``limited``, the columns also need room for copies of the documents near the top.
    """
    return bool(longest <= (WIDTH // 2 // LANES * LANES if limited else WIDTH))


@njit(nogil=True, error_model="numpy", fastmath=FASTMATH)
def _exponentials(first, last, x, steepness, indptr, e, wide):
    """Fill ``e`` with exp(steepness * (x - middle)).

    ``middle`` is halfway between a query's scores. Set ``wide[q]`` for a query whose scores range
    too far for single precision; it is not filled in.
    """
    for q in range(first, last):
        a, b = indptr[q], indptr[q + 1]
        bottom, top = extent(x, a, b)
        middle = (top + bottom) / 2
        wide[q] = not steepness * (top - middle) <= HALF_RANGE
        if wide[q]:
            continue
        for t in range(np.uint64(a), np.uint64(b)):
            # An entry of the table times a short series: faster than math.exp.
            z = steepness * (x[t] - middle)
            nearest = np.int64(z * STEPS + (HALF_RANGE * STEPS + 0.5))
            r = z - (nearest * (1 / STEPS) - HALF_RANGE)
            series = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120)))))
            e[t] = POWERS[np.uint64(nearest)] * series


def width_for(length: int) -> int:
    """Return a length of columns that differs from ``WIDTH`` by whole pages, with two vectors more.

    Where columns lie whole pages from each other, a load waits for the store to another column.
    """
    return (length + 31 + 1023 - WIDTH % 1024) // 1024 * 1024 + WIDTH % 1024


@register_jitable(inline="always")
def rounded_up(size: int) -> np.uint64:
    """Return the least number of slots of whole vectors that is not below ``size``."""
    return (np.uint64(size) + LANES - np.uint64(1)) // LANES * LANES


@register_jitable(inline="always")
def _set_partners(columns, width, filled, high, emptied, low):
    """Make slots ``low`` to ``high`` the partners in the ``PARTNER`` column.

    So far, slots from ``emptied`` to ``filled`` were partners; both ends only grow. Slots that are
    no partners hold 0.
    """
    e, partner = EXPONENTIAL * width, PARTNER * width
    for t in range(np.uint64(filled), np.uint64(high)):
        columns[partner + t] = columns[e + t]
    for t in range(np.uint64(emptied), np.uint64(low)):
        columns[partner + t] = 0


@register_jitable(inline="always")
def _copy_top(columns, width, size, top, again, chosen):
    """Copy the columns of the slots in ``top`` to the slots from ``size`` on, in ascending order.

    ``again[t]`` is set to ``size`` plus the number of copied slots before ``t``, which is the slot
    of the copy of ``t`` if there is one. ``chosen`` is working memory.
    """
    for t in range(len(again)):
        again[t] = 0
    for t in range(len(top)):
        again[top[t] + 1] = 1
    again[0] = size
    n_chosen = 0
    for t in range(len(again) - 1):
        chosen[n_chosen] = t
        n_chosen += again[t + 1]
        again[t + 1] += again[t]
    for k in range(np.uint64(N_COLUMNS)):
        for t in range(np.uint64(n_chosen)):
            columns[k * width + size + t] = columns[k * width + np.uint64(chosen[t])]
        for t in range(np.uint64(n_chosen), rounded_up(n_chosen)):
            columns[k * width + size + t] = 0


@register_jitable(inline="always")
def _add_copies(columns, width, again):
    """Add the sums of the copies to the slots they were copied from."""
    for k in (GRADIENT, HESSIAN):
        for t in range(len(again) - 1):
            if again[t] < again[t + 1]:
                columns[k * width + np.uint64(t)] += columns[k * width + np.uint64(again[t])]
