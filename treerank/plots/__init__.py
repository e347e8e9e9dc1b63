"""Plots: each takes ``ax=None`` and returns its Axes. They need ``treerank[plots]``."""

from treerank.plots.curves import learning_curves, ndcg_over_k, size_path
from treerank.plots.propensities import propensity_curves
from treerank.plots.scores import neighbors, pair_calibration, score_histograms
from treerank.plots.significance import critical_difference_diagram, p_value_matrix, query_gains

__all__ = [
    "critical_difference_diagram",
    "learning_curves",
    "ndcg_over_k",
    "neighbors",
    "p_value_matrix",
    "pair_calibration",
    "propensity_curves",
    "query_gains",
    "score_histograms",
    "size_path",
]
