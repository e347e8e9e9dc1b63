"""IESVM-Rank: ES-Rank that starts from RankSVM."""

from treerank.baselines.linear.es_rank import ESRank
from treerank.baselines.linear.ranksvm import RankSVM


class IESVMRank(ESRank):
    """A linear ranker whose weights evolve from those of RankSVM with its default settings [1]_.

    ``fit`` takes weights of queries, and refuses weights of documents and pairs.

    Parameters
    ----------
    n_generations : int, default=1300
        Number of children, one per generation.
    metric : str or Metric, default="ndcg@10"
        Metric to optimize; ``score`` measures it and early stopping watches it.
    early_stopping_rounds : int or None, default=None
        Stop after so many generations without a better value on ``eval_set``, and go back to the
        best parent; ``None`` keeps the last.
    calibration : {"eval_set", None} or float, default="eval_set"
        Documents that pair probabilities are calibrated on; a float sets aside that share of the
        queries.
    random_state : int, RandomState instance or None, default=None
        Seed of all moves and of the queries set aside for calibration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weight of each feature, in the units of ``X``.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature over the training documents.
    evals_result_ : dict
        ``{"validation": {name of the metric: one value per better child}}``, given an
        ``eval_set``.

    References
    ----------
    .. [1] Ibrahim and Landa-Silva (2018). An evolutionary strategy with machine learning for
       learning to rank in information retrieval. Soft Computing 22.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> IESVMRank(random_state=0).fit(X, y, qid).score(X, y, qid) > 0.95
    True
    """

    def _start(self, data, scale, rng):
        return RankSVM()._weigh(data, scale, None, 0)
