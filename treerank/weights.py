r"""Pair weights: how much a pair of documents of one query matters.

A weight multiplies the loss of a pair. Some look at labels only, some at how much a metric
would change if the two documents swapped places in the present ranking, which makes any pair
loss times that weight a lambda gradient. Two documents ``i`` (more relevant) and ``j`` have

* ``gain``: a number that their labels fix once, such as ``2^y - 1`` over the ideal DCG;
* ``up`` and ``down``: two numbers that the present ranks fix, such that the change of the
  metric is ``up_i - up_j`` when ``i`` stands above ``j`` and ``down_j - down_i`` below it,
  the wrong one of the two never being the larger;
* ``tie``: what stands in for that difference when the two have equal scores.

Equal scores have no order, so every ``up``, ``down`` and ``tie`` is the expectation over
random tie-breaking: exact for NDCG, MAP and MRR; for ERR every document of a tied block stands
for the block's mean. Nothing depends on the order of rows.

To add one, write its functions and list it in ``PAIR_WEIGHTS``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba.extending import register_jitable

from treerank.metrics.relevance import is_relevant, label_gains


@register_jitable
def _end_of_block(start, order, key):
    """Return where the block of equal scores that begins at rank ``start`` ends."""
    end = start + 1
    while end < len(order) and key[order[end]] == key[order[start]]:
        end += 1
    return end


@register_jitable
def _mean(values, start, end):
    total = 0.0
    for t in range(start, end):
        total += values[t]
    return total / (end - start)


@register_jitable
def _mean_gap(values, start, end):
    """Return the mean difference of two entries of a falling sequence."""
    size = end - start
    total = 0.0
    for t in range(size):
        total += values[start + t] * (size - 1 - 2 * t)
    return 2 * total / (size * (size - 1))


@register_jitable
def ndcg_ranks(order, key, discount, gain, up, down, tie, scratch):
    """Mean discount of each block of ties; inside one, the mean gap of its discounts."""
    start = 0
    while start < len(order):
        end = _end_of_block(start, order, key)
        mean, gap = discount[start], 0.0
        if end > start + 1:
            mean, gap = _mean(discount, start, end), _mean_gap(discount, start, end)
        for rank in range(start, end):
            up[order[rank]] = down[order[rank]] = mean
            tie[order[rank]] = gap
        start = end


@register_jitable
def map_ranks(order, key, discount, gain, up, down, tie, scratch):
    """Precision at the document less the gains of all above it, in expectation."""
    start, seen, gained = 0, 0.0, 0.0
    while start < len(order):
        end = _end_of_block(start, order, key)
        size, relevant = end - start, 0
        for rank in range(start, end):
            relevant += gain[order[rank]] > 0
        rest = max(size - 1, 1)
        # Of the other documents of the block, how many are relevant on average?
        mates = ((relevant - 1) / rest, relevant / rest)
        high, low, above, mean = 0.0, 0.0, 0.0, 0.0
        for t in range(size):
            d = discount[start + t]
            high += (seen + 1 + mates[0] * t) * d - (gained + d + mates[0] * above)
            low += (seen + mates[1] * t) * d - (gained + mates[1] * above)
            above += d
        mean = above / size
        gap = _map_gap(discount, start, size, relevant, seen)
        for rank in range(start, end):
            document = order[rank]
            up[document] = (high if gain[document] > 0 else low) / size
            down[document] = up[document] + mean
            tie[document] = gap
        seen += relevant
        gained += above * relevant / size
        start = end


@register_jitable
def _map_gap(discount, start, size, relevant, seen):
    """Mean change when a relevant and another document of one block swap places."""
    if relevant == 0 or relevant == size:
        return 0.0
    mates = (relevant - 1) / max(size - 2, 1)
    total = 0.0
    for t in range(size):
        d = discount[start + t]
        total += (size - 1 - t) * (seen + 1 + mates * t) * d
        total -= t * (seen + 1 + mates * (t - 1)) * d
        total += mates * d * t * (size - 1 - t)
    return 2 * total / (size * (size - 1))


@register_jitable
def mrr_ranks(order, key, discount, gain, up, down, tie, scratch):
    """Only the first two relevant documents matter, and what could pass them."""
    n = len(order)
    start, first, second = 0, -1.0, -1.0  # expected reciprocal ranks, once known
    alone = False  # is the first relevant document the only one of its block?
    while start < n:
        end = _end_of_block(start, order, key)
        relevant = 0
        for rank in range(start, end):
            relevant += gain[order[rank]] > 0
        mean = _mean(discount, start, end)
        here, better, runner_up = _first_relevant(discount, start, end, relevant)
        opens = first < 0 and relevant > 0
        follows = alone and second < 0 and relevant > 0
        for rank in range(start, end):
            document = order[rank]
            up[document], down[document], tie[document] = 0.0, first, 0.0
            if first < 0 and relevant == 0:  # above every relevant document: may only rise
                up[document], down[document] = 1.0, mean
            elif opens:
                falls = here if relevant == 1 else (here - runner_up) / relevant
                is_relevant = gain[document] > 0
                up[document] = falls if is_relevant else 1.0
                down[document] = here if is_relevant else better
                tie[document] = 2 * (better - here)
            elif alone and gain[document] == 0:
                up[document] = better if follows else (mean if second < 0 else second)
        if opens:
            first, alone = here, relevant == 1
        elif follows:
            second = here
        start = end


@register_jitable
def _first_relevant(discount, start, end, relevant):
    """Expected 1/rank of a block's first relevant document, of the better of it and another
    document of the block that is not relevant, and of its second relevant document."""
    size = end - start
    here, better, runner_up, above = 0.0, 0.0, 0.0, 0.0
    none, one = 1.0, 0.0  # probability that no, that one relevant document stands above t
    others = max(size - relevant, 1)
    for t in range(size):
        d = discount[start + t]
        p = none * relevant / (size - t)
        p_second = one * (relevant - 1) / (size - t)
        here += p * d
        better += p * (above + max(size - relevant - t, 0) * d) / others
        runner_up += p_second * d
        one += p - p_second
        none -= p
        above += d
    return here, better if size > relevant else here, runner_up


@register_jitable
def err_ranks(order, key, discount, gain, up, down, tie, scratch):
    """Chance that the reader comes so far, over the rank, plus ERR of all above."""
    start, reach, gained = 0, 1.0, 0.0
    while start < len(order):
        end = _end_of_block(start, order, key)
        stop = 0.0
        for rank in range(start, end):
            stop += gain[order[rank]]
        stop /= end - start
        for rank in range(start, end):
            scratch[rank] = reach * discount[rank] + gained
            gained += reach * stop * discount[rank]
            reach *= 1 - stop
        mean = _mean(scratch, start, end)
        gap = _mean_gap(scratch, start, end) if end > start + 1 else 0.0
        for rank in range(start, end):
            document = order[rank]
            up[document], tie[document] = mean, gap
            down[document] = 1 / (1 - gain[document])  # the reader who got past it
        start = end


@register_jitable
def _upper(gain_i, gain_j, up_i, up_j, down_i, down_j, tie, tied):
    return gain_i


@register_jitable
def _gap(gain_i, gain_j, up_i, up_j, down_i, down_j, tie, tied):
    return gain_i - gain_j


@register_jitable
def _ndcg_change(gain_i, gain_j, up_i, up_j, down_i, down_j, tie, tied):
    # Different blocks have different mean discounts, unless both are beyond the truncation,
    # where tie is 0 too: so there is no need to look at ``tied``.
    gap = abs(up_i - up_j)
    return (gain_i - gain_j) * (gap if gap > 0 else tie)


@register_jitable
def _swap_change(gain_i, gain_j, up_i, up_j, down_i, down_j, tie, tied):
    change = max(up_i - up_j, down_j - down_i)
    return (gain_i - gain_j) * (tie if tied else max(change, tie - tie))


@register_jitable
def _err_change(gain_i, gain_j, up_i, up_j, down_i, down_j, tie, tied):
    change = max(down_i * (up_i - up_j), down_j * (up_j - up_i))
    return (gain_i - gain_j) * (tie * max(down_i, down_j) if tied else change)


def _all_ones(y, groups, options):
    return np.ones(len(y))


def _labels(y, groups, options):
    if y.min() < 0:
        raise ValueError(f"y must not be negative for weight='label'; got {y.min()}.")
    return y


def _label_steps(y, groups, options):
    return y


def _over_ideal_dcg(y, groups, options):
    """Gains over the best DCG@k that their query can reach; y is sorted within queries."""
    gains = label_gains(y, options.gain)
    ranks = groups.sizes.repeat(groups.sizes) - 1 - _places(groups)  # best label first
    ideal = np.add.reduceat(gains * options.discounts("ndcg", groups)[ranks], groups.indptr[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(gains / ideal.repeat(groups.sizes), posinf=0.0)


def _over_relevant(y, groups, options):
    relevant = is_relevant(y, options.threshold)
    counts = np.add.reduceat(relevant, groups.indptr[:-1])
    return relevant / np.maximum(counts, 1).repeat(groups.sizes)


def _relevant(y, groups, options):
    return is_relevant(y, options.threshold)


def _stop_probability(y, groups, options):
    """Chance that a document satisfies the reader: its gain over twice the largest or so."""
    gains = label_gains(y, options.gain)
    return gains / (gains.max() + 1)


def _places(groups):
    """Position of each document within its query."""
    return np.arange(groups.n_documents) - groups.indptr[:-1].repeat(groups.sizes)


@dataclass(frozen=True)
class WeightOptions:
    """What the metrics behind the weights can be told.

    Attributes
    ----------
    k : int or None
        Ranks below the k-th are worth nothing; None for all.
    gain : {"exponential", "linear"} or tuple of float
        Gain of a label, for NDCG and ERR.
    threshold : float
        Labels from here on are relevant, for MAP and MRR.
    """

    k: int | None = None
    gain: str | tuple[float, ...] = "exponential"
    threshold: float = 1.0

    def discounts(self, name, groups):
        """Worth of each rank: 1 / log2(1 + rank) for NDCG, 1 / rank for the others."""
        ranks = np.arange(1, max(groups.sizes.max(), 1) + 1)
        discounts = 1 / np.log2(1 + ranks) if name == "ndcg" else 1 / ranks
        return np.where(ranks <= (self.k or len(ranks)), discounts, 0.0)


@dataclass(frozen=True)
class PairWeight:
    """A pair weight and what is known about it.

    Attributes
    ----------
    gains : callable
        ``(y, groups, options) -> ndarray``, for labels that ascend within each query.
    of_pair : callable
        ``(gain_i, gain_j, up_i, up_j, down_i, down_j, tie, tied) -> weight``.
    ranks : callable or None
        Fills ``up``, ``down`` and ``tie`` of a query; None if ranks do not matter.
    discount : {"ndcg", "reciprocal"}
        Worth of a rank.
    normalized : bool
        Whether every query counts the same.
    needs_gap : bool
        Whether documents of equal labels weigh nothing.
    """

    gains: Callable
    of_pair: Callable
    ranks: Callable | None = None
    discount: str = "reciprocal"
    normalized: bool = False
    needs_gap: bool = True


PAIR_WEIGHTS = {
    "uniform": PairWeight(_all_ones, _upper, needs_gap=False),
    "query": PairWeight(_all_ones, _upper, normalized=True, needs_gap=False),
    "label": PairWeight(_labels, _upper, needs_gap=False),
    "label_gap": PairWeight(_label_steps, _gap),
    "ndcg": PairWeight(_over_ideal_dcg, _ndcg_change, ndcg_ranks, discount="ndcg"),
    "map": PairWeight(_over_relevant, _swap_change, map_ranks),
    "mrr": PairWeight(_relevant, _swap_change, mrr_ranks),
    "err": PairWeight(_stop_probability, _err_change, err_ranks),
}


def get_pair_weight(weight):
    """Look up a pair weight by name; an instance is its own."""
    if isinstance(weight, PairWeight):
        return weight
    if isinstance(weight, str) and weight in PAIR_WEIGHTS:
        return PAIR_WEIGHTS[weight]
    raise ValueError(
        f"weight must be a PairWeight or one of {sorted(PAIR_WEIGHTS)}; got {weight!r}."
    )
