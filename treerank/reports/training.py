"""Training: the learning curve, and how often users look at each position."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from treerank.reports.charts import line_chart
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, side_by_side

#: Most metrics whose learning curves are drawn.
_MOST_METRICS = 4
_CURVES = (
    "A learning curve is the metric of the validation data after each step of training. Early "
    "stopping smooths it, so the iteration that is kept need not be its highest point."
)
_PROPENSITIES = (
    "Propensities are how often users look at a position, relative to the first: the position bias "
    "that training on clicks corrects for."
)


def training(subject: Subject) -> Section | None:
    """Return the learning curves and the propensities, of a ranker that has some."""
    curves = _learning_curves(subject.ranker)
    propensities = _propensities(subject.ranker)
    if not curves and propensities is None:
        return None
    notes = [_CURVES] * bool(curves) + [_PROPENSITIES] * (propensities is not None)
    body = joined([paragraphs(" ".join(notes)), side_by_side(*curves, propensities)])
    return Section("training", "Training", body)


def _learning_curves(ranker: Any) -> list[Markup]:
    """Return a chart for each metric that was recorded more than once, with a line per data set."""
    recorded = getattr(ranker, "evals_result_", None)
    if not isinstance(recorded, Mapping):
        return []
    by_metric: dict[str, dict[str, Any]] = {}
    for data, metrics in recorded.items():
        for metric, values in metrics.items():
            curve = np.asarray(values, dtype=np.float64)
            steps = np.flatnonzero(np.isfinite(curve)) + 1
            if len(steps) > 1:
                by_metric.setdefault(metric, {})[data] = steps, curve[steps - 1]
    best = getattr(ranker, "best_iteration_", None)
    mark = (float(best), f"kept: {best:,}") if isinstance(best, int | np.integer) else None
    charts = []
    for metric, lines in list(by_metric.items())[:_MOST_METRICS]:
        last = max(steps[-1] for steps, _ in lines.values())
        at = mark if mark is not None and 0 < mark[0] <= last else None
        title = f"Learning curve: {metric}"
        charts.append(line_chart(title, lines, x="iterations", y=metric, mark=at))
    return charts


def _propensities(ranker: Any) -> Markup | None:
    """Return a chart of the propensity of each position; ``None`` without clicks."""
    propensities = ranker.propensities_
    if propensities is None or len(propensities) < 2:
        return None
    curve = np.arange(1, len(propensities) + 1), propensities
    title, lines = "Propensities by position", {"propensity": curve}
    return line_chart(title, lines, x="position", y="propensity")
