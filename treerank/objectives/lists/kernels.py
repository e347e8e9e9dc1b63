"""Kernels of the listwise losses: one query at a time, in several threads.

Every public function takes rows sorted by query, what it knows of them and where queries begin, and
returns ``values`` (one per query), ``gradient`` and ``hessian`` (one entry per row). Exponents are
differences to the logarithm of a sum that includes the term itself, so no exponent is positive and
scores may be in the hundreds. Each query writes to its own slice, so the bits are the same for any
number of threads. To add a kernel, write the function of one query, from row ``a`` to row ``b``.
"""

import math

import numpy as np

from treerank.numerics.compiling import kernel_for, register_jitable
from treerank.numerics.threads import in_parts
from treerank.objectives.pairs.losses import upset_probability


def _over_queries(of_query):
    """Return the kernel over all queries, made of ``of_query``, the function of one query.

    ``kernel(scores, label_terms, indptr)`` returns ``(values, gradient, hessian)``; query ``q`` has
    the rows ``indptr[q]`` to ``indptr[q + 1]``. ``label_terms`` is passed on to ``of_query``.
    """

    @kernel_for(of_query, nogil=True)
    def kernel(first, last, scores, label_terms, indptr, values, gradient, hessian):
        for q in range(first, last):
            a, b = indptr[q], indptr[q + 1]
            values[q] = of_query(a, b, scores[a:b], label_terms, gradient[a:b], hessian[a:b])

    def over_queries(scores, label_terms, indptr):
        sums = np.zeros(len(indptr) - 1), *np.zeros((2, len(scores)))
        in_parts(kernel, indptr, scores, label_terms, indptr, *sums)
        return sums

    return over_queries


@register_jitable
def _cross_entropy(a, b, scores, label_terms, gradient, hessian):
    target = label_terms[a:b]
    total = 0.0
    for amount in target:
        total += amount
    if total == 0:
        return 0.0
    log_total = _log_sum_exp(scores)
    value = 0.0
    for i in range(len(scores)):
        share = math.exp(scores[i] - log_total)
        value += target[i] * (log_total - scores[i])
        gradient[i] = total * share - target[i]
        hessian[i] = total * share * (1 - share)
    return value


@register_jitable
def _grouped_plackett_luce(a, b, scores, label_terms, gradient, hessian):
    """Return the negative log likelihood of one query; add to its gradient and hessian.

    ``label_terms`` are labels, ascending within the query, and weights of all rows. The loop runs
    over the levels (rows of equal labels) from the top; each stage adds to the gradients of all
    rows below.
    """
    starts, weight = _level_starts(label_terms[0][a:b]), label_terms[1][a:b]
    n_levels = len(starts) - 1
    log_totals = _log_totals_up_to(scores, starts)
    value, charge, square = 0.0, 0.0, 0.0
    for level in range(n_levels - 1, -1, -1):
        a, b = starts[level], starts[level + 1]
        if level < n_levels - 1:
            for i in range(a, b):
                share = math.exp(scores[i] - log_totals[level + 1])
                gradient[i] += share * charge
                hessian[i] += share * charge - share * share * square
        if level > 0:  # the lowest level comes last in any case
            mean_weight = weight[a:b].mean()
            level_share = math.exp(_log_sum_exp(scores[a:b]) - log_totals[level])
            logs, stages = _stages(level_share, b - a)
            value += mean_weight * ((b - a) * log_totals[level] + logs)
            for i in range(a, b):
                value -= weight[i] * scores[i]
                share = math.exp(scores[i] - log_totals[level])
                gradient[i] += mean_weight * share * stages[2] - weight[i]
                hessian[i] += mean_weight * share * (stages[2] - share * stages[3])
            # Sums are relative to the total of their level, which falls from level to level.
            shrink = 1.0
            if level < n_levels - 1:
                shrink = math.exp(log_totals[level] - log_totals[level + 1])
            charge = charge * shrink + mean_weight * stages[0]
            square = square * shrink * shrink + mean_weight * stages[1]
    for i in range(len(scores)):
        hessian[i] = max(hessian[i], 0.0)  # a difference of two sums: below 0 by rounding only
    return value


