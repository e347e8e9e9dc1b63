"""Conventions: settings of our metrics that reproduce the numbers of other people's scripts.

A convention lists, for each metric it knows, the settings that differ from our defaults. To add
one, list it in ``CONVENTIONS``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from treerank.checks import check_choice
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric, get_metric


@dataclass(frozen=True)
class Convention:
    """The settings of the metrics for one way to score.

    Attributes
    ----------
    summary : str
        Description for the note below a table.
    policies : dict from str to dict, or None
        By stem of the metric, the settings that differ from the defaults; ``None`` leaves every
        metric as it is.
    """

    summary: str
    policies: dict[str, dict[str, Any]] | None = None


_LETOR4: dict[str, Any] = {"ties": "stable", "no_relevant": 0.0}

CONVENTIONS: dict[str, Convention] = {
    "treerank": Convention(
        "NDCG with gains 2^y - 1 and discounts 1/log2(i + 1); tied scores averaged over their "
        "orders; queries with nothing to find left out"
    ),
    "letor4": Convention(
        "as LETOR's Eval-Score-4.0.pl: discounts 1, 1, 1/log2(3), ...; tied scores in the order "
        "of the rows; queries with nothing to find count 0, and so do queries of fewer than k "
        "documents in NDCG@k",
        {
            "ndcg": _LETOR4 | {"discount": "delayed_log2", "short_lists": "zero"},
            "map": _LETOR4,
            "p": _LETOR4,
        },
    ),
}


def with_convention(
    metric: str | Callable[..., float], convention: str = "treerank"
) -> Metric | FunctionMetric:
    """Return a metric with the settings of a convention.

    Parameters
    ----------
    metric : str, Metric or callable
        As for :func:`~treerank.metrics.registry.get_metric`.
    convention : {"treerank", "letor4"}, default="treerank"
        ``"treerank"`` leaves the metric as it is. ``"letor4"`` gives the numbers of the
        official script of LETOR 4.0, digit for digit; it knows NDCG, MAP and precision.

    Returns
    -------
    Metric or FunctionMetric

    Examples
    --------
    >>> y, scores = [0, 1, 2], [0.3, 0.2, 0.1]
    >>> with_convention("ndcg@2")(y, scores), with_convention("ndcg@2", "letor4")(y, scores)
    (0.17376534287144002, 0.25)
    """
    check_choice("convention", convention, CONVENTIONS)
    metric, policies = get_metric(metric), CONVENTIONS[convention].policies
    if policies is None:
        return metric
    if not isinstance(metric, Metric) or metric.stem not in policies:
        raise ValueError(
            f"metric must be one of {list(policies)} for convention={convention!r}; "
            f"got {metric.name!r}."
        )
    return replace(metric, **policies[metric.stem])
