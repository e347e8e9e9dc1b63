"""Direct rankers: a feature part under an antisymmetric head.

A ranker checks what the user brings, puts the rows in an order that depends on their content
alone, has the feature part descend the objective and puts a head on top. To add a parameter,
assign it in ``__init__``, document it, and use it where it acts: in the objective, the feature
part, the head or the calibration, never in two of them.
"""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.calibration import fit_steepness, pair_probability, queries_with_pairs
from treerank.documents import check_documents, check_eval_set, check_features, check_labels
from treerank.feature_parts.registry import make_feature_part
from treerank.feature_parts.rows import Rows
from treerank.grouping import QueryGroups
from treerank.head import AntisymmetricHead, check_penalty, fit_head
from treerank.metrics.ndcg import ndcg_score
from treerank.metrics.registry import get_metric
from treerank.model_file import read_model, save
from treerank.objectives.factory import make_objective
from treerank.training_set import check_weight, training_set

#: Weights and pairs that do not depend on the scores: a convex loss stays convex under them.
_FIXED_WEIGHTS = ("uniform", "query", "label", "label_gap")
_FIXED_PAIRS = ("all", "adjacent", "with_ties")


@dataclass(frozen=True)
class OfSum:
    """A metric of the sum of several outputs."""

    metric: Any

    @property
    def name(self):
        """Name of the metric."""
        return self.metric.name

    def __call__(self, scores):
        """Return the value."""
        return self.metric(scores.reshape(len(scores), -1).sum(axis=1))


