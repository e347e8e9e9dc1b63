r"""Pairs in single precision: derivatives of the sigmoid family, a vector of pairs at a time.

With ``u = e_j / (e_i + e_j)``, where ``e`` is the exponential of a score, a pair costs one
division. Each query is laid out in columns, and for each document a loop runs over the places of
its partners.

Where only pairs with a document near the top count, the documents near the top are copied behind
all others. A document that is not near the top then visits these copies alone, a short run
instead of a long one.

Queries whose scores range too far for single precision are left to the exact kernel.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.threads import in_parts, in_turn
from treerank.objectives.pairs.kernels import exact_pairs
from treerank.objectives.pairs.kernels.columns import (
    ABOVE,
    BELOW,
    BLOCK,
    DOCUMENT,
    EXPONENTIAL,
    GAIN,
    GRADIENT,
    HESSIAN,
    INSIDE,
    INSIDE_TIE,
    LANES,
    PARTNER,
    WIDTH,
    WITHIN,
    add_copies,
    copy_top,
    exponentials,
    is_narrow,
    rounded_up,
    set_partners,
    width_for,
)
from treerank.objectives.pairs.kernels.label_order import Sums
from treerank.objectives.pairs.kernels.ranking import FASTMATH, longest_query
from treerank.objectives.pairs.problem import PairProblem
from treerank.objectives.pairs.weights import PairWeight

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": FASTMATH}
#: The top is copied where queries are at least this many times longer than it.
ENOUGH = 8


def sums(problem: PairProblem, scores: np.ndarray, iteration: int) -> Sums:
    """Return the sums over all pairs without their values, in single precision where that does."""
    g, h = np.empty((2, len(scores)))
    n_queries, labels, shape = problem.groups.n_queries, problem.labels, problem.loss.shape
    assert shape is not None
    mass, wide = np.zeros(n_queries), np.empty(n_queries, dtype=bool)
    x, ranks, ranking = problem.ranking(scores, iteration, single=True)
    e, shift = np.empty(len(x), np.float32), np.float32(np.exp(shape.steepness * problem.shift))
    powers = exponentials, x, shape.steepness, labels.indptr, e, wide
    constants = -shape.gradient_factor, shape.hessian_factor
    places = labels, problem.weights_single, ranks
    tail = *places, copies_top(problem), constants, wide, g, h, mass
    in_parts(in_turn(*ranking, powers, (kernel_of(problem), e, shift, *tail)), labels.indptr)
    if wide.any():
        known = Sums(g, h, mass, np.empty(n_queries))
        exact_pairs.fill_in(known, np.flatnonzero(wide), problem, scores, iteration)
    return Sums(g, h, problem.fixed_mass if problem.is_separable else mass)


def kernel_of(problem: PairProblem) -> Callable[..., Any]:
    """Return the kernel for a problem whose loss has a shape."""
    assert problem.loss.shape is not None
    narrow = is_narrow(problem.judgments.totals.longest, copies_top(problem))
    flags = problem.pairs.top is not None, narrow, problem.judgments.is_weighted
    of_upset, normalized = problem.loss.shape.of_upset, not problem.is_mass_fixed
    return fast_kernel(of_upset, problem.weight, *flags, normalized)


def copies_top(problem: PairProblem) -> bool:
    """Tell whether the top of each query is copied."""
    totals = problem.judgments.totals
    return pays_to_copy_top(totals.n_squared, totals.n_documents, problem.rank_rule.reach)


def pays_to_copy_top(n_squared: float, n_documents: int, reach: int) -> bool:
    """Tell whether the query of an average document is much longer than the top."""
    return n_squared >= ENOUGH * reach * n_documents


@functools.cache
def fast_kernel(
    of_upset: Callable[..., Any],
    weight: PairWeight,
    truncated: bool,
    narrow: bool,
    weighted: bool,
    normalized: bool,
) -> Callable[..., Any]:
    """Make the kernel for a loss that has a shape, which fills in all sums but the values.

    Each flag changes the order of sums or products, and so bits: whether only pairs with a document
    near the top count, all queries fit into columns of fixed length, documents have weights, and
    factors of queries depend on weights that scores change.
    """
    flags = truncated, narrow, weighted, normalized
    of_pair, separates = weight.of_pair, weight.separates

    @kernel_for(of_upset, of_pair, separates, *flags, nogil=True, **OPTIONS)
    def over_runs(
        first, last, e, shift, labels, weights, ranks, limited, constants, wide, g, h, mass
    ):
        longest = longest_query(labels.indptr, first, last)
        width = WIDTH if narrow else width_for(2 * longest if limited else longest)
        columns = np.zeros((INSIDE_TIE + 1, width), np.float32)
        working = np.empty((2, longest + 1 if limited else 0), np.int64)
        for q in range(first, last):
            if wide[q]:
                continue
            a, b = labels.indptr[q], labels.indptr[q + 1]
            _load(columns, a, b, e, weights, ranks, limited, truncated, weighted)
            again = working[0, : b - a + 1]
            if limited:
                top = ranks.order[a : a + ranks.near[q]]
                copy_top(columns, rounded_up(b - a), top, again, working[1])
            filled = emptied = 0
            total = np.float64(0)
            for i in range(b - a):
                low, high = labels.low[a + i], labels.high[a + i]
                if low == high:
                    continue
                if filled < high or emptied < low:
                    set_partners(columns, again, limited, filled, high, emptied, low)
                    filled = high if filled < high else filled
                    emptied = low if emptied < low else emptied
                if limited and again[i] == again[i + 1]:
                    low, high = again[low], again[high]
                total += _add_document(
                    columns,
                    i,
                    low,
                    high,
                    shift,
                    of_upset,
                    of_pair,
                    separates,
                    truncated,
                    weighted,
                    normalized,
                )
            mass[q] = total
            if limited:
                add_copies(columns, again)
            G = columns[GRADIENT]
            H = columns[HESSIAN]
            for t in range(np.uint64(b - a)):
                g[np.uint64(a) + t] = constants[0] * G[t]
                h[np.uint64(a) + t] = constants[1] * H[t]

    return over_runs


@register_jitable(inline="always")
def _load(columns, a, b, e, weights, ranks, limited, truncated, weighted):
    """Fill the columns that the pairs of a query read.

    Vectors also read a few places behind the documents. What earlier queries left there is
    multiplied by 0, and must be finite.
    """
    size = rounded_up(b - a)
    for t in range(2 * size if limited else size):
        columns[PARTNER, t] = columns[GRADIENT, t] = columns[HESSIAN, t] = 0
    start = np.uint64(a)  # unsigned places need no check: the loop vectorizes
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
def _add_document(
    columns, i, low, high, shift, of_upset, of_pair, separates, truncated, weighted, normalized
):
    """Add up the pairs of a document; return their weight."""
    one, none = np.float32(1), np.float32(0)
    e_i, slope_i, curvature_i, mass_i = columns[EXPONENTIAL, i] * shift, none, none, none
    partner = columns[PARTNER]
    G = columns[GRADIENT]
    H = columns[HESSIAN]
    gain = columns[GAIN]
    document = columns[DOCUMENT]
    above = columns[ABOVE]
    within = columns[WITHIN]
    below = columns[BELOW]
    block = columns[BLOCK]
    inside = columns[INSIDE]
    inside_tie = columns[INSIDE_TIE]
    # Read before the loop, which otherwise must check that it does not change them.
    gain_i, above_i, below_i, within_i = gain[i], above[i], below[i], within[i]
    block_i, document_i = block[i], document[i]
    inside_i, inside_tie_i = inside[i], inside_tie[i]
    # Whole vectors: where e is 0, u is 0, and so is everything computed from it. An
    # unsigned j needs no check for negative places, which would stop vectorization.
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
        if normalized:
            mass_i += w if partner[j] > 0 else none
    G[i] -= slope_i
    H[i] += curvature_i
    return mass_i
