"""PRank and its kin: perceptrons that learn the levels of relevance, one document at a time.

They compare no documents: queries do not matter to them, and scores are comparable across queries.
Epochs are repeated until the errors no longer fall, and the best epoch is kept.
"""

from typing import Annotated, Any, ClassVar, Self

import numpy as np

from treerank.baselines.linear.linear_ranker import LinearRanker
from treerank.baselines.linear.perceptrons import n_products, quadratic_scores, train_epoch
from treerank.baselines.linear.products import linear_scores
from treerank.baselines.linear.standard_features import FeatureScale
from treerank.baselines.training_checks import (
    refuse_weights,
    warn_of_constant_model,
    warn_of_equal_documents,
)
from treerank.checks import check_count
from treerank.feature_parts.estimator import estimator
from treerank.files.states import array, history
from treerank.metrics.registry import AnyMetric
from treerank.numerics.threads import in_parts, threads_for
from treerank.parameters import Count, Rule, Seed, Share
from treerank.progress import Progress
from treerank.rankers.ranker import Ranker

_ONE_BY_ONE = "documents are shown one by one, each as often as any other"
_NO_WEIGHTS = dict.fromkeys(("sample_weight", "query_weight", "given_pairs"), _ONE_BY_ONE)
#: Every document is compared with every threshold.
_MOST_LEVELS = 1000


def negative_errors(errors: np.ndarray) -> int:
    """Return the negated number of errors, which is higher for a better epoch."""
    return -int(errors.sum())


