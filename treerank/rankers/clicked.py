"""Clicked documents: what a ranker learns from clicks at positions.

A :class:`~treerank.clicks.relevance.ClickRelevance` first estimates how relevant the documents
are, and the ranker learns from that.
"""

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from treerank.checks import shown
from treerank.files.states import optional
from treerank.inputs.positions import check_any_click
from treerank.lazy import load_object
from treerank.parameters import Rule
from treerank.rankers.training_set import TrainingSet, training_set


def _check_estimator(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, type) or not hasattr(value, "training_data")):
        raise ValueError(f"{name} must be None or a ClickRelevance; got {shown(value)}.")


@optional
def check_propensities(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Refuse what are no propensities of positions; that of one without documents is NaN."""
    is_column = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
    if not is_column or np.isinf(value).any() or (value < 0).any():
        raise ValueError(f"{name} must be numbers of at least 0, one for each position.")


#: What estimates relevance from clicks.
Clicks = Annotated[Any, Rule(_check_estimator)]


def check_position(ranker: Any, position: Any, labels: Any, given_pairs: Any) -> None:
    """Refuse arguments and settings that do not go together with positions, or without them."""
    if position is None:
        if ranker.clicks is not None:
            raise ValueError(
                f"clicks must be None where position is None; got {shown(ranker.clicks)}."
            )
        return
    if not ranker._learns_from_clicks:
        raise ValueError(
            f"position must be None for {type(ranker).__name__}, which does not learn from clicks."
        )
    if labels is not None:
        raise ValueError(f"y must be a single column where position is given; got {[*labels]}.")
    if given_pairs is not None:
        raise ValueError("given_pairs must be None where position is given.")


def to_learn_from(
    ranker: Any, data: TrainingSet, seed: int
) -> tuple[TrainingSet, np.ndarray | None]:
    """Return what a ranker learns from, and the propensities if they are known before it learns.

    Documents with labels are returned as they are. Clicks become documents and their relevance.
    """
    if data.position is None:
        return data, None
    check_any_click("y", data.y)
    given = ranker.clicks or load_object("treerank.clicks.relevance:ClickRelevance")()
    found: Any = clone(given)
    if found.random_state is None:
        found.set_params(random_state=seed)
    X, y, query = found.fit_training_set(data, ranker.columns_).training_data()
    weight = data.weight_of_queries
    by_row = None if weight is None else weight[query]
    return training_set(X, y, query, query_weight=by_row), found.propensities_
