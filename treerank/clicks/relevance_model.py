r"""The model of relevance from features: its loss, the shares of clicks, and its cross-fitting.

**Click shares.** If a document is exposed :math:`w_i` times and clicked with probability
proportional to :math:`e^{s_i}` each time, then its expected share of the clicks of its query is

.. math:: p_i = \frac{w_i e^{s_i}}{\sum_j w_j e^{s_j}}.

The loss is the negative log likelihood :math:`-\sum_i w_i y_i \log p_i` of click rates :math:`y`.
It does not depend on how often a query is clicked at all, and a document with more exposure has
more weight.

**Cross-fitting.** The relevance of a document is predicted by a model that was not trained on its
query. Trees of different outputs share nothing but the bins of the features. So an objective with
one output per fold grows the trees of all folds side by side: features are binned once, and all
folds stop at the same iteration, which is chosen by all rows, since few rows choose it badly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.checks import refuse_where
from treerank.documents.rows import Rows
from treerank.feature_parts.bags import Bag
from treerank.feature_parts.base import FeaturePart, fit_part, n_outputs_of, params_of
from treerank.feature_parts.part_list import check_outputs, weigh_its_outputs, weighed
from treerank.feature_parts.registry import feature_part_class, make_feature_part
from treerank.objectives.base import Derivatives, Objective
from treerank.objectives.batches import taken
from treerank.objectives.lists.kernels import cross_entropy
from treerank.objectives.lists.objective import (
    ListwiseLoss,
    ListwiseObjective,
    QueryLosses,
)


@dataclass(frozen=True)
class ClickShares(ListwiseLoss):
    """Negative log likelihood of the documents' shares of the clicks of their query.

    Labels are clicks over exposure, and ``sample_weight`` is the exposure: impressions, or sums
    of propensities. The hessian is the exact diagonal.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([0.5, 0.5], loss=ClickShares(), sample_weight=[6, 2])
    >>> value, gradient, hessian = objective(np.zeros(2))
    >>> bool(np.allclose(gradient, 0)), hessian  # the shares of clicks equal the shares of exposure
    (True, array([0.75, 0.75]))
    """

    def check_labels(self, y: np.ndarray) -> None:
        """Refuse negative labels, which are click rates."""
        refuse_where(y < 0, y, "y must be at least 0 as a rate")

    def prepared(self, lists: ListwiseObjective) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(log of exposure, clicks)``, one entry per row of ``lists``.

        Exposure is the sample weight of the row; clicks are the label times the weight of the list.
        """
        exposure = lists.judgments.sample_weight[lists.rows]
        return np.log(exposure), lists.weight * lists.y

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return the negative log likelihood of each query, and the derivatives by document."""
        log_exposure, clicks = lists.prepared
        return cross_entropy(scores + log_exposure, clicks, lists.groups.indptr)


class CrossFittedObjective:
    """An objective with one output per bag, each of which is trained on the bag's queries alone.

    Attributes
    ----------
    best_scores : ndarray of shape (n_rows,)
        Out-of-fold scores at the best iteration so far: the score of each row by the output that
        was not trained on it.
    """

    def __init__(self, objective: Objective, bags: Sequence[Bag]) -> None:
        self.objective, self.bags, self.groups = objective, bags, objective.groups
        self.n_outputs = len(bags)
        self.best_scores = np.zeros(len(objective.groups.order))
        self._best = -np.inf
        self._kept = [taken(objective, bag.kept) for bag in bags]

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian in the shape of ``scores``, which have a column per bag.

        Rows outside the bag of an output have 0.
        """
        gradient, hessian = np.zeros((2, len(scores), self.n_outputs))
        columns = scores.reshape(gradient.shape)
        for k, (bag, kept) in enumerate(zip(self.bags, self._kept, strict=True)):
            of_bag = kept.derivatives(columns[bag.kept, k], iteration=iteration)
            gradient[bag.kept, k], hessian[bag.kept, k] = of_bag
        return gradient.reshape(scores.shape), hessian.reshape(scores.shape)

    def negative_loss(self, scores: np.ndarray) -> float:
        """Return the negative loss of the out-of-fold scores, and keep the best of these."""
        out_of_fold = np.empty(len(scores))
        for k, bag in enumerate(self.bags):
            out_of_fold[bag.left_out] = scores.reshape(-1, self.n_outputs)[bag.left_out, k]
        value = -self.objective(out_of_fold)[0]
        if value > self._best:
            self._best, self.best_scores = value, out_of_fold
        return value


def new_part(feature_part: str | FeaturePart | None) -> Any:
    """Return an unfitted feature part, by default heavily regularized trees."""
    if feature_part is not None:
        return make_feature_part(feature_part)
    return feature_part_class("lightgbm")(
        n_estimators=1000,
        learning_rate=0.1,
        num_leaves=7,
        min_child_samples=20,
        colsample_bytree=0.3,
        max_bin=63,
        early_stopping_rounds=10,
        engine_params={"force_col_wise": True},  # else LightGBM reads all columns, also unsampled
    )


def out_of_fold_scores(
    feature_part: str | FeaturePart | None,
    rows: Rows,
    objective: Objective,
    bags: list[Bag],
    rng: np.random.RandomState,
) -> np.ndarray:
    """Return the score of each row by the fit that was not trained on its query.

    Parameters
    ----------
    feature_part : str, feature part or None
        Model to fit; None is regularized trees, of which all folds are fitted at once.
    rows : Rows
        Documents.
    objective : Objective
        Objective over all rows.
    bags : list of Bag
        Rows kept and left out by each fold.
    rng : RandomState
        Source of the seeds.
    """
    if feature_part is None:
        folds = CrossFittedObjective(objective, bags)
        part = new_part(None).set_params(random_state=rng)
        part.fit(rows, folds, validation=(rows, folds.negative_loss))
        return folds.best_scores
    scores = np.empty(len(rows))
    for bag in bags:
        part = new_part(feature_part)
        seed = int(rng.randint(2**31 - 1))
        if params_of(part).get("random_state", 0) is None:
            part.set_params(random_state=seed)
        weigh_its_outputs(part)
        validation = bag.validation(rows, objective)
        fit_part(part, rows.take(bag.kept), taken(objective, bag.kept), validation)
        check_outputs(part, n_outputs_of(part, rows))
        scores[bag.left_out] = weighed(part, rows.take(bag.left_out)).sum(axis=1)
    return scores
