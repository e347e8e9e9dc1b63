"""Pair problem: everything about the pairs of an objective that the scores do not change.

Documents are sorted by query and, within a query, by label; a *slot* is a position in that order.
Kernels work on slots. Each of them reads a :class:`PairProblem` and returns the sums over its
pairs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from treerank.documents.queries import QueryGroups
from treerank.numerics.random_keys import stream
from treerank.objectives.judgments import Judgments
from treerank.objectives.pairs.label_order import LabelOrder, Weights, place_scores
from treerank.objectives.pairs.losses import PairLoss
from treerank.objectives.pairs.position_values import INSIDE, INSIDE_TIE, VALUES
from treerank.objectives.pairs.ranking import (
    RankRule,
    Ranks,
    add_noise,
    chance_kernel,
    sort_queries,
    value_kernel,
)
from treerank.objectives.pairs.rules import GivenPairs, Pairs
from treerank.objectives.pairs.settings import PairSettings
from treerank.objectives.pairs.weights import NORMALIZATIONS, PairWeight


@dataclass(frozen=True, eq=False)
class PairProblem:
    """Judged documents, and the loss and weights of their pairs.

    Attributes
    ----------
    judgments : Judgments
        Labels, queries and weights of the documents.
    loss : PairLoss
        Loss of a margin.
    settings : PairSettings
        Which pairs count, how much, and by which scores.
    typical_size : float
        Mean number of documents per query, which is the sum of weights that "equal" gives to each
        query. Subsets of the rows keep the value of all rows.
    largest_label : float, default=1.0
        Largest label of all rows, for ERR.
    balance : ndarray of shape (n_documents,) or None, default=None
        Factor of the weight of each row that balances levels; see :func:`balance_of`.
    """

    judgments: Judgments
    loss: PairLoss
    settings: PairSettings
    typical_size: float
    largest_label: float = 1.0
    balance: np.ndarray | None = None

    @cached_property
    def weight(self) -> PairWeight:
        """Weight of a pair."""
        return self.settings.pair_weight

    @cached_property
    def pairs(self) -> Pairs:
        """Which pairs count."""
        return self.settings.pair_rule

    @property
    def sigma(self) -> float:
        """Scale of the scores."""
        return float(self.settings.sigma)

    @property
    def groups(self) -> QueryGroups:
        """Queries of the rows."""
        return self.judgments.groups

    @cached_property
    def n_pairs(self) -> float:
        """Number of pairs that could count; a weight of 0 is not considered."""
        if isinstance(self.pairs, GivenPairs):
            return float(len(self.pairs.i))
        ties = (self.groups.sizes.astype(float) ** 2).sum() if self.pairs.ties else 0.0
        return float(self.labels.n_pairs().sum() + ties)

    @cached_property
    def labels(self) -> LabelOrder:
        """The documents sorted by query and label, with the partners of each."""
        return LabelOrder.from_labels(self.judgments.y, self.groups, adjacent=self.pairs.adjacent)

    @cached_property
    def levels(self) -> np.ndarray:
        """Number of the level of each slot, counted through all queries; few kernels need it."""
        start = self.labels.level_start
        return np.repeat(np.arange(len(start) - 1), np.diff(start))

    def make_weights(self) -> Weights:
        """Return the weights of the slots that no score changes."""
        row = self.labels.row
        groups = QueryGroups(None, self.groups.indptr)
        gains = self.weight.gains(self.judgments.y[row], groups, self)
        document = self.judgments.sample_weight[row]
        if self.balance is not None:
            document = document * self.balance[row]
        return Weights(np.ascontiguousarray(gains, np.float64), document)

    @property
    def is_weighted(self) -> bool:
        """Whether some document has a weight other than 1."""
        return self.judgments.is_weighted or self.balance is not None

    @cached_property
    def weights(self) -> Weights:
        """Weights of the slots that no score changes, made once."""
        return self.make_weights()

    @cached_property
    def weights_single(self) -> Weights:
        """Weights of the slots, rounded to single precision; document weights only if they differ.

        Those in double precision are made for it, not kept. Gains are of double precision again,
        as kernels of ranks, which are of one type, read them.
        """
        gain, document = self.make_weights()
        document = document if self.is_weighted else np.empty(0)
        return Weights(gain.astype(np.float32).astype(np.float64), document.astype(np.float32))

    @property
    def normalization(self) -> str | None:
        """Key of ``NORMALIZATIONS``: what the pair weights of a query are scaled to.

        None for nothing.
        """
        return self.settings.query_normalization or ("equal" if self.weight.normalized else None)

    @cached_property
    def is_separable(self) -> bool:
        """Whether a pair's weight is the gain of its upper document times both document weights.

        Then no score changes it, and all pairs of different or of neighboring labels count.
        """
        return self.weight.separates and self.pairs.is_whole

    @cached_property
    def fixed_total_weight(self) -> np.ndarray:
        """Sum of the pair weights of each query, where the problem is separable."""
        weights, labels = self.make_weights(), self.labels
        below = np.append(0, np.cumsum(weights.document))
        first = labels.indptr[:-1].repeat(np.diff(labels.indptr))
        partners = below[first + labels.high] - below[first + labels.low]
        return np.add.reduceat(weights.gain * weights.document * partners, labels.indptr[:-1])

    def factors(self, total_weight: np.ndarray) -> np.ndarray:
        """Return the factor of each query: its weight, times what scales its pair weights.

        ``total_weight`` is the sum of the pair weights of each query; a query where it is 0 is not
        scaled.
        """
        scale = NORMALIZATIONS[self.normalization]
        if scale is None:
            return self.judgments.query_weight
        scaled = scale(np.where(total_weight > 0, total_weight, 1.0), self.typical_size)
        return self.judgments.query_weight * np.where(total_weight > 0, scaled, 1.0)

    def discounts(self, name: str, longest: int) -> np.ndarray:
        """Return the discount of each rank up to ``longest``; 0 beyond the setting ``k``.

        It is 1 / log2(1 + rank) if ``name`` is "ndcg", otherwise 1 / rank.
        """
        ranks = np.arange(1, max(longest, 1) + 1)
        discounts = 1 / np.log2(1 + ranks) if name == "ndcg" else 1 / ranks
        return np.where(ranks <= (self.settings.k or len(ranks)), discounts, 0.0)

    @cached_property
    def rank_rule(self) -> RankRule:
        """Settings by which kernels turn scores into ranks, and ranks into values."""
        discount = self.discounts(self.weight.discount, self.judgments.totals.longest)
        top, k = self.pairs.top, self.settings.k if self.weight.values else None
        reach = min(top or len(discount), k or len(discount))
        n_top = min(top or 0, self.groups.n_documents)  # which fits into 64 bits
        smoothing = float(self.settings.smoothing)
        return RankRule(discount, n_top, reach, smoothing, self.judgments.seed)

    @cached_property
    def noise_keys(self) -> np.ndarray:
        """Random-number keys of the slots, always of one type: each type compiles a kernel."""
        return self.judgments.keys_of(self.labels.row).astype(np.int64, copy=False)

    def ranking(
        self, scores: np.ndarray, iteration: int, *, single: bool = False
    ) -> tuple[np.ndarray, Ranks, list[tuple[Any, ...]]]:
        """Return ``(x, ranks, calls)``: scores of slots, ranks, and the calls that fill both in.

        A call is a tuple of a kernel and its arguments, but for the range of queries that it is
        for; see :func:`treerank.numerics.threads.in_turn`. Ranks that the weight does not use stay
        0. ``iteration`` is the key of the noise on scores; ``single`` makes ranks for a kernel
        in single precision.
        """
        labels, size, n_queries = self.labels, len(scores), self.groups.n_queries
        x, order, near = np.empty(size), np.empty(size, np.int32), np.zeros(n_queries, np.int32)
        truncated, fill = self.pairs.top is not None, self.weight.values
        two_sided = self.weight.two_sided and fill is not None
        # Ranks of one side are in double precision always: one kernel fills them in for all losses.
        dtype = np.float32 if single and two_sided else np.float64
        n_rows = 6 if truncated or not single else 4 if two_sided else 2
        ranks = Ranks(order, near, np.zeros((n_rows, size), dtype))
        calls: list[tuple[Any, ...]] = [(place_scores, scores, labels, self.sigma, x)]
        if fill is None and not truncated:
            return x, ranks, calls
        rule, keys, falling = self.rank_rule, x, np.empty(size)
        if self.settings.smoothing > 0:
            keys = np.empty(size)
            state = np.uint64(stream(rule.seed, iteration))
            noise = self.noise_keys, labels.indptr, state, rule.smoothing
            calls.append((add_noise, x, *noise, keys))
        calls.append((sort_queries, keys, labels.indptr, order, falling))
        gain = (self.weights_single if single else self.weights).gain
        kernel = value_kernel(fill or VALUES["none"], two_sided, dtype == np.float32)
        calls.append((kernel, labels.indptr, *ranks, falling, gain, rule.discount, rule.reach))
        if truncated:
            chances = ranks.values[INSIDE], ranks.values[INSIDE_TIE]
            kernel = chance_kernel(dtype == np.float32)
            calls.append((kernel, labels.indptr, order, falling, rule.top, *chances))
        return x, ranks, calls


def balance_of(judgments: Judgments, pairs: Pairs) -> np.ndarray:
    r"""Return the factor of the weight of each document that balances the levels of its query.

    Documents of a level that weigh :math:`W_c` together get the factor :math:`\sqrt{T / n} / W_c`,
    so the pairs of any two levels weigh :math:`T / n` together. :math:`T` is the total weight of
    all ``n`` pairs of levels before.

    Examples
    --------
    >>> y, groups = np.array([0, 0, 0, 0, 1.0]), QueryGroups.from_qid(None, 5)
    >>> balance_of(Judgments.of(y, groups), Pairs(balanced=True))
    array([0.5, 0.5, 0.5, 0.5, 2. ])
    """
    groups, weight = judgments.groups, judgments.sample_weight
    order = np.lexsort((weight, judgments.y, groups.codes))  # sums in one order have the same bits
    query, labels = groups.codes[order], judgments.y[order]
    is_first = np.append(True, (np.diff(query) != 0) | (np.diff(labels) != 0))[: len(order)]
    start = np.flatnonzero(is_first)
    of_level, query_of_level = np.add.reduceat(weight[order], start), query[start]
    pairs_of_level = np.zeros(len(start))  # with the next lower level
    follows = query_of_level[1:] == query_of_level[:-1]
    pairs_of_level[1:] = of_level[1:] * of_level[:-1] * follows

    def over_queries(values: np.ndarray) -> np.ndarray:
        return np.bincount(query_of_level, values, groups.n_queries)

    if pairs.adjacent:
        total, n_pairs = over_queries(pairs_of_level), over_queries(pairs_of_level > 0)
    else:
        n_levels = over_queries(of_level > 0)
        total = (over_queries(of_level) ** 2 - over_queries(of_level**2)) / 2
        n_pairs = n_levels * (n_levels - 1) / 2
    scale = np.sqrt(total / np.maximum(n_pairs, 1))[query_of_level]
    is_balanced = (n_pairs[query_of_level] > 0) & (of_level > 0)
    factor = np.divide(scale, of_level, out=np.ones(len(start)), where=is_balanced)
    balance = np.empty(len(order))
    balance[order] = factor[np.cumsum(is_first) - 1]
    return balance
