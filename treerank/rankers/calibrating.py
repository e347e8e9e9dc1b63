"""Calibrating: probabilities of pairs and of relevance, fitted to documents not trained on."""

from typing import Any, Self

import numpy as np

from treerank.documents.labels import check_labels
from treerank.documents.queries import ByRow, QueryGroups
from treerank.documents.training_queries import warn_of_seen_queries
from treerank.parameters import Finite, Share, check_arguments
from treerank.rankers.calibration import RelevanceScale, fit_calibration_slope
from treerank.rankers.scoring import Scoring, warn_of_one_query


class Calibrating(Scoring):
    """Probabilities of relevance, and score thresholds that reach a precision."""

    calibration_slope_: float
    _relevance_scale: RelevanceScale | None = None

    @check_arguments
    def calibrate(self, X: Any, y: Any = None, qid: ByRow = None) -> Self:
        """Fit the probabilities of pairs and of relevance to documents that were not trained on.

        ``y`` are labels; documents whose label is NaN are ignored. This sets
        ``calibration_slope_``, and the curves of :meth:`predict_relevance`: one for each label, or,
        for more than 32 different labels from 0 to 1, such as qualities of answers, one for each
        step of 0.05. For more than 32 labels in another range, such as sales, a warning says that
        there are no curves. Another warning says if the ranker was trained on these queries.
        """
        hashes: list[np.ndarray] | None = None if self.training_queries_ is None else []
        scores, y, qid = self._read_and_score(X, y, qid, hashes)
        warn_of_one_query(self, qid, len(scores))
        labels = y = check_labels(y, len(scores))
        judged = np.flatnonzero(~np.isnan(y))
        groups = QueryGroups.from_qid(qid, len(scores)).take(judged)
        scores, y = scores[judged], y[judged]
        if hashes and self.training_queries_ is not None:
            overlap = self.training_queries_.look_up(np.concatenate(hashes), labels, qid)
            warn_of_seen_queries(overlap, "probabilities are too close to 0 and 1", "Calibrate it")
        slope = fit_calibration_slope(scores, y, groups)
        self._relevance_scale = RelevanceScale.fitted(scores, y, groups)
        self.calibration_slope_ = slope
        return self

    @check_arguments
    def predict_relevance(self, X: Any, at_least: Finite = 1.0) -> np.ndarray:
        """Return the probability that the label of each document is at least ``at_least``.

        It increases with the score, and is comparable across queries. Call :meth:`calibrate` first,
        with queries that were not trained on.
        """
        return RelevanceScale.of(self).probability(self.predict(X), at_least)

    @check_arguments
    def threshold_for(self, precision: Share = 0.8, at_least: Finite = 1.0) -> float:
        """Return the lowest score above which a share ``precision`` of documents is relevant.

        A document is relevant if its label is at least ``at_least``; a value between two labels
        that have curves counts as the higher, so the share is not overstated. It is expected for
        documents like the ones that :meth:`calibrate` got.
        """
        return RelevanceScale.of(self).threshold(precision, at_least)
