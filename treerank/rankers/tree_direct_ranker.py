"""Tree direct ranker: the direct ranker as users meet it, with every setting.

To add a setting, assign it in ``__init__``, document it, give it a default in
:class:`~treerank.rankers.direct_ranker.DirectRanker` and use it where it acts: in the objective, the
feature part, the head or the calibration, never in two of them.
"""

from treerank.rankers.direct_ranker import DirectRanker


class TreeDirectRanker(DirectRanker):
    """Learn to rank by comparing two documents at a time, with boosted trees by default.

    A feature part f maps a document to numbers and the head compares two documents by
    r(a, b) = tau(<w, f(a) - f(b)>), which is antisymmetric, total and transitive whatever f is,
    so it sorts: by the scores <w, f(x)>. The trees are grown to lower an objective, which is a
    pair loss times a pair weight summed over pairs, or a listwise loss.

    Rows may come in any order and queries under any name: the model is the same, bit for bit.

    Parameters
    ----------
    feature_part : {"lightgbm", "xgboost"} or feature part, default="lightgbm"
        What maps documents to numbers; an instance sets its own parameters, such as
        ``LightGBMTrees(n_estimators=500)``, and is cloned.
    loss : str or object, default="logistic"
        A pair loss of :data:`treerank.objectives.losses.PAIR_LOSSES` or your own jitted one, or a listwise
        loss of :data:`treerank.objectives.listwise.LISTWISE`, which wants ``weight=None``.
    weight : str or PairWeight, default="ndcg"
        How much a pair matters; see :data:`treerank.objectives.weights.PAIR_WEIGHTS`.
    pairs : str or Pairs, default="all"
        Which pairs count; see :data:`treerank.objectives.pairs.PAIRS`.
    head : {"identity", "tanh", "softsign", "arctan"}, default="identity"
        The tau of ``compare`` and ``distance``; it changes no ranking.
    smoothing : float, default=1.0
        Scale of Gumbel noise on the scores that the weights' ranks come from, drawn anew for every
        tree. It costs a sort, and raised NDCG@10 on each of the five data sets it was tried on.
    sigma, margin, k, gain, threshold, query_normalization, per_level
        Settings of the objective; see :func:`treerank.objectives.make_objective`. With
        ``per_level`` the feature part has one output per threshold between neighboring labels;
        early stopping goes by their sum, and the head then weighs them.
    label_weights : dict from str to float, sequence of float or None, default=None
        Where ``y`` holds several labels: the weight of each in the objective, in ``score`` and in
        early stopping; 1 if it is not named.
    label_limits : dict from str to float or None, default=None
        Where ``y`` holds several labels: by which share the ``metric`` of a label may fall below
        what a ranker of this label alone reaches on the training documents. The others are raised
        as far as that allows; the factors of limited labels are adapted in every iteration. Each
        limit costs one more fit.
    metric : str or Metric, default="ndcg@10"
        What ``score`` measures, and what early stopping watches on ``eval_set``.
    head_penalty : {"l2", "l1"}, default="l2"
        Penalty on w where the feature part has several outputs; "l1" prunes them.
    head_alpha : float, default=None
        Strength of that penalty; ``None`` is 10 under "l2" and 0.1 under "l1". See
        :func:`treerank.rankers.head.fit_head` and :mod:`treerank.feature_parts.engines.tree_outputs`.
    calibration : "eval_set", float or None, default="eval_set"
        Where ``predict_pair_proba`` takes its steepness from: from ``eval_set`` if there is one,
        or from that share of the queries, which is then kept out of training, or, with
        ``None``, from the loss as it is.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the trees there are, up to the feature part's new number.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever the objective draws, the queries held out for calibration, and the feature
        part if it has no seed of its own.

    Attributes
    ----------
    feature_part_ : feature part
        The fitted feature part.
    head_ : AntisymmetricHead
        The head.
    steepness_ : float
        Of the pair probabilities.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per iteration}}``, given an ``eval_set``.
    best_iteration_ : int
        Iterations that are kept.
    columns_ : Columns
        Which columns are categories.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if ``X`` had names.

    References
    ----------
    Köppel et al. (2019), Pairwise learning to rank by neural networks revisited.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
    >>> round(ranker.score(X, y, qid), 2)
    1.0
    >>> ranker.compare([[1.0, 0.0, 0.0]], [[-1.0, 0.0, 0.0]]) > 0
    array([ True])
    """

    def __init__(
        self,
        feature_part="lightgbm",
        *,
        loss="logistic",
        weight="auto",
        pairs="all",
        tau="identity",
        sigma=1.0,
        target_margin="unit",
        k=None,
        gain="exponential",
        threshold=1.0,
        smoothing="auto",
        query_normalization=None,
        per_level=False,
        label_weights=None,
        label_limits=None,
        metric="ndcg@10",
        head_penalty="l2",
        head_alpha=None,
        calibration="eval_set",
        warm_start=False,
        random_state=None,
    ):
        self.feature_part = feature_part
        self.loss = loss
        self.weight = weight
        self.pairs = pairs
        self.tau = tau
        self.sigma = sigma
        self.target_margin = target_margin
        self.k = k
        self.gain = gain
        self.threshold = threshold
        self.smoothing = smoothing
        self.query_normalization = query_normalization
        self.per_level = per_level
        self.label_weights = label_weights
        self.label_limits = label_limits
        self.metric = metric
        self.head_penalty = head_penalty
        self.head_alpha = head_alpha
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
