"""Labels: one or several labels per document, as users pass them to ``fit`` and ``score``.

The limit of a label is how far its quality may fall while others are raised: a share of the best
quality, which is that of a feature part fitted to this label alone. How training keeps limits is
in :mod:`treerank.objectives.limited_sum`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from treerank.checks import check_choice, check_number
from treerank.inputs.columns import as_frame
from treerank.objectives.limited_sum import Factors, Limit, LimitedSum
from treerank.objectives.weighted_sum import WeightedSum, weighted_sum
from treerank.rankers.training_set import TrainingSet


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


def check_per_label(
    name: str, given: Any, labels: list[str], default: float | None
) -> dict[str, float]:
    """Return a number per label from a mapping by name or a sequence with one for each.

    Labels that are not named get the default, or are left out if it is ``None``.

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
    filled = {label: given.get(label, default) for label in labels}
    return {label: float(value) for label, value in filled.items() if value is not None}


def limited_sum(
    whole: WeightedSum, data: TrainingSet, limits: Any, metric: Any, best: Callable[..., float]
) -> LimitedSum:
    """Return the sum in which the limited labels have factors that training adapts.

    Parameters
    ----------
    whole : WeightedSum
        One term for each label of ``data``, in this order.
    data : TrainingSet
        Documents with several labels.
    limits : dict from str to float
        Share of the best quality that each limited label may lose.
    metric : Metric
        Quality of scores.
    best : callable
        ``best(name, objective, documents)`` is the best quality of a label.

    Returns
    -------
    LimitedSum
    """
    labels = list(data.labels or {})
    shares = check_shares(limits, labels)
    terms = dict(zip(labels, zip(whole.terms, whole.factors, strict=True), strict=True))
    raised = [terms[name] for name in labels if name not in shares]
    factors = Factors([terms[name][1] for name in shares])
    kept = []
    for name, share in shares.items():
        alone = data.labeled(name)
        floor = (1 - share) * best(name, terms[name][0], alone)
        kept.append(Limit(terms[name][0], alone.y, metric, floor))
    return LimitedSum(weighted_sum(*zip(*raised, strict=True)), tuple(kept), factors)


def check_shares(limits: Any, labels: list[str]) -> dict[str, float]:
    """Return the share of each limited label; refuse limits for all labels and shares from 1 on.

    Examples
    --------
    >>> check_shares({"margin": 0.1}, ["relevance", "margin"])
    {'margin': 0.1}
    """
    shares = check_per_label("label_limits", limits, labels, None)
    if len(shares) == len(labels) or max(shares.values(), default=0.0) >= 1:
        raise ValueError(
            "label_limits must leave a label to raise, and be shares below 1; "
            f"got {limits!r} for {labels}."
        )
    return shares
