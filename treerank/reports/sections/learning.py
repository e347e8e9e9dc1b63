"""Learning: the metric on held-out documents, tree by tree or epoch by epoch."""

import numpy as np

from treerank.reports.charts import line_chart
from treerank.reports.page import Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs

#: Largest number of points of a line.
_MOST_POINTS = 200


def learning(subject: Subject) -> Section | None:
    """Return the learning curve, which a ranker has after a fit with ``eval_set``."""
    histories = getattr(subject.ranker, "evals_result_", {}).get("validation", {})
    lines = {name: _spaced(values) for name, values in histories.items() if len(values) > 1}
    if not lines:
        return None
    best = getattr(subject.ranker, "best_iteration_", None)
    chart = line_chart(
        "Learning curve", lines, x="iteration", y="value on held-out documents", mark=best
    )
    note = "" if best is None else paragraphs(f"The best iteration is {best}.")
    return Section("learning", "Learning curve", joined([note, chart]))


def _spaced(values):
    """Return some iterations, from 1, and their values."""
    places = np.unique(np.linspace(0, len(values) - 1, _MOST_POINTS).round().astype(int))
    return (places + 1).tolist(), [float(values[place]) for place in places]
