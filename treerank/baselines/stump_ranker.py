"""Stump rankers: sums of stumps, each the best one for the potentials of the documents.

The potential of a document is how much it should move up: minus the gradient of a pair loss by its
score. The r of a stump is the sum of the potentials above its threshold, which is how fast the
loss falls at first. To add such a ranker, subclass :class:`StumpRanker` with its objective and its
length of step, and list it in :mod:`treerank.baselines`.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank.baselines.stumps import BinnedFeatures, best_stump
from treerank.baselines.training_checks import start_progress, warn_of_constant_model
from treerank.documents.reading import Accepts
from treerank.documents.rows import Rows
from treerank.feature_parts.components import Components
from treerank.feature_parts.estimator import estimator
from treerank.files.states import array, count, entries, history
from treerank.forests.building import GrowingForest, sample_trees
from treerank.forests.scoring import forest_scores
from treerank.metrics.registry import AnyMetric
from treerank.numerics.threads import threads_for, threads_of
from treerank.objectives.base import Objective
from treerank.parameters import Auto, Count
from treerank.rankers.ranker import Ranker
from treerank.rankers.training_objective import objective_of

#: What ``fit`` keeps of each stump; ``missing`` is its value where the feature is missing.
_COLUMNS = ("feature", "threshold", "missing", "weight")


@estimator(kw_only=True)
class StumpRanker(Ranker):
    """A sum of stumps that lowers a pair loss.

    A feature has at most 254 thresholds, at quantiles of its values.

    ``fit`` takes weights of documents, of queries and of your own pairs.

    ``metric`` is explained at :class:`~treerank.rankers.ranker.Ranker`, with
    the other attributes.

    Parameters
    ----------
    n_estimators : int, default=300
        Largest number of stumps.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Stop after this many stumps without a better ``metric`` on the ``eval_set``, and keep those
        up to the best. "auto" keeps the best of all, given an ``eval_set``. None keeps all.

    Attributes
    ----------
    stumps_ : dict
        Arrays of the features, the thresholds, the outputs for missing values and the weights of
        the stumps.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per stump}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of stumps kept.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the weights of the stumps.

    Examples
    --------
    >>> class SmallSteps(StumpRanker):
    ...     _objective = {"loss": "logistic"}
    ...
    ...     def _step(self, descent, is_above, r):
    ...         step = 0.1 if r > 0 else -0.1
    ...         descent.move_to(descent.scores + step * is_above)
    ...         return step
    >>> X, y, qid = [[1.0], [2.0], [3.0], [1.0], [3.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> SmallSteps(n_estimators=20).fit(X, y, qid).rank(X, qid)
    array([3, 2, 1, 2, 1])
    """

    _learned: ClassVar = {
        "stumps_": entries(
            {
                "feature": array("int64", "n_stumps", at_least=0, below="n_features"),
                "threshold": array("float64", "n_stumps", infinite=True),
                "missing": array("float64", "n_stumps", at_least=0, at_most=1),
                "weight": array("float64", "n_stumps"),
            }
        ),
        "evals_result_": history,
        "best_iteration_": count(),
    }
    _accepts = Accepts(categories=False)
    _objective: ClassVar[dict[str, str]]

    n_estimators: Count = 300
    metric: AnyMetric = "ndcg@10"
    early_stopping_rounds: Auto | Count | None = "auto"

    def components(self) -> Components:
        """Return the stumps as trees of one split."""
        check_is_fitted(self)
        return Components(self._trees)

    def _expected_components(self, documents: Rows) -> Components:
        """Return a stump, which ``fit`` to such documents gives."""
        return Components(sample_trees(documents.shape[1], {}))

    def set_state(self, state: dict[str, Any]) -> Self:
        """Restore what :meth:`get_state` returned, and return the ranker; refuse anything else."""
        super().set_state(state)
        self._trees = self._as_trees()
        return self

    def _as_trees(self):
        """Return the stumps as trees, which score."""
        growing = GrowingForest()
        columns = [self.stumps_[name].tolist() for name in _COLUMNS]
        for feature, threshold, missing, weight in zip(*columns, strict=True):
            left, right = growing.split(growing.add_tree(), feature, threshold, missing == 0)
            growing.values[left], growing.values[right] = 0.0, weight
        return growing.forest(self.n_features_in_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the weights of the stumps."""
        weight = np.abs(self.stumps_["weight"])
        share = np.bincount(self.stumps_["feature"], weight, minlength=self.n_features_in_)
        return share / max(share.sum(), np.finfo(np.float64).tiny)

    def _learn(self, data, held_out, seed):
        progress = start_progress(self.early_stopping_rounds, held_out, self.n_estimators)
        objective = objective_of(data, seed, **self._objective)
        with threads_for(len(data.y)):
            features = BinnedFeatures.of(data.X, data.rows)
            steps = self._grow(features, Descent(objective, len(data.y)), progress, held_out)
        if not steps:
            warn_of_constant_model("No stump lowers the loss")
        steps = steps[: progress.kept()]
        columns = np.array(steps, dtype=np.float64).reshape(-1, len(_COLUMNS)).T.copy()
        self.stumps_ = dict(zip(_COLUMNS, columns, strict=True))
        self.stumps_["feature"] = columns[0].astype(np.int64)
        self.evals_result_, self.best_iteration_ = progress.history(), len(steps)
        self._trees = self._as_trees()

    def _grow(self, features, descent, progress, held_out):
        """Return a list with ``(feature, threshold, missing, weight)`` of each stump.

        ``features`` are binned, ``descent`` moves the training scores along each stump, and
        ``progress`` measures ``held_out``, if given, and stops.
        """
        steps: list[tuple[int, float, int, float]] = []
        held_out_scores: np.ndarray | float = 0.0
        while len(steps) < self.n_estimators and np.any(descent.potentials):
            feature, cut, missing, r = best_stump(features.codes, descent.potentials)
            codes = features.codes[feature]
            is_above = (codes > cut) | ((codes == 0) & bool(missing))
            step = 0.0 if r == 0 else self._step(descent, is_above, r)
            if step == 0:
                break
            threshold = -np.inf if cut == 0 else features.thresholds[feature, cut - 1]
            steps.append((feature, threshold, missing, step))
            if held_out is not None:
                x = held_out.X[:, feature]
                stump = np.where(np.isnan(x), missing, x > threshold)
                held_out_scores = held_out_scores + step * stump
                progress.measure(held_out_scores)
            if progress.record(len(steps)):
                break
        return steps

    def _step(self, descent, is_above, r):
        """Move the scores along a stump and return the length of the step; 0 to stop."""
        raise NotImplementedError

    def _scores(self, X):
        return forest_scores(self._trees, X, n_threads=threads_of(None))[:, 0]


class Descent:
    """The current scores, with the value of the objective and the potentials there.

    Parameters
    ----------
    objective : Objective
        What is lowered.
    n_documents : int
        Number of scores; all are 0 at first.

    Attributes
    ----------
    scores : ndarray of shape (n_documents,)
        Current scores.
    value : float
        The objective there.
    potentials : ndarray of shape (n_documents,)
        Minus the gradient there.
    last_size : float
        Length of the last step that was searched for.
    """

    last_size = 0.5

    def __init__(self, objective: Objective, n_documents: int) -> None:
        self.objective = objective
        self.move_to(np.zeros(n_documents))

    def move_to(self, scores: np.ndarray) -> None:
        """Replace the current scores."""
        self.scores = scores
        self.value, gradient, _ = self.objective(scores)
        self.potentials = -gradient


#: The error of a stump counts as at least this much, so that its weight is finite.
_LEAST_ERROR = 1e-6


class RankBoost(StumpRanker):
    r"""A sum of stumps that minimizes the exponential loss of all pairs with different labels [1]_.

    The distribution over pairs is :math:`D_{ij} \propto v_{ij} e^{-(s_i - s_j)}`, v being their
    weights. A weak ranker h enters it through the potentials of single documents only, so no pair
    is visited. Its weight alpha is chosen in the third way of the paper:

    .. math:: r = \sum_{ij} D_{ij} (h_i - h_j), \qquad \alpha = \tfrac12 \ln \frac{1 + r}{1 - r}

    ``fit`` takes weights of documents, of queries and of your own pairs.

    The parameters and attributes are as in
    :class:`~treerank.baselines.stump_ranker.StumpRanker`.

    References
    ----------
    .. [1] Freund, Iyer, Schapire and Singer (2003). An efficient boosting algorithm for combining
       preferences. JMLR 4.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = RankBoost(n_estimators=50).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.95
    True
    """

    _objective: ClassVar = {"loss": "exponential"}

    def _step(self, descent, is_above, r):
        if descent.value < 1e-300:  # every pair is right by a margin of hundreds
            return 0.0
        share = max(min(r / descent.value, 1 - _LEAST_ERROR), _LEAST_ERROR - 1)
        step = 0.5 * math.log((1 + share) / (1 - share))
        descent.move_to(descent.scores + step * is_above)
        return step


_SHORTEST = 2.0**-20


class FRank(StumpRanker):
    r"""A sum of stumps that minimizes the fidelity loss, with equal weight for every query [1]_.

    .. math:: \sum_q \frac{1}{\#_q} \sum_{ij} \Bigl(1 - \sqrt{p_{ij}}\Bigr), \qquad
        p_{ij} = \frac{1}{1 + e^{-(s_i - s_j)}}

    over the pairs of each query of different labels, of which there are #. The loss of a pair is
    bounded, so that hopeless pairs do not dominate. It is not convex, so a step has no closed form:
    among 1, 1/2, 1/4, ... (up to twice the last step), the longest step is taken after which the
    loss still falls. ``fit`` takes weights of documents, of queries and of your own pairs.

    The parameters and attributes are as in
    :class:`~treerank.baselines.stump_ranker.StumpRanker`.

    References
    ----------
    .. [1] Tsai, Liu, Qin, Chen and Ma (2007). FRank: a ranking method with fidelity loss. SIGIR.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> ranker = FRank(n_estimators=50).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.95
    True
    """

    _objective: ClassVar = {"loss": "fidelity", "weight": "query"}

    def _step(self, descent, is_above, r):
        start, sign = descent.scores, 1.0 if r > 0 else -1.0
        size = min(1.0, 2 * descent.last_size)
        while size >= _SHORTEST:
            descent.move_to(start + sign * size * is_above)
            if sign * descent.potentials[is_above].sum() >= 0:
                descent.last_size = size
                return sign * size
            size /= 2
        return 0.0
