"""Clicked documents: what a ranker learns from clicks at positions.

A :class:`~treerank.clicks.relevance.ClickRelevance` first estimates how relevant the documents
are, and the ranker learns from that. Its modules are imported only where there are clicks.
"""

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from treerank.checks import shown
from treerank.files.states import optional
from treerank.inputs.canonical import row_hashes
from treerank.inputs.columns import Columns
from treerank.inputs.documents import check_any_click
from treerank.parameters import Rule
from treerank.rankers.training_set import TrainingSet, training_set


def _check_estimator(name: str, value: Any) -> None:
    if value is None:
        return
    from treerank.clicks.relevance import ClickRelevance

    if not isinstance(value, ClickRelevance):
        raise ValueError(f"{name} must be None or a ClickRelevance; got {shown(value)}.")


@optional
def check_propensities(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Refuse what are no propensities of positions; that of one without documents is NaN."""
    is_column = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
    if not is_column or np.isinf(value).any() or (value < 0).any():
        raise ValueError(f"{name} must be numbers of at least 0, one for each position.")


#: What estimates relevance from clicks.
Clicks = Annotated[Any, Rule(_check_estimator)]


def relevance_of_clicks(
    data: TrainingSet, clicks: Any, columns: Columns, seed: int
) -> tuple[TrainingSet, np.ndarray]:
    """Return clicked documents with their relevance, and the propensities of positions.

    Parameters
    ----------
    data : TrainingSet
        Documents at positions, whose labels are clicks.
    clicks : ClickRelevance or None
        What estimates relevance; ``None`` is one with its defaults.
    columns : Columns
        The columns that are categories.
    seed : int
        Seed of the estimates, where ``clicks`` has none of its own.
    """
    from treerank.clicks.counts import shown_documents
    from treerank.clicks.relevance import ClickRelevance

    assert data.position is not None
    check_any_click("y", data.y)
    found: Any = clone(clicks or ClickRelevance())
    if found.random_state is None:
        found.set_params(random_state=seed)
    first, counts = shown_documents(
        row_hashes(data.X)[data.rows], data.groups, data.position, data.y, data.sample_weight
    )
    found.fit_counts(counts, data.X[data.rows[first]], columns)
    X, y, query = found.training_data()
    weight = data.weight_of_queries
    by_row = None if weight is None else weight[query]
    return training_set(X, y, query, query_weight=by_row), found.propensities_
