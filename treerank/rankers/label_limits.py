"""Label limits: how far the quality of a label may fall while others are raised.

The limit of a label is a share of the best quality: that of a feature part fitted to this label
alone. How training keeps limits is in :mod:`treerank.objectives.limited_sum`.
"""

from collections.abc import Callable
from typing import Any

from treerank.objectives.limited_sum import Factors, Limit, LimitedSum
from treerank.objectives.weighted_sum import WeightedSum, weighted_sum
from treerank.rankers.labels import check_per_label
from treerank.rankers.training_set import TrainingSet


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
