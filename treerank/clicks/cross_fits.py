"""Cross-fits: one fit of trees that is several, each without some of the queries.

Trees of different outputs have nothing in common but the bins of the features. So an objective with
an output for each bag grows all fits side by side. Features are binned once, and all fits stop at
the same round, which all rows choose together: few rows choose it badly.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treerank.documents.rows import Rows
from treerank.feature_parts.bags import Bag
from treerank.feature_parts.base import FeaturePart, fit_part, params_of
from treerank.feature_parts.part_list import weighed
from treerank.feature_parts.registry import feature_part_class, make_feature_part
from treerank.objectives.base import Derivatives, Objective
from treerank.objectives.batches import taken


class CrossFits:
    """An objective with an output for each bag, which learns from nothing but the rows it keeps.

    ``best_scores`` has the score of each row by the output that leaves it out, in the best round
    so far.
    """

    def __init__(self, objective: Objective, bags: Sequence[Bag]) -> None:
        self.objective, self.bags, self.groups = objective, bags, objective.groups
        self.n_outputs = len(bags)
        self.best_scores = np.zeros(len(objective.groups.order))
        self._best = -np.inf
        self._kept = [taken(objective, bag.kept) for bag in bags]

    def derivatives(self, scores: np.ndarray, *, iteration: int = 0) -> Derivatives:
        """Return gradient and hessian, which are 0 for rows that an output leaves out."""
        gradient, hessian = np.zeros((2, len(scores), self.n_outputs))
        columns = scores.reshape(gradient.shape)
        for k, (bag, kept) in enumerate(zip(self.bags, self._kept, strict=True)):
            found = kept.derivatives(columns[bag.kept, k], iteration=iteration)
            gradient[bag.kept, k], hessian[bag.kept, k] = found
        return gradient.reshape(scores.shape), hessian.reshape(scores.shape)

    def negative_loss(self, scores: np.ndarray) -> float:
        """Return the negative loss of the rows by the outputs that leave them out."""
        left_out = np.empty(len(scores))
        for k, bag in enumerate(self.bags):
            left_out[bag.left_out] = scores.reshape(-1, self.n_outputs)[bag.left_out, k]
        value = -self.objective(left_out)[0]
        if value > self._best:
            self._best, self.best_scores = value, left_out
        return value


def new_part(feature_part: str | FeaturePart | None) -> Any:
    """Return an unfitted feature part, by default one that learns little from each document."""
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
        engine_params={"force_col_wise": True},  # else LightGBM reads columns not drawn, too
    )


def left_out_scores(
    feature_part: str | FeaturePart | None,
    rows: Rows,
    objective: Objective,
    bags: list[Bag],
    rng: np.random.RandomState,
) -> np.ndarray:
    """Return the score of each row by the fit of the bag that leaves it out."""
    if feature_part is None:
        fits = CrossFits(objective, bags)
        part = new_part(None).set_params(random_state=rng)
        part.fit(rows, fits, validation=(rows, fits.negative_loss))
        return fits.best_scores
    scores = np.empty(len(rows))
    for bag in bags:
        part = new_part(feature_part)
        seed = int(rng.randint(2**31 - 1))
        if params_of(part).get("random_state", 0) is None:
            part.set_params(random_state=seed)
        watched = bag.validation(rows, objective)
        fit_part(part, rows.take(bag.kept), taken(objective, bag.kept), watched)
        scores[bag.left_out] = weighed(part, rows.take(bag.left_out)).sum(axis=1)
    return scores
