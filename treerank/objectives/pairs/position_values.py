"""Position values: how much a metric changes when two documents of a query swap.

Each function gets the present order of one query, which has the slots ``a`` to ``b``, and its
scores in that order, ``falling``. It fills in two rows of ``values`` for each document. The change
is ``above_i - above_j`` if the more relevant document ``i`` stands above ``j``, and ``below_j -
below_i`` if it stands below; the difference that does not apply is never the larger of the two. A
third number, ``within``, is the change if the two have equal scores. All numbers are 0 at first.
They are expectations over random tie-breaking: exact for NDCG, MAP and MRR; for ERR every document
of a tied block is replaced by the mean of the block. ``working`` is memory for three numbers per
document.

To add a metric, write its function here and list it in ``VALUES``.
"""

import numpy as np

from treerank.numerics.compiling import njit, register_jitable
from treerank.numerics.ties import end_of_block, has_ties, mean_and_gap, mean_of, means_and_gaps

#: Rows of the values of documents, see ``Ranks``. Unsigned, so that none is counted from the end.
ABOVE, WITHIN, BELOW, BLOCK, INSIDE, INSIDE_TIE = np.arange(6, dtype=np.uint64)


@register_jitable
def _no_values(a, b, order, falling, discount, gain, values, working):
    """Leave all values at 0, for weights that do not depend on ranks."""


@register_jitable
def _ndcg_values(a, b, order, falling, discount, gain, values, working):
    """Fill ``above`` with the mean discount of each document's block of equal scores.

    Fill ``within`` with the mean absolute difference of two discounts of the block. ``below``
    stays.
    """
    first = np.uint64(a)
    if not has_ties(falling, a, b):
        for t in range(first, np.uint64(b)):
            values[ABOVE, first + np.uint64(order[t])] = discount[t - first]
        return
    means_and_gaps(discount, falling, a, b, working)
    block, before = np.int64(-1), np.nan
    for t in range(first, np.uint64(b)):
        block += falling[t] != before
        before = falling[t]
        column, document = np.uint64(block), first + np.uint64(order[t])
        values[ABOVE, document], values[WITHIN, document] = working[0, column], working[1, column]


@njit(nogil=True)
def _ndcg_without_ties(first, last, indptr, order, discount, values):
    """Fill ``above`` with the discount of each document, where a query has no equal scores."""
    for q in range(first, last):
        a = np.uint64(indptr[q])
        for t in range(a, np.uint64(indptr[q + 1])):
            values[ABOVE, a + np.uint64(order[t])] = discount[t - a]


@register_jitable
def _map_values(a, b, order, falling, discount, gain, values, working):
    """Fill in the values for MAP.

    ``above`` is the expected precision at the document, minus the precisions at all relevant
    documents above it; ``below`` adds the mean discount of its block, and ``within`` is as in
    :func:`_map_gap`.
    """
    start, seen, gained = a, 0.0, 0.0
    while start < b:
        end = end_of_block(start, falling, b)
        size, relevant = end - start, 0
        for t in range(start, end):
            relevant += gain[a + order[t]] > 0
        high, low, mean = _map_block(discount, start - a, size, relevant, seen, gained)
        gap = _map_gap(discount, start - a, size, relevant, seen)
        for t in range(start, end):
            document = np.uint64(a + order[t])
            values[ABOVE, document] = high if gain[document] > 0 else low
            values[BELOW, document] = values[ABOVE, document] + mean
            values[WITHIN, document] = gap
        seen += relevant
        gained += mean * relevant
        start = end


@register_jitable(inline="always")
def _map_block(discount, start, size, relevant, seen, gained):
    """Return ``(to_relevant, to_other, mean_discount)``: mean values of the positions of a block.

    The block begins at index ``start``, and ``relevant`` of its ``size`` documents are relevant.
    Above it stand ``seen`` relevant documents, whose discounts have the sum ``gained``.
    """
    if size == 1:
        gain = seen * discount[start] - gained
        return gain, gain, discount[start]
    # Of the other documents of the block, how many are relevant on average?
    mates = ((relevant - 1) / (size - 1), relevant / (size - 1))
    high, low, above = 0.0, 0.0, 0.0
    for t in range(size):
        d = discount[start + t]
        high += (seen + 1 + mates[0] * t) * d - (gained + d + mates[0] * above)
        low += (seen + mates[1] * t) * d - (gained + mates[1] * above)
        above += d
    return high / size, low / size, above / size


