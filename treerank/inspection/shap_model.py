"""A ranker for the package shap: its trees, and explanations of pairs for shap's plots."""

from typing import Any

import numpy as np

from treerank.forests.forest import Forest
from treerank.forests.joining import tree_of_node
from treerank.inputs.documents import feature_names_of
from treerank.parameters import check_arguments
from treerank.rankers.scored import Scored


@check_arguments
def shap_model(ranker: Scored) -> dict[str, Any]:
    """Return the trees of a ranker in the form that ``shap.TreeExplainer`` takes.

    shap does not know our rankers. ``shap.TreeExplainer(shap_model(ranker), X[:100])`` explains
    their scores against reference documents; one such document gives the parts of
    ``ranker.explain``. A ranker does not know how many documents a node had, so
    ``feature_perturbation`` must not be "tree_path_dependent".

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker that is a sum of trees without categories.

    Returns
    -------
    dict

    Examples
    --------
    >>> from treerank import HistogramTrees, TreeDirectRanker
    >>> X = [[1.0], [2.0], [3.0]] * 20
    >>> ranker = TreeDirectRanker(HistogramTrees(n_estimators=2)).fit(X, [0, 1, 2] * 20)
    >>> len(shap_model(ranker)["trees"])
    2
    """
    forest = ranker.forest()
    if forest.categories is not None or forest.missing_up_to >= 0:
        raise ValueError("ranker must have no categories and no zeros that are missing, for shap.")
    tree_of = tree_of_node(forest)
    return {
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "base_offset": forest.constant,
        "trees": [
            _tree(forest, root, np.flatnonzero(tree_of == tree))
            for tree, root in enumerate(forest.roots)
        ],
    }


@check_arguments
def shap_explanation(ranker: Scored, X_a: Any, X_b: Any, **options: Any) -> Any:
    """Return the parts of ``ranker.explain(X_a, X_b)`` as a ``shap.Explanation``, for its plots.

    The scores of ``X_b`` are its base values, so that plots lead from them to those of ``X_a``.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    X_a, X_b : array-like of shape (n_pairs, n_features)
        Documents; one of the two may be a single row.
    **options
        Those of ``ranker.explain``.

    Returns
    -------
    shap.Explanation

    Examples
    --------
    >>> import shap  # doctest: +SKIP
    >>> shap.plots.waterfall(shap_explanation(ranker, X[:1], X[1:2])[0])  # doctest: +SKIP
    """
    from shap import Explanation

    parts = ranker.explain(X_a, X_b, **options)
    data = np.broadcast_to(np.asarray(X_a), parts.shape)
    base = np.broadcast_to(ranker.predict(X_b), len(parts))
    return Explanation(parts, base, data, feature_names=feature_names_of(ranker))


def _tree(forest: Forest, root: int, nodes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the nodes of one tree, of which shap takes the first for the root."""
    nodes = np.append(root, nodes[nodes != root])
    place = np.full(forest.n_nodes + 1, -1)  # the last one is that of -1, which is no child
    place[nodes] = np.arange(len(nodes))
    left, right = place[forest.left[nodes]], place[forest.right[nodes]]
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(forest.missing_left[nodes], left, right),
        "features": forest.feature[nodes],
        "thresholds": forest.threshold[nodes],
        "values": forest.values[nodes],
        "node_sample_weight": np.ones(len(nodes)),
    }
