"""Position values: how much a metric changes when two documents of a query swap.

Each function gets the present order of one query and its scores in that order, ``falling``. It
fills in two numbers per document. The change is ``above_i - above_j`` if the more relevant
document ``i`` stands above ``j``, and ``below_j - below_i`` if it stands below; the difference
that does not apply is never the larger of the two. A third number, ``within``, is the change if
the two have equal scores. All numbers are 0 at first. They are expectations over random
tie-breaking: exact for NDCG, MAP and MRR; for ERR every document of a tied block is replaced by
the mean of the block. ``working`` is memory for three numbers per document.

To add a metric, write its function here and list it in ``VALUES``.
"""

import numpy as np

from treerank.numerics.compiling import register_jitable
from treerank.numerics.ties import end_of_block, has_ties, mean_and_gap, mean_of, means_and_gaps


@register_jitable
def _no_values(order, falling, discount, gain, above, below, within, working):
    """Leave all values at 0, for weights that do not depend on ranks."""


@register_jitable
def _ndcg_values(order, falling, discount, gain, above, below, within, working):
    """Fill ``above`` with the mean discount of each document's block of equal scores.

    Fill ``within`` with the mean absolute difference of two discounts of the block. ``below``
    stays.
    """
    if not has_ties(falling):
        for rank in range(len(order)):
            above[np.uint64(order[rank])] = discount[rank]
        return
    means_and_gaps(discount, falling, working)
    block, before = np.int64(-1), np.nan
    for rank in range(len(order)):
        block += falling[rank] != before
        before = falling[rank]
        slot, document = np.uint64(block), np.uint64(order[rank])  # not counted from the end
        above[document], within[document] = working[0, slot], working[1, slot]


@register_jitable
def _map_values(order, falling, discount, gain, above, below, within, working):
    """Fill in the values for MAP.

    ``above`` is the expected precision at the document, minus the precisions at all relevant
    documents above it; ``below`` adds the mean discount of its block, and ``within`` is as in
    :func:`_map_gap`.
    """
    start, seen, gained = 0, 0.0, 0.0
    while start < len(order):
        end = end_of_block(start, falling)
        size, relevant = end - start, 0
        for rank in range(start, end):
            relevant += gain[order[rank]] > 0
        high, low, mean = _map_block(discount, start, size, relevant, seen, gained)
        gap = _map_gap(discount, start, size, relevant, seen)
        for rank in range(start, end):
            document = order[rank]
            above[document] = high if gain[document] > 0 else low
            below[document] = above[document] + mean
            within[document] = gap
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
def _mrr_values(order, falling, discount, gain, above, below, within, working):
    """Fill in ``above``, ``below`` and ``within`` for MRR, as the module explains them.

    Only the first two relevant documents and those above them matter; ``gain`` is above 0 for
    relevant ones.
    """
    n = len(order)
    start, first, second = 0, -1.0, -1.0  # expected reciprocal ranks, once known
    alone = False  # is the first relevant document the only one of its block?
    while start < n:
        end = end_of_block(start, falling)
        relevant = 0
        for rank in range(start, end):
            relevant += gain[order[rank]] > 0
        mean, here, better, runner_up = 0.0, 0.0, 0.0, 0.0
        if first < 0 or (alone and second < 0):  # else nothing further down changes the metric
            mean = mean_of(discount, start, end)
            here, better, runner_up = _first_relevant(discount, start, end, relevant)
        opens = first < 0 and relevant > 0
        follows = alone and second < 0 and relevant > 0
        for rank in range(start, end):
            document = order[rank]
            above[document], below[document], within[document] = 0.0, first, 0.0
            if first < 0 and relevant == 0:  # above every relevant document
                above[document], below[document] = 1.0, mean
            elif opens:
                falls = here if relevant == 1 else (here - runner_up) / relevant
                is_relevant = gain[document] > 0
                above[document] = falls if is_relevant else 1.0
                below[document] = here if is_relevant else better
                within[document] = 2 * (better - here)
            elif alone and gain[document] == 0:
                above[document] = better if follows else (mean if second < 0 else second)
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
def _err_values(order, falling, discount, gain, above, below, within, working):
    """Fill in the values for ERR.

    ``above`` is the probability that the user looks at the document, times its discount, plus the
    ERR of the documents above; ``within`` is the mean difference of it within a block; ``below`` is
    1 / (1 - gain) of the document, which removes its own stop from that probability.
    """
    rank_values = working[0]
    start, reach, gained = 0, 1.0, 0.0
    while start < len(order):
        end = end_of_block(start, falling)
        stop = 0.0
        for rank in range(start, end):
            stop += gain[order[rank]]
        if end > start + 1:
            stop /= end - start
        for rank in range(start, end):
            rank_values[rank] = reach * discount[rank] + gained
            gained += reach * stop * discount[rank]
            reach *= 1 - stop
        mean, gap = rank_values[start], 0.0
        if end > start + 1:
            mean, gap = mean_and_gap(rank_values, start, end)
        for rank in range(start, end):
            document = order[rank]
            above[document], within[document] = mean, gap
            below[document] = 1 / (1 - gain[document])  # given that the reader went on
        start = end


#: What fills in the numbers, by metric; "none" is for weights that do not depend on ranks.
VALUES = {
    "none": _no_values,
    "ndcg": _ndcg_values,
    "map": _map_values,
    "mrr": _mrr_values,
    "err": _err_values,
}
