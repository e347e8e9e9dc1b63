"""Labels: the relevance of documents, of one kind or of several, as users pass it.

Several labels of a document, such as relevance and margin, have names. NaN is a missing judgment.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from treerank.checks import (
    as_numbers,
    check_choice,
    check_column,
    check_number,
    naming,
    quote,
    refuse_complex,
    refuse_masked,
    refuse_rounded,
    warn_user,
)
from treerank.documents.columns import as_frame


def split_labels(y: Any) -> dict[str, np.ndarray] | None:
    """Return several labels by name, or ``None`` if ``y`` is a single one.

    Several labels are a mapping from names to columns, a data frame, or an array of two dimensions
    whose columns are named "0", "1" and so on.
    """
    if isinstance(y, Mapping):
        if not y:
            raise ValueError(f"y must hold at least one label; got {quote(y)}.")
        return {str(name): _label_column(name, column) for name, column in y.items()}
    frame = as_frame(y, "y")
    if frame is not None:
        several = len(frame.columns) > 1
        columns = {name: frame[name].to_native() for name in frame.columns}
        return {n: _label_column(n, c) for n, c in columns.items()} if several else None
    values = np.asarray(y, dtype=None if hasattr(y, "ndim") else object)
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    return {str(c): np.asarray(y)[:, c] for c in range(values.shape[1])}


def _label_column(name: Any, column: Any) -> np.ndarray:
    """Return a label as an array; refuse large integers that were rounded beside missing values."""
    values = np.asarray(column)
    if values.dtype.kind == "f":
        refuse_rounded(f"y[{quote(name)}]", column, values)
    return values


def refuse_several_labels(y: Any, where: str = "", advice: str = "", name: str = "y") -> None:
    """Refuse several labels where a single one is needed.

    ``where`` and ``advice`` are parts of the message, and ``name`` is the argument that it names.
    """
    labels = split_labels(y)
    if labels is not None:
        raise ValueError(f"{name} must be a single label{where}; got {quote([*labels])}. {advice}")


def check_labels(y: ArrayLike, n_documents: int | None = None, name: str = "y") -> np.ndarray:
    """Return one finite float64 label per document, or NaN for some that are not judged.

    A matrix or a data frame of one column is read with a warning.
    """
    if y is None:  # scikit-learn's estimator checks look for the words after the colon
        raise ValueError(
            f"{name} must be one label per row of X: fit requires {name} to be passed, but the "
            f"target {name} is None. Data that a reader returned unpack, as in fit(*data)."
        )
    refuse_masked(name, y)
    refuse_several_labels(y, advice="Pass one of them.", name=name)
    with naming(name):
        refuse_complex(np.asarray(y), name)
        if np.asarray(y).ndim == 0:  # as NumPy sees a dict, a generator and a sparse matrix
            raise ValueError(f"{name} must be an array or a list of labels; got {quote(y)}.")
        labels = column_or_1d(y, input_name=name, warn=True)
        labels = check_column(name, labels, n_documents, some_unjudged=True)
        frame = as_frame(y, name)
        original = y if frame is None else frame[frame.columns[0]].to_native()
        refuse_rounded(name, original, labels)
    return labels


def weights_of_labels(label_weights: Any, names: Iterable[str]) -> list[float]:
    """Return the weight of each label of ``names``; 1 if ``label_weights`` does not name it.

    ``label_weights`` is a mapping from names to weights, or None. Refuses unknown labels, negative
    weights, and weights that are all 0.

    Examples
    --------
    >>> weights_of_labels({"margin": 0.5}, ["relevance", "margin"])
    [1.0, 0.5]
    """
    labels, weight_of = list(names), {} if label_weights is None else label_weights
    if not isinstance(weight_of, Mapping):
        raise ValueError(
            f"label_weights must be {{label: number}} of {quote(labels)}; got "
            f"{quote(label_weights)}."
        )
    for label, value in weight_of.items():
        check_choice("each label of label_weights", label, labels)
        check_number(f"label_weights[{quote(label)}]", value, at_least=0)
    weights = [float(weight_of.get(label, 1.0)) for label in labels]
    if not any(weights):
        raise ValueError(f"label_weights must not all be 0; got {quote(label_weights)}.")
    return weights


def labels_with_weight(
    labels: dict[str, np.ndarray] | None, label_weights: Any, *, in_batches: bool = False
) -> tuple[dict[str, np.ndarray] | None, dict[str, float] | None]:
    """Return ``(labels, weights)``: labels whose weight is not 0, and weights of all labels.

    A fit depends on the former alone. Both are dicts by name; both are None if ``labels`` is, for a
    single label. A label that is NaN in all rows is refused; with ``in_batches``, where other rows
    may have it, it is left out with a warning, unless no other label is there.

    Examples
    --------
    >>> labels = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}
    >>> labels_with_weight(labels, {"a": 0})
    ({'b': array([0., 1.])}, {'a': 0.0, 'b': 1.0})
    """
    if labels is None:
        return None, None
    weights = dict(zip(labels, weights_of_labels(label_weights, labels), strict=True))
    weighted = {name: column for name, column in labels.items() if weights[name] > 0}
    unjudged = [name for name, column in labels.items() if np.isnan(column).all()]
    if unjudged and (not in_batches or weighted.keys() <= {*unjudged}):
        raise ValueError(
            f"y[{quote(unjudged[0])}] must hold a label in some row; got NaN, no judgment, in all "
            f"{len(labels[unjudged[0]])}. Leave it out of y and of label_weights; or learn in "
            "batches: StreamingRanker.partial_fit takes a label that some batches lack, beside "
            "another."
        )
    for name in unjudged:
        if name in weighted:
            warn_user(
                f"y[{quote(name)}] is not learned from in this batch: it is NaN, no judgment, in "
                f"all {len(labels[name])} rows."
            )
    return {name: y for name, y in weighted.items() if name not in unjudged}, weights


def check_labels_by_name(
    labels: Mapping[str, Any], n_documents: int, *, all_unjudged: bool = False
) -> dict[str, np.ndarray]:
    """Return several labels as arrays of numbers; NaN marks documents without this label.

    Refuses columns that do not have ``n_documents`` entries. With ``all_unjudged``, all entries of
    a column may be NaN.
    """
    return {
        name: check_column(
            f"y[{quote(name)}]",
            y,
            n_documents,
            some_unjudged=True,
            all_unjudged=all_unjudged,
            or_table=True,
        )
        for name, y in labels.items()
    }


def are_judged(y: Any) -> np.ndarray:
    """Return a mask of the documents that have a label, or any of several labels.

    Examples
    --------
    >>> are_judged({"sold": [1.0, np.nan], "margin": [np.nan, np.nan]})
    array([ True, False])
    """
    labels = split_labels(y)
    columns = [y] if labels is None else list(labels.values())
    is_missing = [np.isnan(as_numbers("y", column)).ravel() for column in columns]
    judged: np.ndarray = ~np.all(is_missing, axis=0)
    return judged
