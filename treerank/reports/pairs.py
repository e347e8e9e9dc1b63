"""Pairs: calibration of the probabilities of pairs, and of labels."""

from dataclasses import replace

import numpy as np

from treerank.display.charts import Curve, Curves
from treerank.inspection.pair_calibration import calibration_curve, drawn_pairs
from treerank.rankers.calibration import pair_probability, relevance_scale_of
from treerank.reports.charts import line_chart
from treerank.reports.dots import dot_table, quartile_dot
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, side_by_side

#: More labels than these are not drawn one by one.
_MOST_LABELS = 6
#: Mean difference of probabilities from which a hint says so.
_WRONG = 0.05


def pairs(subject: Subject) -> Section | None:
    """Return the section on pairs: how probabilities of preference, and scores, are calibrated.

    None if no query has documents with different labels.
    """
    rng = np.random.default_rng(subject.random_state)
    i, j = drawn_pairs(subject.y, subject.groups, rng)
    if len(i) == 0:
        return None
    margin = subject.scores[i] - subject.scores[j]
    predicted = pair_probability(margin, subject.ranker.calibration_slope_)
    query = subject.groups.codes
    curve = calibration_curve(predicted, subject.y[i] > subject.y[j], query[i])
    note = (
        "Among the pairs for which the ranker predicts a probability p that the first document is "
        "more relevant, a share p of the first documents should be more relevant. The mean "
        f"difference is {curve.error:.3f}, over {len(i):,} pairs sampled from all queries. "
        "Vertical lines are 95 % intervals over queries."
    )
    chart = line_chart("Calibration of pair probabilities", curve.chart())
    charts = side_by_side(chart, _relevance(subject), _scores(subject))
    hints = [f"Pair probabilities are off by {curve.error:.2f} on average: calibrate them."]
    body = joined([paragraphs(note), charts])
    return Section("pairs", "Probabilities", body, hints=hints if curve.error > _WRONG else ())


def _scores(subject: Subject) -> Markup:
    """Return a table with the distribution of scores for each label; empty with too many labels."""
    labels = np.unique(subject.y)
    if len(labels) > _MOST_LABELS:
        return Markup()
    rows = []
    for label in labels:
        scores = subject.scores[subject.y == label]
        dot = quartile_dot(scores)
        rows.append([f"{label:g}", f"{len(scores):,}", dot, f"{dot.estimate:.4g}"])
    title = "Score by label: median, quartiles, and 5 % to 95 %"
    return dot_table(title, ["label", "documents", "score", "median"], rows, zero=False)


def _relevance(subject):
    """Return a chart of how well predicted probabilities of each label are calibrated.

    It is empty if the ranker does not predict any.
    """
    scale = relevance_scale_of(subject.ranker)
    if scale is None:
        return Markup()
    curves = list[Curve]()
    for label in scale.labels[1:][:_MOST_LABELS]:
        likely = scale.probability(subject.scores, label)
        calibration = calibration_curve(likely, subject.y >= label, subject.groups.codes)
        (curve,) = calibration.chart().curves
        curves.append(replace(curve, name=f"label {label:g} or more"))
    x, y = "predicted probability of the label", "share of documents that have it"
    chart = Curves(tuple(curves), x=x, y=y, are_shares=True)
    return line_chart("Calibration of relevance", chart)
