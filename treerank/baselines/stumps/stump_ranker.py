"""Stump ranker: a sum of stumps, each the best for the potentials of the documents.

The potential of a document is how much it pulls upwards: minus the gradient of a pair loss by its
score. The r of a stump is the sum of the potentials above its threshold, which is what the loss
falls by at first. To add such a ranker, subclass :class:`StumpRanker` with its objective and its
length of step.
"""

from typing import ClassVar

import numpy as np

from treerank.baselines.fitting import warn_of_nothing_to_learn, watch
from treerank.baselines.stumps.stumps import MAX_THRESHOLDS, BinnedFeatures, Stumps, best_stump
from treerank.checks import check_count
from treerank.numerics.threads import threads_for
from treerank.rankers.ranker import Ranker


class StumpRanker(Ranker):
    """A sum of stumps that lowers a pair loss.

    All weights have a meaning: those of documents, of queries and of the user's own pairs.

    Parameters
    ----------
    n_rounds : int, default=300
        Largest number of stumps.
    n_thresholds : int, default=254
        Thresholds per feature, at its quantiles.
    metric : str or Metric, default="ndcg@10"
        What ``score`` measures, and what early stopping watches on ``eval_set``.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value and go back to the best.
    calibration : "eval_set", float or None, default="eval_set"
        See :class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`.
    random_state : int, RandomState instance or None, default=None
        Seeds the queries held out for calibration.

    Attributes
    ----------
    stumps_ : dict
        Arrays of the features, thresholds, what missing values are, and weights of the stumps.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per round}}``, given an ``eval_set``.
    """

    _learned: ClassVar = ("stumps_", "evals_result_")
    _objective: ClassVar[dict[str, str]]

    def __init__(
        self,
        *,
        n_rounds=300,
        n_thresholds=MAX_THRESHOLDS,
        metric="ndcg@10",
        early_stopping_rounds=None,
        calibration="eval_set",
        random_state=None,
    ):
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.calibration = calibration
        self.random_state = random_state

    @property
    def feature_importances_(self):
        """Share of each feature in the weights of the stumps."""
        weight = np.abs(self.stumps_["weight"])
        share = np.bincount(self.stumps_["feature"], weight, minlength=self.n_features_in_)
        return share / max(share.sum(), np.finfo(np.float64).tiny)

    def _learn(self, data, held_out, seed):
        progress = watch(self, held_out, self.n_rounds)
        objective = data.objective(seed, **self._objective)
        with threads_for(len(data.y)):
            features = BinnedFeatures.of(data.X, data.rows, self.n_thresholds)
            steps = self._grow(features, Descent(objective, len(data.y)), progress, held_out)
        if not steps:
            warn_of_nothing_to_learn("No stump lowers the loss")
        self.stumps_ = Stumps.of(steps[: progress.kept()])._asdict()
        self.evals_result_ = progress.history()

    def _grow(self, features, descent, progress, held_out):
        """Return ``(feature, threshold, missing, weight)`` of each stump."""
        steps: list[tuple[int, float, int, float]] = []
        held_out_scores = 0.0
        while len(steps) < self.n_rounds and np.any(descent.potentials):
            feature, cut, missing, r = best_stump(features.codes, descent.potentials)
            codes = features.codes[feature]
            is_above = (codes > cut) | ((codes == 0) & bool(missing))
            step = 0.0 if r == 0 else self._step(descent, is_above, r)
            if step == 0:
                break
            threshold = -np.inf if cut == 0 else features.thresholds[feature, cut - 1]
            steps.append((feature, threshold, missing, step))
            if held_out is not None:
                held_out_scores = held_out_scores + Stumps.of(steps[-1:]).scores(held_out.X)
                progress.measure(held_out_scores)
            if progress.record(len(steps)):
                break
        return steps

    def _step(self, descent, is_above, r):
        """Take a step along a stump and return its length; 0 to stop."""
        raise NotImplementedError

    def _scores(self, X):
        with threads_for(len(X)):
            return Stumps(**self.stumps_).scores(np.ascontiguousarray(X))

    def _check_settings(self):
        super()._check_settings()
        check_count("n_rounds", self.n_rounds)
        check_count("n_thresholds", self.n_thresholds)
        if self.n_thresholds > MAX_THRESHOLDS:
            raise ValueError(
                f"n_thresholds must be at most {MAX_THRESHOLDS}; got {self.n_thresholds!r}."
            )


class Descent:
    """Scores on their way down an objective.

    Attributes
    ----------
    objective : Objective
        What is lowered.
    scores : ndarray of shape (n_documents,)
        Where it stands.
    value : float
        The objective there.
    potentials : ndarray of shape (n_documents,)
        Minus the gradient there.
    last_size : float
        Length of the last step that was searched for.
    """

    last_size = 0.5

    def __init__(self, objective, n_documents):
        self.objective = objective
        self.move_to(np.zeros(n_documents))

    def move_to(self, scores):
        """Take new scores."""
        self.scores = scores
        self.value, gradient, _ = self.objective(scores)
        self.potentials = -gradient
