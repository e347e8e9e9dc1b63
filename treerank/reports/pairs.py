"""Pairs and scores: calibration of pair probabilities, and scores of each label.

Learning: the metric on held-out documents, tree by tree or epoch by epoch.
"""

from typing import Any

import numpy as np

from treerank.inspection.pair_calibration import calibration_curve, drawn_pairs
from treerank.rankers.calibration import pair_probability
from treerank.reports.charts import histogram, line_chart
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, side_by_side

#: More labels than these are not drawn one by one.
_MOST_LABELS = 6
#: Mean difference of probabilities from which a hint says so.
_WRONG = 0.05


def pairs(subject: Subject) -> Section | None:
    """Return the calibration curve and the histograms of scores."""
    rng = np.random.default_rng(subject.random_state)
    i, j = drawn_pairs(subject.y, subject.groups, rng)
    if len(i) == 0:
        return None
    margin = subject.scores[i] - subject.scores[j]
    predicted = pair_probability(margin, subject.ranker.steepness_)
    query = subject.groups.codes
    curve = calibration_curve(predicted, subject.y[i] > subject.y[j], query[i])
    note = (
        f"Where the ranker gives a pair of documents the probability p that the first is more "
        f"relevant, it should be so in a share p of the pairs. The mean difference is "
        f"{curve.error:.3f}, over {len(i):,} pairs drawn from all queries. Upright lines are 95 % "
        f"intervals over queries."
    )
    axes = "probability that a beats b", "share of pairs where it does"
    chart = _calibration("Calibration of pair probabilities", {"ranker": curve}, *axes)
    charts = side_by_side(chart, _relevance(subject), _scores(subject))
    hints = [f"Pair probabilities are wrong by {curve.error:.2f} in the mean: calibrate them."]
    body = joined([paragraphs(note), charts])
    return Section("pairs", "Pairs and scores", body, hints=hints if curve.error > _WRONG else ())


def _relevance(subject):
    """Return the calibration curve of each label, if the ranker tells how likely it is."""
    scale = subject.ranker.relevance_scale_
    if scale is None:
        return Markup()
    curves = {}
    for label in scale.labels[:_MOST_LABELS]:
        likely = scale.probability(subject.scores, label)
        curves[f"label {label:g} or more"] = calibration_curve(
            likely, subject.y >= label, subject.groups.codes
        )
    axes = "probability of the label", "share of documents that have it"
    return _calibration("Calibration of relevance", curves, *axes)


def _calibration(title, curves, x, y):
    """Return curves by name beside the diagonal, where shares are as predicted."""
    lines = {name: (curve.predicted, curve.won, *curve.interval) for name, curve in curves.items()}
    unit: dict[str, Any] = {"x_range": (0, 1), "y_range": (0, 1)}
    return line_chart(title, lines, x=x, y=y, **unit, points=True, diagonal=True)


def _scores(subject):
    """Return the scores of each label, or of some ranges of labels."""
    labels, y = np.unique(subject.y), subject.y
    if len(labels) <= _MOST_LABELS:
        samples = {f"label {label:g}": subject.scores[y == label] for label in labels}
    else:
        edges = np.unique(np.quantile(y, np.linspace(0, 1, 4)))
        places = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
        samples = {
            f"label {edges[n]:g} to {edges[n + 1]:g}": subject.scores[places == n]
            for n in np.unique(places)
        }
    return histogram("Scores by label", samples, x="score")


#: Largest number of points of a line.
_MOST_POINTS = 200


def learning(subject: Subject) -> Section | None:
    """Return the learning curve, which a ranker has after a fit with ``eval_set``."""
    histories = getattr(subject.ranker, "evals_result_", {}).get("validation", {})
    lines = {name: _spaced(values) for name, values in histories.items() if len(values) > 1}
    if not lines:
        return None
    best = getattr(subject.ranker, "best_iteration_", None)
    axes: dict[str, Any] = {"x": "iteration", "y": "value on held-out documents"}
    chart = line_chart("Learning curve", lines, **axes, mark=best)
    note = "" if best is None else paragraphs(f"The best iteration is {best}.")
    return Section("learning", "Learning curve", joined([note, chart]))


def _spaced(values):
    """Return some iterations, from 1, and their values."""
    places = np.unique(np.linspace(0, len(values) - 1, _MOST_POINTS).round().astype(int))
    return places + 1, np.asarray(values)[places]
