"""Ensemble: several feature parts as one, each fitted several times.

Every feature part is fitted once per bag. A bag trains on a share of the queries and holds out the
other queries. Its fits stop early by the held-out queries, and score them: these out-of-fold scores
cover all documents, and the weights of the feature parts are fitted to them. Then parts may be
fitted again, to all queries.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY
from math import inf
from time import monotonic
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.all_or_nothing import all_or_nothing
from treerank.checks import check_number, check_sequence, quote, warn_user
from treerank.documents.rows import Rows
from treerank.feature_parts.bags import Bag, deal_bags
from treerank.feature_parts.base import (
    FeaturePart,
    Validation,
    fit_part,
    importances_of,
    n_outputs_of,
    params_of,
    traits_of,
)
from treerank.feature_parts.components import Components, sum_of_components
from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.part_list import (
    PartList,
    check_fitted_parts,
    check_outputs,
    mean_importances,
    weighed,
    weighed_components,
)
from treerank.feature_parts.registry import make_feature_part, reads_sparse
from treerank.feature_parts.rows import as_rows
from treerank.files.states import StateRule, array, count, history, size
from treerank.objectives.base import Objective, as_objective
from treerank.objectives.batches import taken
from treerank.objectives.factory import PairlessLosses, get_loss
from treerank.objectives.lists.objective import ListwiseLoss
from treerank.parameters import Positive, Seed, Whole
from treerank.progress import (
    Progress,
    current_listener,
    ignore_progress,
    ignore_text,
    listening,
    say,
)

#: Penalty on the squares of the weights, as a share of the curvature at the start.
_ALPHA = 0.0003
_STEPS = 50
#: Number of queries that expected shares count as much as.
_QUERIES_OF_SHARES = 25
#: Number of bags where it is "auto", and the number of queries from which there are any.
_BAGS, _QUERIES_FOR_BAGS = 2, 500


def _check_bags(name, bags, sizes):
    """Refuse anything but a list of bags with one fitted part for each entry of ``parts``."""
    if not isinstance(bags, list) or not bags:
        raise ValueError(f"{name} must be a list of bags of {sizes['n_parts']} parts.")
    for parts in bags:
        check_fitted_parts(name, parts, sizes)


@estimator
class Ensemble(PartList):
    """Several feature parts side by side, each the mean of several fits.

    Each fit of a part holds out some queries. A part with early stopping uses the loss on the
    held-out queries, so it needs no other validation set. The weights of the parts in the score are
    fitted to the objective, on scores of held-out queries only. They are not negative: a part that
    does not help gets the weight 0. If there is a single query, documents are held out instead.

    Parameters
    ----------
    parts : sequence of str or feature part, default=("linear", "lightgbm")
        The feature parts, by name or as instances, which are copied. Their parameters are named by
        their index: ``set_params(**{"1__num_leaves": 15})`` changes the second one.
    n_bags : int or "auto", default=5
        Number of fits of each part. The queries are divided into this number of shares, and each
        fit holds out one of them. The time of ``fit`` and of ``transform`` is proportional to it.
        With 0, no query is held out: each part is fitted ``n_refits`` times to all queries, and
        ``shares`` are the weights, which are equal by default. The sum is a weighted mean of
        scores, which are scaled to the spread of the parts that are fitted to the ranker's loss.
        "auto" is 2, or 0 for fewer than 500 queries, from which weights cannot be fitted better
        than ``shares``.
    losses : sequence of str, loss or None, default=None
        Loss of each part: a loss without pairs, such as "half_squared_error", or None for the loss
        of the ranker. The weights of the parts are fitted to the loss of the ranker. If the ranker
        has an objective of your own, all parts are fitted to it.
    shares : sequence of float, default=None
        Expected weights of the parts, for scores of equal spread. They are a prior that counts as
        much as 25 queries: with few queries, fitted weights are mostly due to chance.
    n_refits : int, default=0
        Number of further fits of each part, to all queries and with other seeds. They replace the
        fits to bags in the scores; the bags then only decide the weights, and no fit stops early.
    time : float, default=None
        Seconds for all fits. A fit begins only if it is expected to end in time; the first one
        always begins. With ``n_refits``, a fit to all queries comes first, then the fits to bags,
        and the other fits to all queries last, which gain less for their time. Without any fit to
        a bag, ``shares`` are the weights. Ctrl-C also ends the time, once each part has a fit.
        None makes all fits.
    random_state : int, RandomState instance or None, default=None
        Seed of the shares, and of the parts that have no seed of their own.

    Attributes
    ----------
    bags_ : list of list of feature part
        The fitted parts of each bag, or of each refit.
    head_weight_ : ndarray of shape (n_parts,)
        Weight of each part in the score.
    feature_importances_ : ndarray of shape (n_features,)
        Mean importance over parts, weighted by each part's share in the spread of the scores.
    spread_ : ndarray of shape (n_parts,)
        Standard deviation of the out-of-fold scores of each part over the documents.
    n_left_out_ : int
        Number of fits that were skipped for lack of time, or by a callback.
    evals_result_ : dict
        ``{"validation": {name of the metric: [value]}}`` of the ensemble, given ``validation``.
    n_features_in_, n_outputs_ : int
        Number of columns of X and of ``transform``, which has one per part.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.feature_parts.linear import LinearModel
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = TreeDirectRanker([LinearModel(), "lightgbm"], random_state=0).fit(X, y, qid)
    >>> ranker.transform(X).shape
    (200, 2)
    """

    _state: ClassVar[dict[str, StateRule]] = {
        "n_features_in_": size("n_features"),
        "bags_": _check_bags,
        "head_weight_": array("float64", "n_parts", at_least=0),
        "spread_": array("float64", "n_parts", at_least=0),
        "evals_result_": history,
        "n_left_out_": count(),
    }

    parts: Sequence[str | FeaturePart] = ("linear", "lightgbm")
    _: KW_ONLY
    n_bags: Literal["auto"] | Whole = 5
    losses: PairlessLosses | None = None
    shares: Sequence[float] | None = None
    n_refits: Whole = 0
    time: Positive | None = None
    random_state: Seed = None

    @all_or_nothing
    def fit(self, X: Any, objective: Objective, *, validation: Validation | None = None) -> Self:
        """Fit all parts and their weights; row ``i`` of ``X`` gets score ``i`` of ``objective``.

        The metric of ``validation`` is computed once, at the end, and decides nothing.
        """
        objective = as_objective(objective)
        self._check_parts(objective)
        for share in self._per_part("shares") or []:
            check_number("each of shares", share, above=0)
        self._check_bags()
        self._check_rounds()
        rows = as_rows(X, sparse=reads_sparse(self))
        self.n_features_in_ = rows.shape[1]
        self.bags_, scores = self._fits(rows, objective)
        by_query = objective.groups.order
        scored = by_query[~np.isnan(scores[by_query]).any(axis=1)]
        if len(scored):
            self._weigh(scores[scored], taken(objective, scored))
        else:
            self._weigh(_columns(self.bags_[0], rows.take(objective.groups.order)), None)
        progress = Progress(validation and validation[1], None)
        if validation is not None:
            columns = self.transform(validation[0])
            progress.measure((columns * self.head_weight_).sum(axis=1))
        self.evals_result_ = progress.history()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the mean scores of each part, of shape (n_documents, n_parts)."""
        if "bags_" not in vars(self):  # the check reads the tags of all parts, which takes long
            check_is_fitted(self)
        return np.mean([_columns(parts, X) for parts in self.bags_], axis=0)

    def scores_by_fit(self, X: Any) -> np.ndarray:
        """Return the weighted sum of the parts for each fit, of shape (n_fits, n_documents)."""
        check_is_fitted(self)
        return np.stack([_columns(parts, X) @ self.head_weight_ for parts in self.bags_])

    def components(self, weight: np.ndarray) -> Components:
        """Return the weighted sum of the parts, each the mean of its fits."""
        check_is_fitted(self)
        share = 1 / len(self.bags_)
        fits = [fit for parts in self.bags_ for fit in zip(parts, weight, strict=True)]
        return sum_of_components(
            [weighed_components(part).scaled(share).scaled(factor) for part, factor in fits]
        )

    def expected_components(self, documents: Rows) -> Components:
        """Return components of the kind that all parts have after a fit to such documents."""
        return self._expected_sum(documents)

    @property
    def n_outputs_(self) -> int:
        """Number of columns of :meth:`transform`, one per part."""
        check_is_fitted(self)
        return len(self.head_weight_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature over parts, weighted by the share of each part."""
        check_is_fitted(self)
        by_part = [
            np.mean([importances_of(part) for part in fits], axis=0)
            for fits in zip(*self.bags_, strict=True)
        ]
        return mean_importances(by_part, self.head_weight_ * self.spread_)

    def _fitted_once(self) -> list[Any]:
        return self.bags_[0]

    def _check_bags(self) -> None:
        """Refuse a single bag, which would hold out all queries, and no fit at all."""
        if self.n_bags == 1:
            raise ValueError(
                "n_bags must be 0 or at least 2; got 1. Write n_bags=0, n_refits=1 for one fit of "
                "each part to all queries."
            )
        if self.n_bags in (0, "auto") and not self.n_refits:
            raise ValueError(
                f"n_refits must be at least 1 where n_bags is {quote(self.n_bags)}, or nothing is "
                "fitted; got 0."
            )

    def _check_rounds(self) -> None:
        """Refuse a number of rounds for early stopping if no fit has left-out queries."""
        for index, part in enumerate(self.parts):
            rounds = getattr(part, "early_stopping_rounds", None)
            if self.n_refits and rounds not in (None, "auto"):
                raise ValueError(
                    f"early_stopping_rounds of parts[{index}] must be None or 'auto' where "
                    "n_refits is above 0, since fits to all queries watch none; got "
                    f"{quote(rounds)}. Set n_refits=0 to stop early."
                )

    def _fits(self, rows: Rows, objective: Objective) -> tuple[list[list[Any]], np.ndarray]:
        """Return ``(fits, scores)``.

        ``fits`` are lists with a fitted part for each of ``parts``: the refits to all queries, or
        else the fits to bags. ``scores`` are the out-of-fold scores, of shape (n_rows, n_parts),
        NaN if skipped.
        """
        objectives, rng = self._objectives(objective), check_random_state(self.random_state)
        n_bags = self._number_of_bags(objective)
        bags = deal_bags(objective.groups, n_bags, rng) if n_bags else []
        all_queries = Bag(objective.groups.order, np.empty(0, np.intp))
        listener, scores = current_listener(), np.full((len(rows), len(self.parts)), np.nan)
        jobs = [(bag, self._seeded_parts(rng)) for bag in [all_queries] * self.n_refits + bags]
        n_first = min(self.n_refits, 1)  # weights gain more for their time than further refits
        jobs = jobs[:n_first] + jobs[self.n_refits :] + jobs[n_first : self.n_refits]
        refits: list[list[Any]] = []
        bag_fits: list[list[Any]] = []
        clock, n_done = _Clock(self.time), 0
        for bag, parts in jobs:
            is_refit = bag is all_queries
            earlier = refits[0] if is_refit and refits else None
            with clock.keeping(n_done), listening(ignore_progress, ignore_text):
                _fit_parts(parts, rows, objectives, bag, earlier, stops=self.n_refits == 0)
                if not is_refit:
                    scores[bag.left_out] = _columns(parts, rows.take(bag.left_out))
                (refits if is_refit else bag_fits).append(parts)
            n_done = len(refits) + len(bag_fits)
            if listener(n_done, len(jobs), {}) or not clock.has_time():
                break
        self.n_left_out_ = len(jobs) - n_done
        if self.n_left_out_:
            say(f"{n_done} of {len(jobs)} fits in {clock.seconds():.1f} s; the others left out")
        return refits or bag_fits, scores

    def _number_of_bags(self, objective: Objective) -> int:
        if self.n_bags != "auto":
            return self.n_bags
        return _BAGS if objective.groups.n_queries >= _QUERIES_FOR_BAGS else 0

    def _objectives(self, objective: Objective) -> list[Objective]:
        """Return the objective of each part, with the loss of the part if it has one."""
        losses = self._per_part("losses") or [None] * len(self.parts)
        objectives = [
            objective if loss is None else objective.with_loss(get_loss(loss)) for loss in losses
        ]
        if None in objectives:
            warn_user(
                f"losses={quote(self.losses)} are not used: {objective.name} is an objective of "
                "your own, without a method with_loss(loss), so all parts are fitted to it."
            )
        # A loss of the user's own says itself what its convex form is.
        replaced = {
            quote(loss): chosen.convex_or_itself()
            for part, loss, chosen in zip(self.parts, losses, objectives, strict=True)
            if loss is not None and isinstance(get_loss(loss), ListwiseLoss)
            if traits_of(make_feature_part(part)).fits_convex
            if chosen is not None and chosen.convex() is not None
        }
        if replaced:
            names = " and ".join(sorted({repr(convex.name) for convex in replaced.values()}))
            of_ranker = objective.convex_or_itself()
            # Without bags, the parts without a loss of their own decide the scale of the scores.
            is_same = self._number_of_bags(objective) > 0 and all(
                _have_same_slopes(convex, of_ranker) for convex in replaced.values()
            )
            none = "fits these parts to the loss of the ranker, which may give another model"
            warn_user(
                "losses are not used for parts whose weights are fitted by convex optimization, "
                f"such as linear models; got {', '.join(replaced)}, which {names} replaces. "
                + ("Write None for these parts." if is_same else f"None {none}.")
            )
        return [objective if chosen is None else chosen for chosen in objectives]

    def _per_part(self, name: str) -> list[Any] | None:
        """Return the parameter ``name`` as a list with an entry for each part, or None.

        Refuses sequences of other lengths.
        """
        entries = getattr(self, name)
        if entries is None:
            return None
        check_sequence(name, entries)
        if len(entries) != len(self.parts):
            rule = f"have one entry for each of {len(self.parts)} parts"
            raise ValueError(f"{name} must {rule}; got {quote(entries)}.")
        return list(entries)

    def _weigh(self, scores: np.ndarray, objective: Objective | None) -> None:
        """Set ``spread_`` and ``head_weight_`` by out-of-fold scores.

        ``scores`` are of shape (n_documents, n_parts). The weights are fitted to the objective;
        without one, they are ``shares``, or equal.
        """
        self.spread_ = scores.std(axis=0)
        scale, shares = np.where(self.spread_ > 0, self.spread_, 1), self._per_part("shares")
        if objective is None:
            weight = np.array(shares or [1.0] * len(scale), dtype=np.float64)
            weight *= self._spread_for_loss(weight) / weight.sum()
        else:
            weight = fit_member_weights(scores / scale, objective, shares)
        # If no part gets a weight, as with two queries, all get the same.
        self.head_weight_ = (weight if weight.any() else np.ones_like(weight)) / scale

    def _spread_for_loss(self, weight: np.ndarray) -> float:
        """Return the mean spread of the parts that have the ranker's loss, or of all without one.

        The margins of such parts are those that the loss takes, for probabilities of pairs.
        """
        losses = self._per_part("losses") or [None] * len(weight)
        has_loss = np.array([loss is None for loss in losses])
        counted = has_loss if self.spread_[has_loss].any() else self.spread_ > 0
        if not counted.any():  # all scores are equal
            return 1.0
        return float(np.average(self.spread_[counted], weights=weight[counted]))


class _Clock:
    """Time limit of an ensemble in seconds; None is no limit.

    Tells whether another fit, as long as the longest one so far, would end in time.
    """

    def __init__(self, limit: float | None):
        self.limit, self.longest, self.start = inf if limit is None else limit, 0.0, monotonic()

    def seconds(self) -> float:
        """Return the seconds so far."""
        return monotonic() - self.start

    @contextmanager
    def keeping(self, n_fits: int) -> Iterator[None]:
        """Context that times a fit.

        With a time limit and ``n_fits`` earlier ones, Ctrl-C ends the time and raises no error.
        """
        before = self.seconds()
        try:
            yield
        except KeyboardInterrupt:
            if self.limit == inf or not n_fits:
                raise
            self.limit = -inf
        self.longest = max(self.longest, self.seconds() - before)

    def has_time(self) -> bool:
        """Return whether a fit as long as the longest one would end in time."""
        return self.seconds() + self.longest <= self.limit


def _have_same_slopes(first, second):
    """Return whether two objectives over the same documents have the same derivatives."""
    scores = np.linspace(0, 1, first.groups.n_documents)
    return np.array_equal(first.derivatives(scores), second.derivatives(scores))


def _columns(parts, X):
    """Return the scores of fitted parts, of shape (n_documents, n_parts)."""
    return np.stack([weighed(part, X).sum(axis=1) for part in parts], axis=1)


def _fit_parts(parts, rows, objectives, bag, earlier, *, stops):
    """Fit each of ``parts`` to its objective on the training rows of a bag, in place.

    ``earlier`` are the parts of an earlier fit to the same rows or None: parts without a seed are
    taken from it. ``stops`` tells whether parts watch the left-out rows for early stopping.
    """
    kept = rows.take(bag.kept)
    for index, objective in enumerate(objectives):
        if earlier and "random_state" not in params_of(parts[index]):
            parts[index] = earlier[index]  # another fit would be the same
            continue
        validation = bag.validation(rows, objective) if stops else None
        fit_part(parts[index], kept, taken(objective, bag.kept), validation)
        check_outputs(parts[index], n_outputs_of(parts[index], kept))


def fit_member_weights(
    scores: np.ndarray, objective: Objective, shares: Sequence[float] | None = None
) -> np.ndarray:
    r"""Fit nonnegative weights to an objective, by Newton's method.

    A step goes towards the minimum of the quadratic :math:`g'(w - v) + (w - v)'H(w - v)/2` in
    :math:`w \ge 0`, where g and H are gradient and hessian at the present weights v. So only
    derivatives are needed, as for trees, and pair weights may depend on the present ranks. Step t
    covers :math:`2/(t + 2)` of the way: late steps are averaged, which smooths ranks that jump or
    are drawn at random.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_parts)
        Out-of-fold scores of the parts.
    objective : Objective
        Objective of the weighted sum.
    shares : sequence of float, default=None
        Expected weights: weights that are not a multiple of them are penalized by the curvature of
        25 queries.

    Returns
    -------
    weight : ndarray of shape (n_parts,)
        The weights; zeros if no part lowers the objective.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0, 1, 0], qid=[0, 0, 1, 1])
    >>> scores = np.array([[1.0, 0.2], [0.0, 0.3], [0.2, 0.0], [0.0, 0.1]])
    >>> (fit_member_weights(scores, objective) > 0).tolist()
    [True, False]
    """
    weight = np.zeros(scores.shape[1])
    penalty, shape = 0.0, np.eye(len(weight))
    if shares is not None:
        unit = np.array(shares, dtype=np.float64) / np.linalg.norm(shares)
        pull = _QUERIES_OF_SHARES / objective.groups.n_queries / _ALPHA
        shape = shape + pull * (shape - np.outer(unit, unit))
    for step in range(_STEPS):
        # einsum, not `@`: a threaded BLAS sums in an order that depends on the number of threads.
        sums = np.einsum("ij,j->i", scores, weight)
        gradient, hessian = objective.derivatives(sums, iteration=step)
        slope = np.einsum("ij,i->j", scores, gradient)
        curvature = np.einsum("ij,i,ik->jk", scores, hessian, scores)
        penalty = penalty or _ALPHA * np.trace(curvature) / len(weight)
        if penalty == 0:  # nothing to weigh, or no pair to weigh it by
            break
        weight = weight + 2 / (step + 2) * (
            _least(slope, curvature, weight, penalty * shape) - weight
        )
    return weight


def _least(slope, curvature, weight, penalty):
    """Return the nonnegative weights that minimize a penalized quadratic.

    ``slope`` and ``curvature`` are gradient and hessian at ``weight``, and ``penalty`` is a matrix.
    """
    root = np.linalg.cholesky(curvature + penalty).T
    goal = np.linalg.solve(root.T, curvature @ weight - slope)
    return nnls(root, goal)[0]
