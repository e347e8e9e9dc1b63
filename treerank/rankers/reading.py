"""Reading: documents as users pass them, which are arrays, data frames or batches.

All rankers, and all functions that score documents for others, read them here. Where ``y``,
``qid`` or ``position`` is text, it is the name of a column of ``X``, which is no feature. ``y`` may
be several labels, and clicks where there are positions: then a
:class:`~treerank.clicks.relevance.ClickRelevance` estimates the relevance to learn from. What was
read is checked by :mod:`treerank.documents.features`. Files are read by :mod:`treerank.datasets`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.base import clone

from treerank.checks import check_choice, check_column, check_number, quote
from treerank.datasets.ranking_data import Batches
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns, as_frame
from treerank.documents.features import (
    check_any_click,
    check_batches,
    parts_of_eval_set,
)
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.files.checkpoint import using
from treerank.files.states import optional
from treerank.parameters import Rule
from treerank.rankers.training_set import TrainingSet, training_set


def weights_of_labels(given: Any, names: Iterable[str]) -> list[float]:
    """Return the weight of each label from a mapping by name, if any.

    Labels that are not named get 1.

    Examples
    --------
    >>> weights_of_labels({"margin": 0.5}, ["relevance", "margin"])
    [1.0, 0.5]
    """
    labels, by_name = list(names), {} if given is None else given
    if not isinstance(by_name, Mapping):
        raise ValueError(f"label_weights must be {{label: number}} of {labels}; got {given!r}.")
    for label, value in by_name.items():
        check_choice("each label of label_weights", label, labels)
        check_number(f"label_weights[{label!r}]", value, at_least=0)
    weights = [float(by_name.get(label, 1.0)) for label in labels]
    if not any(weights):
        raise ValueError(f"label_weights must not all be 0; got {given!r}.")
    return weights


def labels_that_count(
    labels: dict[str, np.ndarray] | None, given: Any
) -> tuple[dict[str, np.ndarray] | None, dict[str, float] | None]:
    """Return the labels whose weight is not 0, as a fit depends on no others, and all weights.

    A single label, which has no weight, is ``None``.

    Examples
    --------
    >>> labels = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}
    >>> labels_that_count(labels, {"a": 0})
    ({'b': array([0., 1.])}, {'a': 0.0, 'b': 1.0})
    """
    if labels is None:
        return None, None
    weights = dict(zip(labels, weights_of_labels(given, labels), strict=True))
    return {name: column for name, column in labels.items() if weights[name] > 0}, weights


def check_labels_by_name(labels: Mapping[str, Any], n_documents: int) -> dict[str, np.ndarray]:
    """Return several labels, each of which may have gaps, as columns of numbers."""
    return {
        name: check_column(f"y[{name!r}]", column, n_documents, some_unjudged=True)
        for name, column in labels.items()
    }


def take_columns(X: Any, **given: Any) -> tuple[Any, list[Any]]:
    """Return a data frame without the columns that arguments name, and the values of arguments.

    What is no text is returned as it is.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"price": [9.5, 7.0], "clicks": [1, 0], "user": ["a", "a"]})
    >>> X, (y, qid) = take_columns(frame, y="clicks", qid="user")
    >>> X.columns, y.to_list(), qid.to_list()
    (['price'], [1, 0], ['a', 'a'])
    """
    if isinstance(X, str | Path):
        raise TypeError(
            f"X must be documents in memory; got {quote(X)}. Read a file first, as in "
            "fit(*read_parquet(path))."
        )
    if isinstance(X, tuple) and X and np.ndim(X[0]) > 1:
        raise TypeError("X must be documents alone; got a tuple. Unpack it, as in fit(*data).")
    for name, values in given.items():
        _refuse_other_order(X, name, values)
    named = {name: value for name, value in given.items() if isinstance(value, str)}
    if not named:
        return X, list(given.values())
    frame: Any = as_frame(X)
    for name, column in named.items():
        if frame is None or column not in frame.columns:
            found = "an array" if frame is None else f"a data frame of {quote(frame.columns)}"
            raise ValueError(f"{name} must name a column of X; got {quote(column)} and {found}.")
    values = [frame[v].to_native() if isinstance(v, str) else v for v in given.values()]
    return frame.drop(list(named.values())).to_native(), values


def stacked_rows(parts: Sequence[Any]) -> Any:
    """Return the rows of arrays, of sparse matrices or of data frames, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if issparse(parts[0]):
        return vstack(parts, format="csr")
    frames: list[Any] = [as_frame(part) for part in parts]
    return np.concatenate(parts) if frames[0] is None else nw.concat(frames).to_native()


