"""Pairwise objectives: a pair loss times a pair weight, summed over the pairs of each query."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from treerank.inputs.grouping import QueryGroups
from treerank.numerics.threads import threads_for
from treerank.objectives.kernels.exact_pairs import (
    Weights,
    exact_kernel,
    place_scores,
    scatter,
)
from treerank.objectives.kernels.fast_pairs import fast_kernel, is_narrow, pays_to_stand_twice
from treerank.objectives.kernels.hinges import HINGES, hinge_kernel
from treerank.objectives.kernels.label_order import LabelOrder
from treerank.objectives.kernels.level_sums import LEVEL_SUMS, level_kernel
from treerank.objectives.kernels.listed_pairs import draw_pairs, list_pairs, listed_kernel
from treerank.objectives.kernels.ranking import RankRule, Ranks, rank_kernel
from treerank.objectives.losses import PairLoss, Shape
from treerank.objectives.normalization import query_factors
from treerank.objectives.pairs import GivenPairs, Pairs
from treerank.objectives.position_values import no_swaps
from treerank.objectives.weights import PairWeight, WeightOptions

#: Pairs that take as long as ranking a document.
_PAIRS_PER_DOCUMENT = 8


@dataclass(frozen=True, eq=False)
class PairwiseObjective:
    r"""Sum of ``weight * loss(margin)`` over the pairs of each query.

    Made by :func:`treerank.objectives.make_objective`, which checks everything.

    Parameters
    ----------
    y : ndarray of shape (n_documents,)
        Labels, in the caller's order of rows; any numbers with an order.
    groups : QueryGroups
        Which rows compete.
    loss : PairLoss
        Price of a margin.
    weight : PairWeight
        Weight of a pair.
    pairs : Pairs or GivenPairs
        Which pairs count.
    options : WeightOptions
        Truncation, gain and threshold of the metric behind the weight.
    sigma : float
        Scale of the scores: the margin is ``sigma * (s_i - s_j)``.
    margin : {"unit", "label_gap"}
        What the losses that ask for a margin of 1 ask for: 1, or the gap of the labels.
    smoothing : float
        Scale of the Gumbel noise on the scores that the ranks behind a weight come from, drawn
        anew every iteration, the same for any number of threads.
    normalization : {None, "equal", "log"}
        What the pair weights of a query are scaled to, see
        :mod:`treerank.objectives.normalization`.
    sample_weight : ndarray of shape (n_documents,)
        A pair weighs as much as its documents' product, as if rows were repeated.
    query_weight : ndarray of shape (n_queries,)
        Weight of each query.
    seed : int
        Key of everything that is drawn.
    keys : ndarray of shape (n_documents,)
        What each document is called when something is drawn for it.
    typical_size : float
        Documents of an average query, the sum of weights that "equal" gives to each.
    """

    y: np.ndarray
    groups: QueryGroups
    loss: PairLoss
    weight: PairWeight
    pairs: Pairs | GivenPairs
    options: WeightOptions
    sigma: float
    margin: str
    smoothing: float
    normalization: str | None
    sample_weight: np.ndarray
    query_weight: np.ndarray
    seed: int
    keys: np.ndarray
    typical_size: float

    n_outputs: ClassVar[int] = 1

    def __call__(self, scores, *, iteration=0):
        """Return value, gradient and hessian, in double precision."""
        with threads_for(self._worth_in_documents):
            x = self._placed(scores)
            values, g, h, mass = self._summed(x, iteration)
            factor = self._factors(mass)
            return float(np.sum(factor * values)), *self._scattered(g, h, factor, 1.0, 1.0)

    def derivatives(self, scores, *, iteration=0):
        """Return gradient and hessian, as fast as the loss allows."""
        with threads_for(self._worth_in_documents):
            return self._derivatives(scores, iteration)

    def _derivatives(self, scores, iteration):
        x = self._placed(scores)
        shape = self.loss.shape
        if shape is None or self.pairs.ties or self._is_listed:
            _, g, h, mass = self._summed(x, iteration)
            return self._scattered(g, h, self._factors(mass), 1.0, 1.0)
        g, h, mass = self._summed_fast(shape, x, iteration)
        factors = -shape.gradient_factor, shape.hessian_factor
        return self._scattered(g, h, self._factors(mass), *factors)

    def checked(self):
        """Return itself, once the weight has accepted the labels."""
        assert len(self._weights.gain) == len(self.y)
        return self

    def restricted_to(self, queries):
        """Return the part of the given queries, see :class:`~treerank.objectives.base`."""
        kept = self.groups.restricted_to(queries)
        pairs = self.pairs
        if isinstance(pairs, GivenPairs):
            pairs = pairs.restricted_to(kept.order)
        return replace(
            self,
            y=self.y[kept.order],
            groups=QueryGroups(None, kept.indptr),
            pairs=pairs,
            sample_weight=self.sample_weight[kept.order],
            query_weight=self.query_weight[queries],
            keys=self.keys[kept.order],
        )

    @property
    def n_pairs(self):
        """Number of pairs that could count, before weights."""
        if isinstance(self.pairs, GivenPairs):
            return float(len(self.pairs.i))
        ties = (self.groups.sizes.astype(float) ** 2).sum() if self.pairs.ties else 0.0
        return float(self._labels.n_pairs().sum() + ties)

    # -- the sums, one entry per place ------------------------------------------------------

    def _summed(self, x, iteration):
        """Return value per query, gradient and hessian per place, and weight per query."""
        n_queries, n = self.groups.n_queries, len(x)
        g, h, values = np.empty(n), np.empty(n), np.empty(n_queries)
        closed_form = self._closed_form
        if closed_form is not None:
            upper = self._weights.gain
            closed_form(x, self._shift, self._labels, self._weights.document, upper, g, h, values)
            return values, g, h, self._fixed_mass
        mass = np.empty(n_queries)
        ranks = self._ranked(x, iteration)
        parts = self.loss.of_margin, self.weight.of_pair, self.pairs.top is not None
        tail = self._labels, self._weights, ranks, g, h, mass, values
        if self._is_listed:
            listed_kernel(*parts)(x, self._shift, self._listed(iteration), *tail)
        else:
            everything = np.arange(n_queries)
            exact_kernel(*parts, self.pairs.ties)(everything, x, self._shift, *tail)
        return values, g, h, mass

    def _summed_fast(self, shape: Shape, x, iteration):
        """Do the same without values, constants and, where scores allow, double precision."""
        n_queries = self.groups.n_queries
        g, h = np.zeros((2, len(x)), np.float32)
        mass, wide = np.zeros(n_queries), np.empty(n_queries, dtype=bool)
        limited = pays_to_stand_twice(self.groups.sizes, self._rank_rule.reach)
        kernel = fast_kernel(
            shape.of_upset,
            self.weight.of_pair,
            *self._rank_flags,
            limited=limited,
            narrow=is_narrow(self.groups.sizes.max(), limited),
            weighted=not self._unweighted,
            normalized=self.normalization is not None and not self._mass_is_fixed,
        )
        order = self._last_order[0].copy()
        shift = np.float32(np.exp(shape.steepness * self._shift))
        ranking = self._keys_by_place, iteration, self._rank_rule, order
        labels, weights = self._labels, self._weights_single
        kernel(x, shape.steepness, shift, labels, weights, *ranking, g, h, mass, wide)
        self._last_order[0] = order
        if wide.any():
            g, h = g.astype(np.float64), h.astype(np.float64)
            self._sum_wide(shape, np.flatnonzero(wide), x, iteration, g, h, mass)
        return g, h, self._fixed_mass if self._mass_is_fixed else mass

    def _sum_wide(self, shape: Shape, wide, x, iteration, g, h, mass):
        """Fill in the queries whose scores range too far for single precision."""
        ranks = self._ranked(x, iteration)
        kernel = exact_kernel(
            self.loss.of_margin, self.weight.of_pair, self.pairs.top is not None, False
        )
        values = np.empty_like(mass)
        kernel(wide, x, self._shift, self._labels, self._weights, ranks, g, h, mass, values)
        for q in wide:  # the fast kernel leaves out the constants of the shape
            own = slice(*self.groups.indptr[q : q + 2])
            g[own] /= -shape.gradient_factor
            h[own] /= shape.hessian_factor

    def _placed(self, scores):
        scores = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1)
        if len(scores) != len(self.y):
            raise ValueError(
                f"scores must have one entry per document, {len(self.y)}; got {len(scores)}."
            )
        x = np.empty(len(scores))
        place_scores(scores, self._labels.row, self.sigma, self._offset, x)
        return x

    def _scattered(self, g, h, factor, gradient_factor, hessian_factor):
        gradient, hessian = np.empty((2, len(g)))
        factors = factor * gradient_factor * self.sigma, factor * hessian_factor * self.sigma**2
        labels = self._labels
        scatter(g, h, labels.row, labels.indptr, *factors, gradient, hessian)
        return gradient, hessian

    def _factors(self, mass):
        return self.query_weight * query_factors(self.normalization, mass, self.typical_size)

    # -- what the labels fix once -----------------------------------------------------------

    @cached_property
    def _worth_in_documents(self):
        """How many documents would take as long to rank as the pairs here to be summed."""
        return max(len(self.y), self.n_pairs / _PAIRS_PER_DOCUMENT)

    @cached_property
    def _labels(self):
        return LabelOrder.from_labels(self.y, self.groups, adjacent=self.pairs.adjacent)

    @cached_property
    def _offset(self):
        labels = self.y[self._labels.row]
        return labels if self.margin == "label_gap" else np.zeros_like(labels)

    @property
    def _shift(self):
        # Labels were subtracted from the scores; the losses ask for a margin of 1 themselves.
        return 1.0 if self.margin == "label_gap" else 0.0

    @cached_property
    def _weights(self):
        row = self._labels.row
        groups = QueryGroups(None, self.groups.indptr)
        gain = self.weight.gains(self.y[row], groups, self.options)
        return Weights(np.ascontiguousarray(gain, np.float64), self.sample_weight[row])

    @cached_property
    def _weights_single(self):
        return Weights(*(weight.astype(np.float32) for weight in self._weights))

    @cached_property
    def _unweighted(self):
        return bool((self.sample_weight == 1).all())

    @property
    def _is_listed(self):
        return isinstance(self.pairs, GivenPairs) or self.pairs.sampled is not None

    def _listed(self, iteration):
        if isinstance(self.pairs, GivenPairs):
            return list_pairs(self.pairs, self._labels)
        return draw_pairs(self._labels, self.keys, self.pairs.sampled, self.seed, iteration)

    @cached_property
    def _mass_is_fixed(self):
        """Whether a pair's weight is its upper document's times its documents' weights."""
        rule = self.pairs
        return self.weight.separates and not (self._is_listed or rule.top or rule.ties)

    @cached_property
    def _fixed_mass(self):
        weights, labels = self._weights, self._labels
        below = np.append(0, np.cumsum(weights.document))
        first = labels.indptr[:-1].repeat(np.diff(labels.indptr))
        partners = below[first + labels.high] - below[first + labels.low]
        return np.add.reduceat(weights.gain * weights.document * partners, labels.indptr[:-1])

    @property
    def _closed_form(self):
        """Kernel that sums all pairs without visiting them, if there is one."""
        if not self._mass_is_fixed:
            return None
        if self.loss.of_margin in LEVEL_SUMS:
            return level_kernel(*LEVEL_SUMS[self.loss.of_margin], self.pairs.adjacent)
        if self.loss.of_margin in HINGES:
            return hinge_kernel(HINGES[self.loss.of_margin], self.pairs.adjacent)
        return None

    # -- what the scores say about ranks ----------------------------------------------------

    def _ranked(self, x, iteration):
        """Return the present ranks' worth; nothing is sorted if no weight asks."""
        fill, ranked, weighs_ties, truncated = self._rank_flags
        if not ranked:
            return Ranks(self._last_order[0], *[np.zeros(len(x))] * 6)
        # A copy, so that objectives may be called from several threads at once.
        ranks = Ranks(self._last_order[0].copy(), *np.zeros((6, len(x))))
        kernel = rank_kernel(fill, truncated, weighs_ties)
        place = self._keys_by_place, self._labels.indptr
        kernel(x, self._weights.gain, *place, iteration, self._rank_rule, ranks)
        self._last_order[0] = ranks.order
        return ranks

    @property
    def _rank_flags(self):
        """What says what swaps are worth; whether ranks, ties and the top matter."""
        fill, truncated = self.weight.ranks, self.pairs.top is not None
        ranked = truncated or fill is not None
        return fill or no_swaps, ranked, self.weight.looks_at_ties, truncated

    @cached_property
    def _rank_rule(self):
        discount = self.options.discounts(self.weight.discount, self.groups)
        top, k = self.pairs.top, self.options.k if self.weight.ranks else None
        reach = min(top or len(discount), k or len(discount))
        return RankRule(discount, top or 0, reach, float(self.smoothing), self.seed)

    @cached_property
    def _keys_by_place(self):
        return self.keys[self._labels.row]

    @cached_property
    def _last_order(self):
        """One array in a list: where the next sort starts. It changes no result."""
        first = self.groups.indptr[:-1].repeat(self.groups.sizes)
        return [(np.arange(len(first)) - first).astype(np.int32)]
