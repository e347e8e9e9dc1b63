"""Labels: one or several labels per document, as users pass them to ``fit`` and ``score``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from treerank.checks import check_choice, check_number
from treerank.inputs.columns import as_frame


def split_labels(y: Any) -> dict[str, np.ndarray] | None:
    """Return several labels by name, or ``None`` if ``y`` is a single one.

    Several labels are a mapping from names to columns, a data frame, or an array of two dimensions
    whose columns are named "0", "1" and so on.

    Examples
    --------
    >>> list(split_labels({"relevance": [1, 0], "margin": [0.5, 0.2]}))
    ['relevance', 'margin']
    >>> split_labels([1, 0]) is None
    True
    """
    if isinstance(y, Mapping):
        if not y:
            raise ValueError(f"y must hold at least one label; got {y!r}.")
        return {str(name): np.asarray(column) for name, column in y.items()}
    frame = as_frame(y)
    if frame is not None:
        several = len(frame.columns) > 1
        return {name: frame[name].to_numpy() for name in frame.columns} if several else None
    values = y if hasattr(y, "ndim") else np.asarray(y, dtype=object)
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    return {str(c): np.asarray(y)[:, c] for c in range(values.shape[1])}


def check_per_label(name: str, given: Any, labels: list[str], default: float) -> dict[str, float]:
    """Return a number per label from a mapping by name or a sequence with one for each.

    Labels that are not named get the default.

    Examples
    --------
    >>> check_per_label("label_weights", {"margin": 0.5}, ["relevance", "margin"], 1.0)
    {'relevance': 1.0, 'margin': 0.5}
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        if np.ndim(given) != 1 or len(given) != len(labels):
            raise ValueError(f"{name} must have a number per label, {labels}; got {given!r}.")
        given = dict(zip(labels, given, strict=True))
    for label, value in given.items():
        check_choice(f"each label of {name}", label, labels)
        check_number(f"{name}[{label!r}]", value, at_least=0)
    return {label: float(given.get(label, default)) for label in labels}
