"""Comparing: which of two documents is better, by how much, how surely and why."""

from typing import Any

import numpy as np

from treerank.checks import check_count
from treerank.documents.features import shown_names
from treerank.documents.reading import is_row, read_pairs
from treerank.parameters import Count, Whole, check_arguments
from treerank.rankers.calibration import pair_probability
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.scoring import Scoring, scores_of


class Comparing(Scoring):
    """Base class of rankers that compare two documents by their scores.

    Adds ``compare``, ``distance`` and ``predict_pair_proba`` for pairs of documents, and
    ``explain`` and ``explain_interactions``, which divide the difference of two scores among the
    features.
    """

    head_: AntisymmetricHead
    calibration_slope_: float

    def compare(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return r(a, b), row by row: positive if a is better; r(b, a) is its negative.

        It is ``tau`` of the difference of the two scores. ``X_a`` or ``X_b`` may be a single row.
        """
        scores_a, scores_b = (scores_of(self, X) for X in read_pairs(self, X_a, X_b))
        return self.head_.compare_scores(scores_a, scores_b)

    def distance(self, X_a: Any, X_b: Any) -> Any:
        """Return ``|r(a, b)|``, row by row, a pseudometric: 0 for documents with equal scores.

        For two documents that are one-dimensional arrays, it returns a number. So you can pass
        ``ranker.distance`` as ``metric=`` to scikit-learn's ``NearestNeighbors`` and ``DBSCAN``.
        """
        distance = np.abs(self.compare(X_a, X_b))
        return distance[0] if is_row(X_a) and is_row(X_b) else distance

    def predict_pair_proba(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return the probability, row by row, that a is more relevant than b."""
        scores_a, scores_b = (scores_of(self, X) for X in read_pairs(self, X_a, X_b))
        return pair_probability(scores_a - scores_b, self.calibration_slope_)

    @check_arguments
    def explain(
        self,
        X_a: Any,
        X_b: Any,
        *,
        n_orders: Count = 16,
        random_state: Whole = 0,
        with_errors: bool = False,
    ) -> Any:
        """Return how much each feature contributes to ranking a above b, row by row.

        The contributions in a row add up to the score of a minus the score of b. They are Shapley
        values: starting from b, one feature after the other takes its value in a, and a feature's
        contribution is the change of the score at its step, averaged over orders of the features.
        They are exact for sums of trees and linear models, see
        :func:`treerank.forests.shapley.margin_parts`; for other rankers, orders are sampled. The
        contributions for (b, a) are the negatives of the contributions for (a, b).

        Parameters
        ----------
        X_a, X_b : array-like, data frame or sparse matrix of shape (n_pairs, n_features)
            Documents; ``X_a`` or ``X_b`` may be a single row, also a pandas series.
        n_orders : int, default=16
            Number of orders drawn, each used in both directions. More orders make the contributions
            more precise.
        random_state : int, default=0
            Seed of the orders.
        with_errors : bool, default=False
            Whether to return the standard errors of the contributions, too. They are 0 for exact
            contributions; otherwise ``n_orders`` must be at least 2.

        Returns
        -------
        ExplainedMargins of shape (n_pairs, n_features)
            An array with the names of the features. ``print`` shows a sentence for each pair;
            ``by_name()`` returns dicts. With ``with_errors``, a tuple of this array and an array of
            the standard errors, of the same shape.
        """
        from treerank.rankers.explanation import ExplainedMargins, parts_of

        check_count("n_orders", n_orders, at_least=2 if with_errors else 1)
        X_a, X_b = read_pairs(self, X_a, X_b)
        parts, errors = parts_of(self, X_a, X_b, n_orders, random_state)
        named = ExplainedMargins.of(parts, shown_names(self))
        return (named, errors) if with_errors else named

    @check_arguments
    def explain_interactions(
        self, X_a: Any, X_b: Any, *, n_orders: Count = 16, random_state: Whole = 0
    ) -> np.ndarray:
        """Return how much pairs of features contribute to ranking a above b, row by row.

        Interactions are exact if :meth:`explain` is exact for the ranker; see there for the
        parameters.

        Returns
        -------
        ndarray of shape (n_pairs, n_features, n_features)
            Entry [i, j] off the diagonal is half of the Shapley interaction of features i and j, so
            each matrix is symmetric. The diagonal holds what a feature contributes alone. Each row
            sums to the feature's contribution in ``explain``.
        """
        from treerank.rankers.explanation import interactions_of_pairs

        return interactions_of_pairs(self, *read_pairs(self, X_a, X_b), n_orders, random_state)