@register_jitable(inline="always")
def _map_gap(discount, start, size, relevant, seen):
    """Return the mean change of MAP's sum if a relevant and another document of a block swap.

    The block begins at index ``start``, and ``relevant`` of its ``size`` documents are relevant;
    ``seen`` relevant documents stand above it. 0 if all documents of the block are alike.
    """
    if relevant == 0 or relevant == size:
        return 0.0
    mates = (relevant - 1) / (size - 2 if size > 2 else 1)
    total = 0.0
    for t in range(size):
        d = discount[start + t]
        total += (size - 1 - t) * (seen + 1 + mates * t) * d
        total -= t * (seen + 1 + mates * (t - 1)) * d
        total += mates * d * t * (size - 1 - t)
    return 2 * total / (size * (size - 1))


@register_jitable
def _mrr_values(a, b, order, falling, discount, gain, values, working):
    """Fill in ``above``, ``below`` and ``within`` for MRR, as the module explains them.

    Only the first two relevant documents and those above them matter; ``gain`` is above 0 for
    relevant ones.
    """
    start, first, second = a, -1.0, -1.0  # expected reciprocal ranks, once known
    alone = False  # is the first relevant document the only one of its block?
    while start < b:
        end = end_of_block(start, falling, b)
        relevant = 0
        for t in range(start, end):
            relevant += gain[a + order[t]] > 0
        mean, here, better, runner_up = 0.0, 0.0, 0.0, 0.0
        if first < 0 or (alone and second < 0):  # else nothing further down changes the metric
            mean = mean_of(discount, start - a, end - a)
            here, better, runner_up = _first_relevant(discount, start - a, end - a, relevant)
        opens = first < 0 and relevant > 0
        follows = alone and second < 0 and relevant > 0
        for t in range(start, end):
            document = np.uint64(a + order[t])
            above, below, within = 0.0, first, 0.0
            if first < 0 and relevant == 0:  # above every relevant document
                above, below = 1.0, mean
            elif opens:
                falls = here if relevant == 1 else (here - runner_up) / relevant
                is_relevant = gain[document] > 0
                above = falls if is_relevant else 1.0
                below = here if is_relevant else better
                within = 2 * (better - here)
            elif alone and gain[document] == 0:
                above = better if follows else (mean if second < 0 else second)
            values[ABOVE, document] = above
            values[BELOW, document] = below
            values[WITHIN, document] = within
        if opens:
            first, alone = here, relevant == 1
        elif follows:
            second = here
        start = end


@register_jitable(inline="always")
def _first_relevant(discount, start, end, relevant):
    """Return three expected reciprocal ranks of the block from index ``start`` to ``end``.

    They are ``(first, better, second)``: of its first relevant document; of the better one of that
    and a document of the block that is not relevant; and of its second relevant document.
    ``relevant`` is the number of relevant documents of the block; ties are broken at random.
    """
    size = end - start
    here, better, runner_up, above = 0.0, 0.0, 0.0, 0.0
    none, one = 1.0, 0.0  # probability that no, that one relevant document stands above t
    n_other_slots = max(size - relevant, 1)
    for t in range(size):
        d = discount[start + t]
        p = none * relevant / (size - t)
        p_second = one * (relevant - 1) / (size - t)
        here += p * d
        better += p * (above + max(size - relevant - t, 0) * d) / n_other_slots
        runner_up += p_second * d
        one += p - p_second
        none -= p
        above += d
    return here, better if size > relevant else here, runner_up


@register_jitable
def _err_values(a, b, order, falling, discount, gain, values, working):
    """Fill in the values for ERR.

    ``above`` is the probability that the user looks at the document, times its discount, plus the
    ERR of the documents above; ``within`` is the mean difference of it within a block; ``below`` is
    1 / (1 - gain) of the document, which removes its own stop from that probability.
    """
    rank_values = working[0]
    start, reach, gained = a, 1.0, 0.0
    while start < b:
        end = end_of_block(start, falling, b)
        stop = 0.0
        for t in range(start, end):
            stop += gain[a + order[t]]
        if end > start + 1:
            stop /= end - start
        for rank in range(start - a, end - a):
            rank_values[rank] = reach * discount[rank] + gained
            gained += reach * stop * discount[rank]
            reach *= 1 - stop
        mean, gap = rank_values[start - a], 0.0
        if end > start + 1:
            mean, gap = mean_and_gap(rank_values, start - a, end - a)
        for t in range(start, end):
            document = np.uint64(a + order[t])
            values[ABOVE, document], values[WITHIN, document] = mean, gap
            values[BELOW, document] = 1 / (1 - gain[document])  # given that the reader went on
        start = end


#: What fills in the numbers, by metric; "none" is for weights that do not depend on ranks.
VALUES = {
    "none": _no_values,
    "ndcg": _ndcg_values,
    "map": _map_values,
    "mrr": _mrr_values,
    "err": _err_values,
}
#: A kernel over queries that fills in the same numbers if no query has equal scores, which is the
#: rule with noise on the scores.
#: It compiles in a fifth of the time.
WITHOUT_TIES = {_ndcg_values: _ndcg_without_ties}