class TreeDirectRanker(TransformerMixin, BaseEstimator):
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
        A pair loss of :data:`treerank.losses.PAIR_LOSSES` or your own jitted one, or a listwise
        loss of :data:`treerank.objectives.listwise.LISTWISE`, which wants ``weight=None``.
    weight : str or PairWeight, default="ndcg"
        How much a pair matters; see :data:`treerank.weights.PAIR_WEIGHTS`.
    pairs : str or Pairs, default="all"
        Which pairs count; see :data:`treerank.pairs.PAIRS`.
    head : {"identity", "tanh", "softsign", "arctan"}, default="identity"
        The tau of ``compare`` and ``distance``; it changes no ranking.
    smoothing : float, default=1.0
        Scale of Gumbel noise on the scores that the weights' ranks come from, drawn anew for every
        tree. It costs a sort, and raised NDCG@10 on each of the five data sets it was tried on.
    sigma, margin, k, gain, threshold, query_normalization, per_level
        Settings of the objective; see :func:`treerank.objectives.make_objective`. With
        ``per_level`` the feature part has one output per threshold between neighbouring labels;
        early stopping goes by their sum, and the head then weighs them.
    metric : str or Metric, default="ndcg@10"
        What early stopping watches on ``eval_set``.
    head_penalty : {"l2", "l1"}, default="l2"
        Penalty on w where the feature part has several outputs; "l1" prunes them.
    head_alpha : float, default=1e-3
        Strength of that penalty; see :func:`treerank.head.fit_head`.
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
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
    >>> round(ranker.score(X, y, qid), 2)
    1.0
    >>> ranker.compare([[1.0, 0.0, 0.0]], [[-1.0, 0.0, 0.0]]) > 0
    array([ True])
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(
        self,
        feature_part="lightgbm",
        *,
        loss="logistic",
        weight="ndcg",
        pairs="all",
        head="identity",
        sigma=1.0,
        margin="unit",
        k=None,
        gain="exponential",
        threshold=1.0,
        smoothing=1.0,
        query_normalization=None,
        per_level=False,
        metric="ndcg@10",
        head_penalty="l2",
        head_alpha=1e-3,
        calibration="eval_set",
        warm_start=False,
        random_state=None,
    ):
        self.feature_part = feature_part
        self.loss = loss
        self.weight = weight
        self.pairs = pairs
        self.head = head
        self.sigma = sigma
        self.margin = margin
        self.k = k
        self.gain = gain
        self.threshold = threshold
        self.smoothing = smoothing
        self.query_normalization = query_normalization
        self.per_level = per_level
        self.metric = metric
        self.head_penalty = head_penalty
        self.head_alpha = head_alpha
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(
        self,
        X,
        y,
        qid=None,
        *,
        sample_weight=None,
        query_weight=None,
        pair_weight=None,
        eval_set=None,
    ):
        """Fit to documents ``X`` of relevance ``y``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_documents, n_features)
            Documents; missing values are NaN, columns of text or categories are coded.
        y : array-like of shape (n_documents,)
            Relevance: the higher, the better.
        qid : array-like of shape (n_documents,), default=None
            Query of each document, of any dtype and in any order; ``None`` is one query.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document; that of a pair is the product. Rows of weight 0 are dropped.
        query_weight : array-like of shape (n_documents,), default=None
            Weight of the query of each row, the same in all rows of a query.
        pair_weight : array-like of shape (n_pairs, 3) or (n_pairs, 4), default=None
            Your own pairs instead of those of ``pairs``: rows i and j, weight and, if given, the
            probability that i beats j (else 1).
        eval_set : tuple (X, y) or (X, y, qid), default=None
            Documents for early stopping and calibration.
        """
        self._check_settings()
        warm = self.warm_start and hasattr(self, "feature_part_")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        X, y = check_documents(self, X, y, reset=not warm)
        weights = {"sample_weight": sample_weight, "query_weight": query_weight}
        data = training_set(X, y, qid, **weights, pair_weight=pair_weight)
        data, validation, held_out = self._set_aside(data, eval_set, seed)
        objective = self._make_objective(data, seed)
        part = self._make_feature_part(warm, seed)
        self.feature_part_ = part.fit(self._rows(data), objective, validation=validation)
        self.head_ = self._make_head(data, objective, seed)
        self.evals_result_ = getattr(part, "evals_result_", {})
        self.best_iteration_ = getattr(part, "best_iteration_", None)
        self.steepness_ = float(self.sigma) if self.loss == "logistic" else 1.0
        if held_out is not None and self.head_.weight.any():
            features = self._transform(held_out[0])
            self.steepness_ = fit_steepness(self.head_.score(features), *held_out[1:])
        return self

    def predict(self, X):
        """Score documents: the higher, the nearer the top."""
        features = self.transform(X)
        return self.head_.score(features)

    def transform(self, X):
        """Return f(x), the outputs of the feature part, of shape (n_documents, n_outputs)."""
        check_is_fitted(self)
        return self._transform(check_features(self, X))

    def rank(self, X, qid=None):
        """Return the rank of each document within its query, 1 being the best.

        Of equal scores, the earlier row gets the better rank.
        """
        groups, best_first = self._best_first(X, qid)
        ranks = np.empty(len(best_first), dtype=np.int64)
        starts = np.repeat(groups.indptr[:-1], groups.sizes)
        ranks[best_first] = np.arange(len(best_first)) - starts + 1
        return ranks

    def top_k(self, X, qid=None, k=10):
        """Return the rows of the ``k`` best documents of each query, best first.

        One array for all queries, in ascending order of their ids, so that ``ids[top]``,
        ``qid[top]`` and ``X[top]`` are the result list. A query of fewer documents gives them all.
        """
        if not (isinstance(k, int | np.integer) and k >= 1):
            raise ValueError(f"k must be an integer of at least 1; got {k!r}.")
        groups, best_first = self._best_first(X, qid)
        within = np.arange(len(best_first)) - np.repeat(groups.indptr[:-1], groups.sizes)
        return best_first[within < k]

    def score(self, X, y, qid=None, *, sample_weight=None):
        """Return the mean NDCG@10 over the queries that have something to find.

        With ``sample_weight``, a query counts by the mean weight of its documents.
        """
        scores = self.predict(X)
        if sample_weight is None:
            return ndcg_score(y, scores, qid)
        values = ndcg_score(y, scores, qid, per_query=True)
        groups = QueryGroups.from_qid(qid, len(scores))
        weight = check_weight(sample_weight, "sample_weight", len(scores))
        weight = np.bincount(groups.codes, weight) / groups.sizes
        counted = ~np.isnan(values)
        return float(np.average(values[counted], weights=weight[counted]))

    def compare(self, X_a, X_b):
        """Return r(a, b), row by row: positive if a is better, and r(b, a) is its negative.

        One of the two may be a single row.
        """
        scores_a, scores_b = self._two_scores(X_a, X_b)
        return self.head_.compare_scores(scores_a, scores_b)

    def distance(self, X_a, X_b):
        """Return |r(a, b)|, a pseudometric: 0 for documents that the model ranks equal."""
        return np.abs(self.compare(X_a, X_b))

    def predict_pair_proba(self, X_a, X_b):
        """Return the probability, row by row, that a is more relevant than b."""
        scores_a, scores_b = self._two_scores(X_a, X_b)
        return pair_probability(scores_a - scores_b, self.steepness_)

    def calibrate(self, X, y, qid=None):
        """Fit the steepness of pair probabilities to documents the model has not been fitted to."""
        scores = self.predict(X)
        self.steepness_ = fit_steepness(scores, check_labels(y, len(scores)), qid)
        return self

    def save(self, path):
        """Write the fitted model to one file; :func:`treerank.load` reads it back."""
        check_is_fitted(self)
        save(self, path)

    @property
    def feature_importances_(self):
        """Importance of each feature, as the feature part measures it."""
        check_is_fitted(self)
        return self.feature_part_.feature_importances_

    def _check_settings(self):
        """Refuse what training would only come to in the end."""
        AntisymmetricHead(np.ones(1), self.head)
        check_penalty(self.head_penalty, self.head_alpha)
        get_metric(self.metric)
        share = self.calibration
        if share not in (None, "eval_set") and (isinstance(share, str) or not 0 < share < 1):
            raise ValueError(
                f"calibration must be 'eval_set', None or a share between 0 and 1; got {share!r}."
            )

    def _set_aside(self, data, eval_set, seed):
        """Return what to train on, what early stopping watches and what to calibrate on."""
        held_out, validation = None, None
        if eval_set is not None:
            held_out = check_eval_set(self, eval_set)
            metric = get_metric(self.metric).prepared(*held_out[1:])
            validation = held_out[0], OfSum(metric) if self.per_level else metric
        if self.calibration is None:
            held_out = None
        elif self.calibration != "eval_set":
            data, rest = data.split_by_query(self.calibration, np.random.RandomState(seed))
            held_out = rest.X[rest.rows], rest.y, QueryGroups.from_qid(rest.query)
        if held_out is not None and queries_with_pairs(*held_out[1:]) == 0:
            source = "eval_set" if self.calibration == "eval_set" else "calibration"
            raise ValueError(
                f"{source} must hold out a query with two different labels; got none among "
                f"{len(held_out[1])} documents."
            )
        return data, validation, held_out

    def _make_objective(self, data, seed, **changed):
        settings = {
            "loss": self.loss,
            "weight": self.weight,
            "pairs": None if self.pairs == "all" else self.pairs,
            "sigma": self.sigma,
            "margin": self.margin,
            "k": self.k,
            "gain": self.gain,
            "threshold": self.threshold,
            "smoothing": self.smoothing,
            "query_normalization": self.query_normalization,
            "per_level": self.per_level,
            "random_state": seed,
        }
        return make_objective(data.y, data.query, **(settings | changed), **data.weights())

    def _make_feature_part(self, warm, seed):
        part = make_feature_part(self.feature_part)
        if "random_state" in part.get_params() and part.random_state is None:
            part.set_params(random_state=seed)
        if warm:
            params = part.get_params(deep=False) | {"warm_start": True}
            part = self.feature_part_.set_params(**params)
        return part

    def _rows(self, data):
        names = getattr(self, "feature_names_in_", None)
        return Rows(
            data.X,
            order=data.rows,
            feature_names=None if names is None else tuple(names),
            categorical=tuple(self.columns_.categories) or None,
        )

    def _make_head(self, data, objective, seed):
        part = self.feature_part_
        shape = (len(data.y), objective.n_outputs) if objective.n_outputs > 1 else len(data.y)
        if not np.any(objective.derivatives(np.zeros(shape))[0]):
            warnings.warn(
                "No pair of documents counts, since no query has two that differ in y and in what "
                f"weight={self.weight!r} sees: the model is constant.",
                UserWarning,
                stacklevel=3,
            )
            return AntisymmetricHead(np.zeros(part.n_outputs_), self.head)
        if part.n_outputs_ == 1:
            return AntisymmetricHead(np.ones(1), self.head)
        convex = {
            "loss": "logistic",
            "weight": self.weight if self.weight in _FIXED_WEIGHTS else "query",
            "pairs": self.pairs if self.pairs in _FIXED_PAIRS else "all",
            "per_level": False,
        }
        objective = self._make_objective(data, seed, **convex)
        penalty = {"penalty": self.head_penalty, "alpha": self.head_alpha}
        weight = fit_head(self._transform(data.X[data.rows]), objective, **penalty)
        return AntisymmetricHead(weight, self.head)

    def _transform(self, X):
        features = self.feature_part_.transform(X)
        return features.reshape(-1, 1) if features.ndim == 1 else features

    def _two_scores(self, X_a, X_b):
        scores_a, scores_b = self.predict(X_a), self.predict(X_b)
        if len(scores_a) != len(scores_b) and 1 not in (len(scores_a), len(scores_b)):
            raise ValueError(
                "X_a and X_b must have equally many rows, or one of them a single row; got "
                f"{len(scores_a)} and {len(scores_b)}."
            )
        return scores_a, scores_b

    def _best_first(self, X, qid):
        scores = self.predict(X)
        groups = QueryGroups.from_qid(qid, len(scores))
        return groups, np.lexsort((-scores, groups.codes))  # stable: the earlier row wins a tie

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags


#: Estimators that model files may hold.
RANKERS = {"TreeDirectRanker": TreeDirectRanker}


def load(path, *, parts=None):
    """Read a ranker that ``save`` wrote; no code in the file is ever run.

    Parameters
    ----------
    path : str or path
        The file.
    parts : dict from str to class, default=None
        Your own feature parts by class name, if the model has one.

    Returns
    -------
    TreeDirectRanker
        With equal predictions, bit for bit. A loss or weight of your own is not in the file: the
        ranker predicts without it, but is not to be fitted again before it is set.

    Raises
    ------
    ValueError
        The file is truncated or damaged, no treerank model, or written by a newer version.
    """
    return read_model(path, RANKERS, parts)
