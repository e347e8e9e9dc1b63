r"""Pairs in single precision: derivatives of the sigmoid family, a vector of pairs at a time.

With ``u = e_j / (e_i + e_j)``, where ``e`` is the exponential of a score, a pair costs one
division. Each query is laid out in columns, and for each document a loop runs over the slots of
its partners, a vector at a time. All columns are rows of one array, which one query after the other
uses.

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
from treerank.objectives.pairs.ranking import FASTMATH, longest_query

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": FASTMATH}
#: The top is copied where queries are at least this many times longer than it.
ENOUGH = 8
#: What each column of a query holds: exponentials of scores, and of partners' scores alone; sums of
#: gradients and hessians; and what the weight of a pair is made of.
EXPONENTIAL, PARTNER, GRADIENT, HESSIAN, GAIN, DOCUMENT = range(6)
ABOVE, WITHIN, BELOW, BLOCK, INSIDE, INSIDE_TIE = range(6, 12)
#: Places that are read at a time, so that no loop over single slots remains.
LANES = np.uint64(16)
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
    slots = labels, problem.weights_single, ranks
    tail = *slots, constants, wide, g, h, total_weight
    in_parts(in_turn(*ranking, powers, (kernel_of(problem), e, *tail)), labels.indptr)
    if wide.any():
        fast_sums = Sums(g, h, total_weight, np.empty(n_queries))
        exact_pairs.fill_in(fast_sums, np.flatnonzero(wide), problem, scores, iteration)
    return Sums(g, h, problem.fixed_total_weight if problem.is_separable else total_weight)


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
    def over_runs(first, last, e, labels, weights, ranks, constants, wide, g, h, total_weight):
        width = WIDTH if narrow else width_for(longest_query(labels.indptr, first, last))
        columns = np.empty((INSIDE_TIE + 1, width), np.float32)  # zeros take longer to compile
        for k in range(INSIDE_TIE + 1):
            for t in range(width):
                columns[k, t] = 0
        for q in range(first, last):
            if wide[q]:
                continue
            a, b = labels.indptr[q], labels.indptr[q + 1]
            _load(columns, a, b, e, weights, ranks, False, truncated, weighted)
            filled = emptied = 0
            total = np.float64(0)
            for i in range(b - a):
                low, high = labels.low[a + i], labels.high[a + i]
                if low == high:
                    continue
                if filled < high or emptied < low:
                    _set_partners(columns, filled, high, emptied, low)
                    filled = high if filled < high else filled
                    emptied = low if emptied < low else emptied
                total += _add_document(
                    columns, i, low, high, of_upset, of_pair, separates, truncated, weighted, scaled
                )
            total_weight[q] = total
            G = columns[GRADIENT]
            H = columns[HESSIAN]
            for t in range(np.uint64(b - a)):
                g[np.uint64(a) + t] = constants[0] * G[t]
                h[np.uint64(a) + t] = constants[1] * H[t]

    return over_runs


def _kernel_with_copies(of_upset, of_pair, separates, truncated, limited, narrow, weighted, scaled):
    """Return the kernel of :func:`_fast_kernel` that copies the top of each query.

    It is a function of its own, because the other one compiles a fifth faster without copies.
    """
    flags = truncated, limited, narrow, weighted, scaled

    @kernel_for(of_upset, of_pair, separates, *flags, nogil=True, **OPTIONS)
    def over_runs(first, last, e, labels, weights, ranks, constants, wide, g, h, total_weight):
        longest = longest_query(labels.indptr, first, last)
        width = WIDTH if narrow else width_for(2 * longest)
        columns = np.empty((INSIDE_TIE + 1, width), np.float32)  # zeros take longer to compile
        for k in range(INSIDE_TIE + 1):
            for t in range(width):
                columns[k, t] = 0
        working = np.empty((2, longest + 1), np.int64)
        for q in range(first, last):
            if wide[q]:
                continue
            a, b = labels.indptr[q], labels.indptr[q + 1]
            _load(columns, a, b, e, weights, ranks, True, truncated, weighted)
            again = working[0, : b - a + 1]
            top = ranks.order[a : a + ranks.near[q]]
            _copy_top(columns, rounded_up(b - a), top, again, working[1])
            filled = emptied = 0
            total = np.float64(0)
            for i in range(b - a):
                low, high = labels.low[a + i], labels.high[a + i]
                if low == high:
                    continue
                if filled < high or emptied < low:
                    _set_partners(columns, filled, high, emptied, low)
                    _set_partners(columns, again[filled], again[high], again[emptied], again[low])
                    filled = high if filled < high else filled
                    emptied = low if emptied < low else emptied
                if again[i] == again[i + 1]:
                    low, high = again[low], again[high]
                total += _add_document(
                    columns, i, low, high, of_upset, of_pair, separates, truncated, weighted, scaled
                )
            total_weight[q] = total
            _add_copies(columns, again)
            G = columns[GRADIENT]
            H = columns[HESSIAN]
            for t in range(np.uint64(b - a)):
                g[np.uint64(a) + t] = constants[0] * G[t]
                h[np.uint64(a) + t] = constants[1] * H[t]

    return over_runs


@register_jitable(inline="always")
def _load(columns, a, b, e, weights, ranks, limited, truncated, weighted):
    """Fill the columns that the pairs of a query read; the query has the slots ``a`` to ``b``.

    Vectors also read a few slots behind the documents. What earlier queries left there is
    multiplied by 0, and must be finite.
    """
    size = rounded_up(b - a)
    for t in range(2 * size if limited else size):
        columns[PARTNER, t] = columns[GRADIENT, t] = columns[HESSIAN, t] = 0
    start = np.uint64(a)  # unsigned slots need no check: the loop vectorizes
    for t in range(np.uint64(b - a)):
        columns[EXPONENTIAL, t] = e[start + t]
        columns[GAIN, t] = weights.gain[start + t]
        if weighted:
            columns[DOCUMENT, t] = weights.document[start + t]
        columns[ABOVE, t] = ranks.above[start + t]
        columns[WITHIN, t] = ranks.within[start + t]
        columns[BELOW, t] = ranks.below[start + t]
        columns[BLOCK, t] = ranks.block[start + t]
        if truncated:
            columns[INSIDE, t] = ranks.inside[start + t]
            columns[INSIDE_TIE, t] = ranks.inside_tie[start + t]
    for t in range(np.uint64(b - a), size):  # gains alone may be infinite
        columns[GAIN, t] = 0


@register_jitable(inline="always")
def _add_document(columns, i, low, high, of_upset, of_pair, separates, truncated, weighted, scaled):
    """Add the pairs of document ``i`` with the slots ``low`` to ``high`` to the sums of both.

    Return the sum of their weights, which is 0 unless ``scaled``. Slots are relative to the query.
    """
    one, none = np.float32(1), np.float32(0)
    e_i, slope_i, curvature_i, mass_i = columns[EXPONENTIAL, i], none, none, none
    partner = columns[PARTNER]
    G = columns[GRADIENT]
    H = columns[HESSIAN]
    gain = columns[GAIN]
    above = columns[ABOVE]
    within = columns[WITHIN]
    below = columns[BELOW]
    block = columns[BLOCK]
    # Read before the loop, which otherwise must check that it does not change them.
    gain_i, above_i, below_i, within_i = gain[i], above[i], below[i], within[i]
    block_i = block[i]
    if truncated:
        inside = columns[INSIDE]
        inside_tie = columns[INSIDE_TIE]
        inside_i, inside_tie_i = inside[i], inside_tie[i]
    if weighted:
        document = columns[DOCUMENT]
        document_i = document[i]
    # Whole vectors: where e is 0, u is 0, and so is everything computed from it. An
    # unsigned j needs no check for negative slots, which would stop vectorization.
    for j in range(np.uint64(low) // LANES * LANES, rounded_up(high)):
        r = one / (e_i + partner[j])
        tied = block_i == block[j]
        w = of_pair(gain_i, gain[j], above_i, above[j], below_i, below[j], within_i, tied)
        if truncated:
            # Equal: both inside, both outside, or of the block across the edge.
            w *= inside_tie_i if inside_i == inside[j] else max(inside_i, inside[j])
        if weighted:
            w *= document_i * document[j]
        if separates:  # the order of products decides the last bits
            slope, curvature = of_upset(partner[j] * r, e_i * r, one)
            slope, curvature = slope * w, curvature * w
        else:
            slope, curvature = of_upset(partner[j] * r, e_i * r, w)
        G[j] += slope
        H[j] += curvature
        slope_i += slope
        curvature_i += curvature
        if scaled:
            mass_i += w if partner[j] > 0 else none
    G[i] -= slope_i
    H[i] += curvature_i
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
        bottom, top = extent(x[a:b])
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


@register_jitable(inline="always")
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
def _set_partners(columns, filled, high, emptied, low):
    """Make slots ``low`` to ``high`` the partners in the ``PARTNER`` column.

    So far, slots from ``emptied`` to ``filled`` were partners; both ends only grow. Slots that are
    no partners hold 0.
    """
    e = columns[EXPONENTIAL]
    partner = columns[PARTNER]
    for t in range(np.uint64(filled), np.uint64(high)):
        partner[t] = e[t]
    for t in range(np.uint64(emptied), np.uint64(low)):
        partner[t] = 0


@register_jitable(inline="always")
def _copy_top(columns, size, top, again, chosen):
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
    for k in range(len(columns)):
        for t in range(n_chosen):
            columns[k, size + t] = columns[k, chosen[t]]
        for t in range(n_chosen, rounded_up(n_chosen)):
            columns[k, size + t] = 0


@register_jitable(inline="always")
def _add_copies(columns, again):
    """Add the sums of the copies to the slots they were copied from."""
    for k in (GRADIENT, HESSIAN):
        for t in range(len(again) - 1):
            if again[t] < again[t + 1]:
                columns[k, t] += columns[k, again[t]]
