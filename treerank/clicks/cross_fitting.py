"""Cross-fitting: the score of each row by a feature part that was fitted without it."""

from typing import Any

import numpy as np

from treerank.feature_parts.base import FeaturePart
from treerank.feature_parts.ensembles.bags import Bag
from treerank.feature_parts.ensembles.part_list import weighed
from treerank.feature_parts.registry import feature_part_class, make_feature_part
from treerank.feature_parts.rows import Rows
from treerank.objectives.base import Objective
from treerank.objectives.batches import taken


def new_part(feature_part: str | FeaturePart | None) -> Any:
    """Return an unfitted feature part, by default one that learns little from each document.

    Examples
    --------
    >>> new_part(None).num_leaves
    7
    """
    if feature_part is not None:
        return make_feature_part(feature_part)
    return feature_part_class("lightgbm")(
        n_estimators=1000,
        learning_rate=0.05,
        num_leaves=7,
        colsample_bytree=0.3,
        early_stopping_rounds=40,
    )


def left_out_scores(
    feature_part: str | FeaturePart | None,
    rows: Rows,
    objective: Objective,
    bags: list[Bag],
    rng: np.random.RandomState,
) -> np.ndarray:
    """Return the score of each row by the fit of the bag that leaves it out."""
    scores = np.empty(len(rows))
    for bag in bags:
        part = new_part(feature_part)
        seed = int(rng.randint(2**31 - 1))
        if "random_state" in part.get_params() and part.random_state is None:
            part.set_params(random_state=seed)
        watched = bag.loss_left_out(rows, objective)
        part.fit(rows.take(bag.kept), taken(objective, bag.kept), validation=watched)
        scores[bag.left_out] = weighed(part, rows.take(bag.left_out)).sum(axis=1)
    return scores