@register_jitable
def _stages(level_share, n_ties):
    """Sum over Efron's stages of a group of ``n_ties`` tied rows.

    Stage ``l = 0, ..., n_ties - 1`` has the denominator ``d = 1 - level_share * l / n_ties``: on
    average, that share of the group has been placed. ``level_share``, at most 1, is the group's
    share of the total weight. The remaining weight of each tied row is ``r = 1 - l / n_ties``.

    Returns
    -------
    tuple
        ``(sum of log d, (sums of 1/d, 1/d^2, r/d and (r/d)^2))``.
    """
    logs, inverse, inverse_square, left, left_square = 0.0, 0.0, 0.0, 0.0, 0.0
    for stage in range(n_ties):
        remaining = 1 - stage / n_ties
        denominator = 1 - min(level_share, 1.0) * stage / n_ties
        logs += math.log(denominator)
        inverse += 1 / denominator
        inverse_square += 1 / denominator**2
        left += remaining / denominator
        left_square += (remaining / denominator) ** 2
    return logs, (inverse, inverse_square, left, left_square)


@register_jitable
def _approximate_dcg(a, b, scores, label_terms, gradient, hessian):
    gain, temperature = label_terms[0][a:b], label_terms[1]
    slope = np.empty(len(scores))
    value = 0.0
    ranks = _smooth_ranks(scores, temperature)
    for i in range(len(scores)):
        log_rank = math.log(1 + ranks[i])
        value -= gain[i] * math.log(2.0) / log_rank
        slope[i] = gain[i] * math.log(2.0) / ((1 + ranks[i]) * log_rank**2)
    for i in range(len(scores)):
        for j in range(i):
            if slope[i] != slope[j]:
                above = upset_probability((scores[i] - scores[j]) / temperature)
                pull = above * (1 - above) / temperature * (slope[j] - slope[i])
                gradient[i] += pull
                gradient[j] -= pull
                hessian[i] += abs(pull) / temperature
                hessian[j] += abs(pull) / temperature
    return value


@register_jitable
def _smooth_ranks(scores, temperature):
    """Return the smooth rank of each document of a query, from 1.

    It is 1 plus the sum of sigmoid((other score - own score) / temperature) over the other
    documents.
    """
    ranks = np.ones(len(scores))
    for i in range(len(scores)):
        for j in range(i):
            above = upset_probability((scores[i] - scores[j]) / temperature)
            ranks[i] += above
            ranks[j] += 1 - above
    return ranks


@register_jitable
def _log_sum_exp(scores):
    top, total = -np.inf, 0.0  # a loop: numba takes as long for `max` as for all else here
    for score in scores:
        top = score if score > top else top
    for score in scores:
        total += math.exp(score - top)
    return top + math.log(total)


@register_jitable
def _level_starts(y):
    """Return where each run of equal labels starts in ascending ``y``, and len(y) last."""
    starts = np.empty(len(y) + 1, dtype=np.int64)
    n_levels = 0
    for i in range(len(y)):
        if i == 0 or y[i] != y[i - 1]:
            starts[n_levels] = i
            n_levels += 1
    starts[n_levels] = len(y)
    return starts[: n_levels + 1]


@register_jitable
def _log_totals_up_to(scores, starts):
    """Return, for each level, the log of the sum of exponentials of its scores and all lower ones.

    Level ``l`` has the scores from ``starts[l]`` to ``starts[l + 1]``, the lowest first.
    """
    totals = np.empty(len(starts) - 1)
    for level in range(len(totals)):
        totals[level] = _log_sum_exp(scores[starts[level] : starts[level + 1]])
        if level > 0:
            high = max(totals[level - 1], totals[level])
            gap = abs(totals[level - 1] - totals[level])
            totals[level] = high + math.log1p(math.exp(-gap))
    return totals


#: The cross entropy between a target and the softmax of the scores of each query.
cross_entropy = _over_queries(_cross_entropy)
#: The negative log likelihood of the order of the levels, with Efron's ties, of labels and weights.
#: The rows of a query are sorted by label, least relevant first.
grouped_plackett_luce = _over_queries(_grouped_plackett_luce)
#: Minus the DCG of each query at smooth ranks, of gains and the temperature.
approximate_dcg = _over_queries(_approximate_dcg)
