"""Explanations of pairs for the plots of the package shap."""

from typing import Any

import numpy as np

from treerank.inputs.documents import feature_names_of
from treerank.parameters import check_arguments
from treerank.rankers.scored import Scored


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