@estimator(kw_only=True)
class PRank(LinearRanker):
    """A linear ranker with a threshold between every two levels of relevance [1]_.

    ``fit`` accepts no weights.

    ``metric`` and ``random_state`` are explained at
    :class:`~treerank.rankers.ranker.Ranker`, ``coef_`` and ``mean_`` at
    :class:`~treerank.baselines.linear.linear_ranker.LinearRanker`.

    Parameters
    ----------
    n_epochs : int, default=100
        Largest number of passes over all documents.
    early_stopping_rounds : int, default=10
        Stop after this many epochs without a better one: by the metric on ``eval_set`` if there is
        one, otherwise by the errors made while learning. The best epoch is kept.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        The labels, ascending.
    thresholds_ : ndarray of shape (n_levels - 1,)
        Scores that separate the levels, ascending.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per epoch}}``, given an ``eval_set``.

    References
    ----------
    .. [1] Crammer and Singer (2002). Pranking with ranking. NIPS.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.digitize(X[:, 0] - X[:, 1], [-1.0, 1.0])
    >>> ranker = PRank(random_state=0).fit(X, y)
    >>> bool((ranker.predict_level(X) == y).mean() > 0.9)
    True
    """

    _learned: ClassVar = {
        "coef_": array("float64", "n_weights"),
        "mean_": array("float64", "n_features"),
        "thresholds_": array("float64", "n_thresholds"),
        "levels_": array("float64", "n_levels"),
        "evals_result_": history,
    }
    _quadratic: ClassVar[bool] = False

    n_perceptrons = 1
    share = 1.0

    n_epochs: Count = 100
    early_stopping_rounds: Count = 10
    metric: AnyMetric = "ndcg@10"
    random_state: Seed = None

    def predict_level(self, X: Any) -> np.ndarray:
        """Return the label of each document, by the thresholds that its score exceeds."""
        return self.levels_[np.searchsorted(self.thresholds_, self.predict(X), side="right")]

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and return the ranker; refuse anything else."""
        super().set_state(state)
        if len(self.levels_) != len(self.thresholds_) + 1:
            raise ValueError(f"thresholds_ must be between {len(self.levels_)} levels.")
        return self

    def _sizes(self, n_features):
        return {"n_features": n_features, "n_weights": n_products(n_features, self._quadratic)}

    def _weigh(self, data, scale, held_out, seed):
        refuse_weights(self, data, _NO_WEIGHTS)
        self.levels_, level = np.unique(data.y, return_inverse=True)
        if len(self.levels_) > _MOST_LEVELS:
            raise ValueError(
                f"y must have at most {_MOST_LEVELS} levels, which PRank separates by thresholds; "
                f"got {len(self.levels_)}."
            )
        metric = held_out.metric if held_out is not None else negative_errors
        progress = Progress(metric, self.early_stopping_rounds, total=self.n_epochs)
        n_weights = n_products(len(scale.mean), self._quadratic)
        best = np.zeros(n_weights), np.zeros(len(self.levels_) - 1)
        if len(self.levels_) == 1:
            warn_of_constant_model("All labels are equal")
        else:
            held_out = None if held_out is None else scale.by_row(held_out.X)
            best = self._train(scale.by_row(data.X, data.rows), level, held_out, progress, seed)
        self.evals_result_ = {} if held_out is None else progress.history()
        self.thresholds_ = best[1]
        return best[0]

    def _train(self, Z, level, held_out, progress, seed):
        """Return ``(weights, thresholds)`` of the best epoch, means over the perceptrons.

        ``Z`` are standard features, ``level`` is the number of each label, and ``progress``
        measures the held-out documents, or the errors without any.
        """
        rng = np.random.RandomState(seed)
        weights = np.zeros((self.n_perceptrons, n_products(Z.shape[1], self._quadratic)))
        thresholds = np.zeros((self.n_perceptrons, level.max()))
        errors = np.zeros(self.n_perceptrons, np.int64)
        for epoch in range(self.n_epochs):
            order = rng.permutation(len(Z))
            choice = self.share, seed, epoch, self._quadratic
            state = weights, thresholds, errors
            in_parts(train_epoch, len(weights), Z, level, order, *choice, *state)
            mean = weights.mean(axis=0), thresholds.mean(axis=0)
            measured = errors if held_out is None else self._score(held_out, mean[0])
            progress.measure(measured.astype(np.float64))
            is_last = progress.record(epoch + 1)
            if epoch == 0 or progress.best_iteration == epoch + 1:  # no epoch beats -inf
                best = mean
            if is_last:
                break
        return best

    def _score(self, Z, weight):
        if self._quadratic:
            return quadratic_scores(Z, weight)
        return linear_scores(Z, weight, np.zeros(len(weight)))


class QuadraticPRank(PRank):
    """PRank with quadratic features, one of the rankers that [1]_ compares with RankNet.

    ``fit`` accepts no weights.

    The parameters, and the other attributes, are as in
    :class:`~treerank.baselines.linear.prank.PRank`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features + n_features * (n_features + 1) / 2,)
        Weights of the standard features, then of their products (0, 0), (0, 1), ..., (1, 1), ...
    inverse_ : ndarray of shape (n_features,)
        One over the standard deviation of each feature; 0 for a constant one.

    References
    ----------
    .. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
       using gradient descent. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5])
    >>> ranker = QuadraticPRank(random_state=0).fit(X, y)
    >>> bool((ranker.predict_level(X) == y).mean() > 0.9)
    True
    """

    _learned: ClassVar = PRank._learned | {"inverse_": array("float64", "n_features")}
    _quadratic: ClassVar[bool] = True
    components = Ranker.components  # products of features are no linear model
    _expected_components = Ranker._expected_components

    def _learn(self, data, held_out, seed):
        with threads_for(len(data.y)):
            scale = FeatureScale.of(data.X, data.rows)
            self.coef_ = self._weigh(data, scale, held_out, seed)
        if not scale.inverse.any():
            warn_of_equal_documents(len(data.y))
        self.mean_, self.inverse_ = scale.mean, scale.inverse

    def _scores(self, X):
        with threads_for(len(X)):
            Z = FeatureScale(self.mean_, self.inverse_).by_row(X)
            return quadratic_scores(Z, self.coef_)


@estimator(kw_only=True)
class LargeMarginPRank(PRank):
    """The mean of many PRanks (OAP-BPM) [1]_; the defaults are from [2]_.

    ``fit`` accepts no weights.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.linear.prank.PRank`.

    Parameters
    ----------
    n_perceptrons : int, default=100
        Number of perceptrons.
    share : float, default=0.3
        Probability that a document is shown to a perceptron, drawn again in every epoch.

    References
    ----------
    .. [1] Harrington (2003). Online ranking/collaborative filtering using the perceptron
       algorithm. ICML.
    .. [2] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
       using gradient descent. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.digitize(X[:, 0] - X[:, 1], [-1.0, 1.0])
    >>> ranker = LargeMarginPRank(random_state=0).fit(X, y)
    >>> bool((ranker.predict_level(X) == y).mean() > 0.9)
    True
    """

    n_perceptrons: Annotated[int, Rule(check_count, at_most=2**16)] = 100
    share: Share = 0.3
