"""Click training: what a ranker learns from clicks at positions, and what it keeps of them.

A :class:`~treerank.clicks.relevance.ClickRelevance` estimates the relevance of documents and the
position bias (examination propensity). The ranker is then fitted to the relevance.
"""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from treerank.checks import quote
from treerank.documents.canonical_order import row_hashes
from treerank.documents.positions import check_any_click
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.training_set import TrainingSet, training_set
from treerank.files.checkpoint import using
from treerank.files.states import optional
from treerank.parameters import Rule


def _check_clicks(name: str, value: Any) -> None:
    """Refuse a value that is neither None nor a ``ClickRelevance``."""
    if value is None:
        return
    from treerank.clicks.relevance import ClickRelevance

    if not isinstance(value, ClickRelevance):
        raise ValueError(f"{name} must be None or a ClickRelevance; got {quote(value)}.")


@optional
def check_saved_propensities(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Refuse a value that is neither None nor an array of propensities of at least 0, by position.

    NaN marks positions without documents. ``sizes`` is not used.
    """
    is_column = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
    if not is_column or np.isinf(value).any() or (value < 0).any():
        raise ValueError(f"{name} must be numbers of at least 0, one for each position.")


def restored_propensities(values: np.ndarray | None) -> Any:
    """Return saved propensities as ``Propensities``, the array with ``plot()``; None stays None."""
    if values is None:
        return None
    from treerank.clicks.propensities import Propensities

    return Propensities.of(values)


#: An estimator of relevance from clicks.
Clicks = Annotated[Any, Rule(_check_clicks)]


def relevance_of_clicks(
    data: TrainingSet, clicks: Any, seed: int
) -> tuple[TrainingSet, np.ndarray]:
    """Return documents labeled with the relevance estimated from clicks, and the propensities.

    There is one row per query and distinct document, however often it was shown.

    Parameters
    ----------
    data : TrainingSet
        Documents at positions, whose labels are clicks.
    clicks : ClickRelevance or None
        The estimator; ``None`` is ``ClickRelevance()``.
    seed : int
        Seed of an estimator that has none.

    Returns
    -------
    tuple
        ``(TrainingSet, propensities)``; the second has one entry per position.
    """
    from treerank.clicks.counts import shown_documents
    from treerank.clicks.relevance import ClickRelevance

    assert data.position is not None
    check_any_click("y", data.y)
    estimator: Any = clone(clicks or ClickRelevance())
    if estimator.random_state is None:
        estimator.set_params(random_state=seed)
    first, counts = shown_documents(
        row_hashes(data.X)[data.rows], data.groups, data.position, data.y, data.sample_weight
    )
    with using(None):  # the checkpoint is for the trees of the ranker
        estimator.fit_counts(counts, replace(data.documents.take(first), global_indices=None))
    X, y, query = estimator.training_data()
    weight = data.weight_of_queries
    weight_by_row = None if weight is None else weight[query]
    documents, groups = Rows(X, columns=data.documents.columns), QueryGroups.from_qid(query)
    return training_set(documents, y, groups, query_weight=weight_by_row), estimator.propensities_
