"""MART: boosted trees that predict the label of each document by itself."""

from treerank.baselines.boosted.boosted_ranker import BoostedRanker


class MART(BoostedRanker):
    """Learn to rank by regression: trees that lower the squared error of labels [1]_.

    This is the pointwise baseline: queries matter to the weights and to early stopping only.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. This and the other "auto" come from the numbers of documents, queries and
        features, see :func:`~treerank.feature_parts.engines.auto_sizes.auto_sizes`.
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
        Stop after so many trees without a better ``metric`` on the ``eval_set``, and keep those up
        to the best one. "auto" is ``2.5 / learning_rate`` with an ``eval_set``, and smooths the
        values before it compares them. None keeps all trees.
    metric : str or Metric, default="ndcg@10"
        Metric that ``score`` measures and early stopping watches.
    tree_options : dict, default=None
        Further parameters of :class:`~treerank.feature_parts.histogram.trees.HistogramTrees`.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the trees of the last fit, up to ``n_estimators``.
    n_jobs : int, default=None
        Number of threads; None is all cores, or in a worker of joblib its share of them.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers.

    Attributes
    ----------
    feature_part_ : HistogramTrees
        The fitted trees.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per tree}}``, given an ``eval_set``.
    best_iteration_ : int
        Number of trees kept.

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
