"""Training: the learning curve, and how often users look at each position."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from treerank.checks import has_methods
from treerank.clicks.propensities import Propensities
from treerank.display.charts import Curve
from treerank.progress import LearningCurves
from treerank.reports.charts import line_chart
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, side_by_side

#: Most metrics whose learning curves are drawn.
_MOST_METRICS = 4
_CURVES = (
    "A learning curve is the metric on the validation data after each step of training. Early "
    "stopping smooths the curve, so the iteration that it keeps need not be the highest point."
)
_PROPENSITIES = (
    "Propensities are how often users look at each position, relative to the first one: the "
    "position bias that training on clicks corrects for."
)


def training(subject: Subject) -> Section | None:
    """Return the section on training: learning curves and propensities; None if there are none."""
    curves = _learning_curves(subject.ranker)
    propensities = _propensities(subject.ranker)
    if not curves and propensities is None:
        return None
    notes = [_CURVES] * bool(curves) + [_PROPENSITIES] * (propensities is not None)
    body = joined([paragraphs(" ".join(notes)), side_by_side(*curves, propensities)])
    return Section("training", "Training", body)


def _learning_curves(ranker: Any) -> list[Markup]:
    """Return learning curves: a chart for each metric, at most four, with a line per data set.

    A line needs more than one finite value in ``ranker.evals_result_``; without any the list is
    empty.
    """
    recorded = getattr(ranker, "evals_result_", None)
    if not isinstance(recorded, Mapping):
        return []
    recorded = LearningCurves(recorded)
    best = getattr(ranker, "best_iteration_", None)
    # The curves of a stream begin after the trees of earlier batches, which it counts as kept.
    best = None if has_methods(ranker, "partial_fit") else best
    mark = (float(best), f"kept: {best:,}") if isinstance(best, int | np.integer) else None
    charts = list[Markup]()
    for metric in dict.fromkeys(name for metrics in recorded.values() for name in metrics):
        chart = recorded.chart(metric=metric)
        curves = tuple(curve for curve in chart.curves if _n_finite(curve) > 1)
        if curves and len(charts) < _MOST_METRICS:
            last = max(len(curve.x) for curve in curves)
            at = mark if mark is not None and 0 < mark[0] <= last else None
            drawn = replace(chart, curves=curves)
            charts.append(line_chart(f"Learning curve: {metric}", drawn, mark=at))
    return charts


def _n_finite(curve: Curve) -> int:
    return int(np.isfinite(curve.y).sum())


def _propensities(ranker: Any) -> Markup | None:
    """Return a chart of the propensity of each position.

    None if the ranker was not trained on clicks, or where there are fewer than two positions.
    """
    propensities = ranker.propensities_
    if propensities is None or len(propensities) < 2:
        return None
    return line_chart("Propensities by position", Propensities.of(propensities).chart())