def _refuse_other_order(X: Any, name: str, values: Any) -> None:
    """Refuse a series of pandas whose index has the rows of X in another order."""
    index: Any = getattr(X, "index", None)
    other: Any = getattr(values, "index", None)
    if not hasattr(index, "is_unique") or not hasattr(other, "is_unique") or index.equals(other):
        return
    if index.is_unique and len(index) == len(other) and index.isin(other).all():
        raise ValueError(
            f"{name} must have the rows of X in their order; its index has them in another one. "
            f"Write {name}.loc[X.index], or {name}.to_numpy() if the rows are in order."
        )


def documents_of_batches(
    ranker: Any, batches: Batches, *, reset: bool = False, earlier: Iterable[Columns] = ()
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return features, labels and query ids of batches; ``reset`` forgets the columns."""
    if not ranker.reads_batches:
        raise TypeError(
            f"X must be in memory for {quote(ranker)}; only rankers with trees of this "
            'package, as TreeDirectRanker("histogram"), are fitted to Batches.'
        )
    return check_batches(ranker, batches, reset=reset, earlier=earlier)


def read_eval_set(ranker: Any, eval_set: Any, name: str = "eval_set") -> tuple[Any, Any, Any]:
    """Return X, y and qid of an ``eval_set``, which may be batches, or name columns."""
    if isinstance(eval_set, Batches):
        return documents_of_batches(ranker, eval_set)
    X, y, qid = parts_of_eval_set(eval_set, name)
    X, (y, qid) = take_columns(X, y=y, qid=qid)
    return X, y, qid


def refuse_arrays(*arrays: Any) -> None:
    """Refuse arrays next to batches."""
    if any(array is not None for array in arrays):
        raise ValueError(
            "y, qid, weights, pairs and positions must be None where X is Batches, which hold "
            "labels and query ids."
        )


def _check_clicks(name: str, value: Any) -> None:
    """Refuse what is no estimate of relevance; its module is imported only where there is one."""
    if value is None:
        return
    from treerank.clicks.relevance import ClickRelevance

    if not isinstance(value, ClickRelevance):
        raise ValueError(f"{name} must be None or a ClickRelevance; got {quote(value)}.")


@optional
def check_saved_propensities(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Refuse what are no propensities of positions; that of one without documents is NaN."""
    is_column = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
    if not is_column or np.isinf(value).any() or (value < 0).any():
        raise ValueError(f"{name} must be numbers of at least 0, one for each position.")


#: What estimates relevance from clicks.
Clicks = Annotated[Any, Rule(_check_clicks)]


def relevance_of_clicks(
    data: TrainingSet, clicks: Any, seed: int
) -> tuple[TrainingSet, np.ndarray]:
    """Return documents with their relevance, and the propensities of positions.

    ``data`` are documents at positions, whose labels are clicks. ``clicks`` is a ClickRelevance,
    one with its defaults if it is None, and ``seed`` is for one without a seed of its own.
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
    with using(None):  # the checkpoint is for the trees of the ranker
        found.fit_counts(counts, replace(data.documents.take(first), places=None))
    X, y, query = found.training_data()
    weight = data.weight_of_queries
    by_row = None if weight is None else weight[query]
    documents, groups = Rows(X, columns=data.documents.columns), QueryGroups.from_qid(query)
    return training_set(documents, y, groups, query_weight=by_row), found.propensities_
