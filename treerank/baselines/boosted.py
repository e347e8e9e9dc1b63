"""Boosted rankers: histogram trees fitted to an objective.

To add one, derive a dataclass from :class:`BoostedRanker`, name the objective in class attributes,
and list it in :mod:`treerank.baselines`.
"""

from dataclasses import KW_ONLY, fields

from treerank.feature_parts.estimator import estimator
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.metrics.registry import AnyMetric
from treerank.objectives.pairs.weights import Weight
from treerank.parameters import Auto, Count, Jobs, NotNegative, Positive, Seed, Size
from treerank.rankers.direct_ranker import DirectRanker

#: Parameters of the trees that every direct ranker sets.
_SET_BY_RANKER = {"random_state", "warm_start"}


@estimator
class BoostedRanker(DirectRanker):
    """Histogram trees fitted to an objective: the parameters of all boosted rankers.

    The trees are :class:`~treerank.feature_parts.histogram.trees.HistogramTrees`, of which a
    ``TreeDirectRanker`` has all parameters.

    ``metric`` and ``random_state`` are explained at :class:`~treerank.rankers.ranker.Ranker`, with
    the other attributes.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. This and the other "auto" come from the numbers of documents, queries and
        features, see :func:`~treerank.feature_parts.trees.auto_sizes.auto_sizes`.
    num_leaves : int or "auto", default="auto"
        Most leaves of a tree.
    max_depth : int, default=-1
        Most splits on a path; -1 is no limit.
    learning_rate : float or "auto", default="auto"
        Factor on the outputs of each tree.
    min_child_samples : int or "auto", default="auto"
        Fewest documents in a leaf.
    colsample_bytree : float or "auto", default="auto"
        Share of features drawn for each tree.
    subsample_queries : float, default=1.0
        Probability of each query to take part in a tree.
    precision : {"float32", "int16", "int8"}, default="float32"
        Numbers that splits are searched with; whole numbers are faster.
    early_stopping_rounds : int, "auto" or None, default="auto"
        Stop after this many trees without a better ``metric`` on the ``eval_set``, and keep the
        trees up to the best one. "auto" is ``2.5 / learning_rate`` with an ``eval_set``, and
        smooths the values before it compares them. None keeps all trees.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the trees of the last fit, up to ``n_estimators``.
    n_jobs : int, default=None
        Number of threads; None is all cores, or in a worker of joblib its share of them.

    Attributes
    ----------
    feature_part_ : HistogramTrees
        The fitted trees.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per tree}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of trees kept.

    Examples
    --------
    >>> import numpy as np
    >>> class FidelityMART(BoostedRanker):
    ...     loss = "fidelity"
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(20), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> FidelityMART(20, learning_rate=0.1, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    n_estimators: Auto | Count = "auto"
    _: KW_ONLY
    num_leaves: Auto | int = "auto"
    max_depth: int = -1
    learning_rate: Auto | float = "auto"
    min_child_samples: Auto | int = "auto"
    colsample_bytree: Auto | float = "auto"
    subsample_queries: float = 1.0
    precision: str = "float32"
    early_stopping_rounds: Auto | Count | None = "auto"
    metric: AnyMetric = "ndcg@10"
    warm_start: bool = False
    n_jobs: Jobs = None
    random_state: Seed = None

    @property
    def feature_part(self) -> HistogramTrees:
        """The trees, unfitted."""
        ours, trees = ({field.name for field in fields(c)} for c in (self, HistogramTrees))
        shared = {name: getattr(self, name) for name in trees & ours - _SET_BY_RANKER}
        return HistogramTrees(**shared)


@estimator(kw_only=True)
class LambdaMART(BoostedRanker):
    """LambdaMART [1]_: histogram trees fitted to lambda gradients.

    Each tree is a Newton step on the logistic loss of all pairs of a query. A pair is weighted by
    how much swapping its documents would change the metric. Documents with equal scores are ranked
    in expectation, so the order of rows and queries does not matter.

    All other parameters, and the attributes, are as in
    :class:`~treerank.baselines.boosted.BoostedRanker`.

    Parameters
    ----------
    weight : {"ndcg", "map", "mrr", "err"}, default="ndcg"
        The metric whose change is the weight of a pair.
    k : int, default=None
        Cutoff rank of that metric; None counts whole lists.
    smoothing : float, default=1.0
        Scale of Gumbel noise on the scores that ranks come from, drawn anew for every tree. The
        paper has none, which is 0. Choose it by validation.
    sigma : float, default=1.0
        Scale of the scores in the logistic loss.

    References
    ----------
    .. [1] Wu, Burges, Svore and Gao (2010). Adapting boosting for information retrieval measures.
       Information Retrieval 13.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(20), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> LambdaMART(20, learning_rate=0.1, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    loss, pairs = "logistic", "all"

    weight: Weight = "ndcg"
    k: Size | None = None
    smoothing: NotNegative = 1.0
    sigma: Positive = 1.0


class MART(BoostedRanker):
    """MART [1]_: trees that minimize the squared error of the labels.

    This is the pointwise baseline: queries affect only the weights and early stopping.

    The parameters and attributes are as in
    :class:`~treerank.baselines.boosted.BoostedRanker`.

    References
    ----------
    .. [1] Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of
       Statistics 29.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(20), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> MART(20, learning_rate=0.1, random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    loss, weight = "half_squared_error", None
