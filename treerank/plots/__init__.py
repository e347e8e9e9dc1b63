"""Plots: each takes ``ax=None`` and returns its Axes. They need ``treerank[plots]``."""

from treerank.plots.curves import learning_curves, ndcg_over_k
from treerank.plots.propensities import propensity_curves
from treerank.plots.significance import critical_difference_diagram, p_value_matrix

__all__ = [
    "critical_difference_diagram",
    "learning_curves",
    "ndcg_over_k",
    "p_value_matrix",
    "propensity_curves",
]
