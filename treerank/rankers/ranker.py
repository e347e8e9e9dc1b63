"""Ranker: what every ranker can do once it gives documents scores.

It checks what the user brings, puts the rows in an order that depends on their content alone,
and has the subclass learn from them. To add a ranker, subclass :class:`Ranker` with ``_learn``
and ``_scores``, name in ``_learned`` what model files are to keep, and list it in
:mod:`treerank.registry`. If it fits a feature part to an objective, subclass
:class:`~treerank.rankers.direct_ranker.DirectRanker` instead.
"""

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_count, check_weight
from treerank.inputs.columns import Columns
from treerank.inputs.documents import check_documents, check_eval_set, check_features, check_labels
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.registry import get_metric
from treerank.rankers.calibration import fit_steepness, pair_probability
from treerank.rankers.explanation import parts_of_margin
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.held_out import HeldOut
from treerank.rankers.labels import split_labels
from treerank.rankers.model_file import save
from treerank.rankers.training_set import TrainingSet, training_set


class Ranker(BaseEstimator):
    """A function from documents to scores, and all that follows from scores.

    A subclass brings ``_learn(data, held_out, seed)`` and ``_scores(X)``. ``data`` is a
    :class:`~treerank.rankers.training_set.TrainingSet`; ``validation`` is ``None`` or ``(X, metric)`` with
    ``metric(scores)``, higher better, for early stopping; ``X`` is a float matrix, NaN where a
    value is missing, and CSR if ``X`` is sparse, which ``dense_reader`` has to allow. A subclass
    may take the settings below as parameters, or leave them.

    Attributes
    ----------
    head_ : AntisymmetricHead
        Compares two documents.
    steepness_ : float
        Of the pair probabilities.
    columns_ : Columns
        Which columns are categories.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if ``X`` had names.
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    #: Names of the fitted attributes of a subclass: plain values, arrays, feature parts, rankers.
    _learned: ClassVar[tuple[str, ...]] = ()

    tau: Any = "identity"
    metric: Any = "ndcg@10"
    calibration: Any = "eval_set"
    random_state: Any = None

    def fit(
        self,
        X,
        y,
        qid=None,
        *,
        sample_weight=None,
        query_weight=None,
        given_pairs=None,
        eval_set=None,
    ):
        """Fit to documents ``X`` of relevance ``y``.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
            Documents; missing values are NaN, columns of text or categories are coded. Where
            the ranker reads sparse matrices, they are never made dense.
        y : array-like of shape (n_documents,), or several labels
            Relevance: the higher, the better. Rankers with ``label_weights`` take several labels:
            an array of shape (n_documents, n_labels), or a mapping from names to columns.
        qid : array-like of shape (n_documents,), default=None
            Query of each document, of any dtype and in any order; ``None`` is one query.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of each document; that of a pair is the product. Rows of weight 0 are dropped.
            A document of weight 2 adds to the losses what two copies of it would, but it stays one
            row: it takes one rank, not two, where pairs are weighed by ranks (``weight="ndcg"``
            and the like), is found once by the ideal ranking, and is one of the documents that a
            leaf must have. So weights equal repetition only where ranks and leaf sizes play no
            part.
        query_weight : array-like of shape (n_documents,), default=None
            Weight of the query of each row, the same in all rows of a query.
        given_pairs : array-like of shape (n_pairs, 3) or (n_pairs, 4), default=None
            Your own pairs instead of those of ``pairs``: rows i and j, weight and, if given, the
            probability that i beats j (else 1).
        eval_set : tuple (X, y) or (X, y, qid), default=None
            Documents for early stopping and calibration.
        """
        self._check_settings()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        labels = self._labels_of(y, given_pairs)
        y = y if labels is None else next(iter(labels.values()))
        X, y = check_documents(self, X, y, reset=not self._continues())
        weights = {"sample_weight": sample_weight, "query_weight": query_weight}
        data = training_set(X, y, qid, **weights, given_pairs=given_pairs, labels=labels)
        self._had_queries = data.groups.n_queries > 1
        data, held_out, calibrating = self._set_aside(data, eval_set, seed)
        self.head_ = AntisymmetricHead(np.ones(1), self.tau)
        self.steepness_ = 1.0
        self._learn(data, held_out, seed)
        if calibrating is not None:
            scores = self._scores(calibrating.X)
            if np.ptp(scores) > 0:
                self.steepness_ = fit_steepness(scores, calibrating.y, calibrating.groups)
        return self

    def predict(self, X):
        """Score documents: the higher, the nearer the top."""
        check_is_fitted(self)
        return self._scores(check_features(self, X))

    def rank(self, X, qid=None):
        """Return the rank of each document within its query, 1 being the best.

        Of equal scores, the earlier row gets the better rank.
        """
        groups, best_first = self._lists(X, qid)
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
        groups, best_first = self._lists(X, qid)
        within = np.arange(len(best_first)) - np.repeat(groups.indptr[:-1], groups.sizes)
        return best_first[within < k]

    def score(self, X, y, qid=None, *, sample_weight=None):
        """Return the mean of ``metric``, usually NDCG@10, over queries with something to find.

        With ``sample_weight``, a query counts by the mean weight of its documents.
        """
        scores = self.predict(X)
        self._warn_of_one_query(qid, len(scores))
        return self._measured(scores, y, qid, sample_weight)

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

    def explain(self, X_a, X_b, *, n_orders=16, random_state=0):
        """Return how much each feature does to put a above b, row by row.

        The parts of a row add up to the score of a less that of b. Each is the Shapley value of
        the feature: the mean, over orders in which b takes over the features of a one by one, of
        what its step changes. It is exact for linear rankers and negative for (b, a).

        Parameters
        ----------
        X_a, X_b : array-like, data frame or sparse matrix of shape (n_pairs, n_features)
            Documents; one of the two may be a single row.
        n_orders : int, default=16
            Orders drawn, each walked in both directions. More make the parts more precise.
        random_state : int, default=0
            Seed of the orders.

        Returns
        -------
        ndarray of shape (n_pairs, n_features)
        """
        check_is_fitted(self)
        check_count("n_orders", n_orders)
        X_a, X_b = check_features(self, X_a), check_features(self, X_b)
        n_pairs = _n_pairs(X_a.shape[0], X_b.shape[0])
        parts = np.empty((n_pairs, self.n_features_in_))
        for n in range(n_pairs):
            a, b = _row(X_a, n), _row(X_b, n)
            parts[n] = parts_of_margin(self._scores, a, b, n_orders, random_state)
        return parts

    def calibrate(self, X, y, qid=None):
        """Fit the steepness of pair probabilities to documents the model has not been fitted to."""
        scores = self.predict(X)
        self.steepness_ = fit_steepness(scores, check_labels(y, len(scores)), qid)
        return self

    def save(self, path):
        """Write the fitted model to one file; :func:`treerank.load` reads it back."""
        check_is_fitted(self)
        save(self, path)

    def get_state(self):
        """Return what the ranker has learned, as plain values, arrays and feature parts."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return {
            "head": {"weight": self.head_.weight, "tau": self.head_.tau},
            "steepness": self.steepness_,
            "categories": self.columns_.categories,
            "feature_names": None if names is None else list(names),
            "n_features": self.n_features_in_,
            "had_queries": self._had_queries,
            "learned": {name: getattr(self, name) for name in self._learned},
        }

    def set_state(self, state):
        """Restore what :meth:`get_state` returned."""
        self.head_ = AntisymmetricHead(**state["head"])
        self.steepness_ = state["steepness"]
        self.columns_ = Columns(state["categories"])
        if state["feature_names"] is not None:
            self.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        self.n_features_in_ = state["n_features"]
        self._had_queries = state["had_queries"]
        for name in self._learned:
            setattr(self, name, state["learned"][name])
        return self

    def _learn(self, data: TrainingSet, held_out: HeldOut | None, seed: int) -> None:
        """Learn from the documents ``data.X[data.rows]``, of labels ``data.y``."""
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        """Return the score of each row of a matrix already checked."""
        raise NotImplementedError

    @property
    def _reads_sparse(self) -> bool:
        """Whether ``fit`` and ``predict`` read sparse matrices without making them dense."""
        return False

    def _continues(self):
        """Tell whether ``fit`` goes on from an earlier one, with the same columns."""
        return False

    def _check_settings(self):
        """Refuse what training would only come to in the end."""
        AntisymmetricHead(np.ones(1), self.tau)
        get_metric(self.metric)
        share = self.calibration
        if share not in (None, "eval_set") and (isinstance(share, str) or not 0 < share < 1):
            raise ValueError(
                f"calibration must be 'eval_set', None or a share between 0 and 1; got {share!r}."
            )

    def _set_aside(
        self, data: TrainingSet, eval_set: Any, seed: int
    ) -> tuple[TrainingSet, HeldOut | None, HeldOut | None]:
        """Return what to train on, what early stopping watches and what to calibrate on."""
        held_out = calibrating = None
        if eval_set is not None:
            held_out = self._held_out(data, eval_set)
        if self.calibration == "eval_set":
            calibrating = held_out
        elif self.calibration is not None:
            data, rest = data.split_by_query(self.calibration, np.random.RandomState(seed))
            calibrating = HeldOut(rest.features, rest.y, rest.groups)
        if calibrating is not None and not calibrating.has_pairs:
            source = "eval_set" if self.calibration == "eval_set" else "calibration"
            raise ValueError(
                f"{source} must hold out a query with two different labels; got none among "
                f"{len(calibrating.y)} documents."
            )
        return data, held_out, calibrating

    def _held_out(self, data: TrainingSet, eval_set: Any) -> HeldOut:
        X, y, groups = check_eval_set(self, eval_set)
        return HeldOut(X, y, groups, get_metric(self.metric).prepared(y, groups))

    def _labels_of(self, y: Any, given_pairs: Any = None) -> dict[str, np.ndarray] | None:
        """Return several labels by name; refuse them where a ranker takes a single one."""
        labels = split_labels(y)
        if labels is not None:
            raise ValueError(
                f"y must be a single label for {type(self).__name__}; got {list(labels)}."
            )
        return None

    def _measured(self, scores, y, qid, sample_weight):
        metric = get_metric(self.metric)
        if sample_weight is None:
            return metric(y, scores, qid)
        values = metric.per_query(y, scores, qid)
        groups = QueryGroups.from_qid(qid, len(scores))
        weight = check_weight("sample_weight", sample_weight, len(scores))
        weight = np.bincount(groups.codes, weight) / groups.sizes
        counted = ~np.isnan(values)
        return float(np.average(values[counted], weights=weight[counted]))

    def _lists(self, X: Any, qid: Any) -> tuple[QueryGroups, np.ndarray]:
        groups, best_first = self._best_first(X, qid)
        self._warn_of_one_query(qid, len(best_first))
        return groups, best_first

    def _warn_of_one_query(self, qid: Any, n_rows: int) -> None:
        """Warn that rows without ``qid`` are one query, where ``fit`` had several."""
        if qid is None and n_rows > 1 and self._had_queries:
            warnings.warn(
                f"qid is None, so all {n_rows} rows are taken for one query, though fit had "
                "several. Pass qid; scikit-learn's tools pass it on where metadata routing is "
                "enabled and a scorer requests it.",
                UserWarning,
                stacklevel=4,
            )

    def _two_scores(self, X_a, X_b):
        scores_a, scores_b = self.predict(X_a), self.predict(X_b)
        _n_pairs(len(scores_a), len(scores_b))
        return scores_a, scores_b

    def _best_first(self, X, qid):
        scores = self.predict(X)
        groups = QueryGroups.from_qid(qid, len(scores))
        return groups, np.lexsort((-scores, groups.codes))  # stable: the earlier row wins a tie

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._reads_sparse
        return tags


def _n_pairs(n_a, n_b):
    if n_a != n_b and 1 not in (n_a, n_b):
        raise ValueError(
            "X_a and X_b must have equally many rows, or one of them a single row; got "
            f"{n_a} and {n_b}."
        )
    return n_a if n_b == 1 else n_b


def _row(X, n):
    row = X[n if X.shape[0] > 1 else 0]
    return row.toarray().ravel() if issparse(row) else row
