"""Scored: everything that follows once documents have scores.

Members without an underscore are also for the rooms above: ``read``, ``scores_of`` and
``check_settings``, and what a ranker declares, ``reads_sparse``, ``reads_batches`` and
``n_threads``.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treerank.checks import (
    check_column,
    check_count,
    check_weight,
    naming,
    naming_label,
    refuse_where,
    warn_user,
)
from treerank.datasets.ranking_data import Batches
from treerank.documents.batched import BatchedMatrix
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns
from treerank.documents.features import (
    check_features,
    check_ids,
    check_labels,
    check_n_pairs,
    n_features_of,
    shown_names,
    split_labels,
)
from treerank.documents.queries import ByRow, QueryGroups, joined_ids
from treerank.documents.training_queries import (
    TrainingQueries,
    overlap_with_training,
    warn_of_cut_queries,
)
from treerank.metrics.base import Metric, mean_value
from treerank.metrics.registry import AnyMetric, FunctionMetric, metric_with
from treerank.parameters import Count, Finite, Share, Whole, check_arguments, check_parameters
from treerank.rankers.calibration import RelevanceScale, fit_calibration_slope, pair_probability
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.reading import refuse_arrays, take_columns, weights_of_labels

if TYPE_CHECKING:  # they are imported where they are used
    from treerank.feature_parts.scorer import Scorer
    from treerank.feature_parts.terms import Terms
    from treerank.forests.forest import Forest
    from treerank.reranking.sampling import SampledLists


#: Settings of pair weights that metrics have, too.
_OF_METRICS = ("gain", "threshold")
#: What follows of queries that were trained on.
_CONSEQUENCE = "the score is too high"


class Scored(BaseEstimator):
    """Rankings, comparisons and explanations of an estimator that gives documents scores.

    A subclass has one method: ``_scores(X)`` returns the score of each row of a float matrix, in
    which missing values are NaN. ``X`` is a CSR matrix if the user passes a sparse one and
    ``reads_sparse`` is true.
    """

    __metadata_request__score: ClassVar = {"qid": True}

    metric: AnyMetric = "ndcg@10"
    label_weights: Any = None
    #: Whether ``y`` may be several labels.
    takes_several_labels = False

    #: Whether ``_learn`` and ``_scores`` take sparse matrices.
    reads_sparse = False
    #: Whether ``_learn`` takes a :class:`~treerank.documents.batched.BatchedMatrix`.
    reads_batches = False
    #: Number of threads of explanations.
    n_threads = 1

    head_: AntisymmetricHead
    calibration_slope_: float
    relevance_scale_: RelevanceScale | None = None
    training_queries_: TrainingQueries | None = None
    #: Whether the documents of ``fit`` were of several queries.
    _had_queries = False
    columns_: Columns

    @check_arguments
    def predict(self, X: Any) -> np.ndarray:
        """Return the score of each document; a higher score is a better rank.

        No documents have no scores, as in an empty partition of a large table.
        """
        return self._read_and_score(X)[0]

    @check_arguments
    def rank(self, X: Any, qid: ByRow = None) -> np.ndarray:
        """Return the rank of each document within its query; 1 is the best.

        If scores are equal, the earlier row has the better rank.
        """
        groups, best_first = self._lists(X, qid)
        ranks = np.empty(len(best_first), dtype=np.int64)
        ranks[best_first] = groups.places + 1
        return ranks

    @check_arguments
    def top_k(self, X: Any, qid: ByRow = None, k: Count = 10) -> np.ndarray:
        """Return the rows of the ``k`` best documents of each query, best first.

        The result is one array for all queries, in ascending order of their ids: ``X[top]`` and
        ``qid[top]`` are the documents and their queries. Queries with fewer documents have all of
        them in the result.
        """
        groups, best_first = self._lists(X, qid)
        return best_first[groups.places < k]

    @check_arguments
    def score(
        self, X: Any, y: Any = None, qid: ByRow = None, *, sample_weight: ByRow = None
    ) -> float:
        """Return the mean of ``metric`` over the queries that have something to find.

        With ``sample_weight``, a query counts by the mean weight of its documents.

        Warns of queries of which other documents were trained on, as where ``KFold`` has cut them;
        :class:`~treerank.QueryKFold` keeps them whole. Ids that are text count as those of the same
        query, also where a search comes back at another time and nothing is wrong: the warning
        tells both cases. Numbers, which many files count from 0, do so only where the rows look as
        if they were split. The training set itself is no reason to warn.
        """
        hashes: list[np.ndarray] | None = None if self.training_queries_ is None else []
        scores, y, qid = self._read_and_score(X, y, qid, hashes)
        self.warn_of_one_query(qid, len(scores))
        value = self.measured(scores, y, qid, sample_weight)
        if hashes and self.training_queries_ is not None:
            overlap = self.training_queries_.look_up(np.concatenate(hashes), y, qid)
            warn_of_cut_queries(overlap, _CONSEQUENCE)
        return value

    def sample(self, X: Any, qid: ByRow = None, **options: Any) -> "SampledLists":
        """Draw a list for each query that explores, with the probability of each place.

        ``options`` are those of :func:`treerank.reranking.sample_lists`: ``k``, ``temperature`` and
        ``random_state``.
        """
        from treerank.reranking.sampling import sample_lists

        scores, _, qid = self._read_and_score(X, None, qid)
        self.warn_of_one_query(qid, len(scores))
        return sample_lists(scores, qid, **options)

    def compare(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return r(a, b), row by row: positive if a is better, and r(b, a) is its negative.

        One of the two may be a single row.
        """
        scores_a, scores_b = map(self.scores_of, self.read_pairs(X_a, X_b))
        return self.head_.compare_scores(scores_a, scores_b)

    def distance(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return |r(a, b)|, row by row, a pseudometric: 0 for documents of equal scores."""
        return np.abs(self.compare(X_a, X_b))

    def predict_pair_proba(self, X_a: Any, X_b: Any) -> np.ndarray:
        """Return the probability, row by row, that a is more relevant than b."""
        scores_a, scores_b = map(self.scores_of, self.read_pairs(X_a, X_b))
        return pair_probability(scores_a - scores_b, self.calibration_slope_)

    @check_arguments
    def explain(
        self,
        X_a: Any,
        X_b: Any,
        *,
        n_orders: Count = 16,
        random_state: Whole = 0,
        with_errors: bool = False,
    ) -> Any:
        """Return how much each feature contributes to ranking a above b, row by row.

        The parts of a row add up to the score of a minus that of b. Each part is a Shapley value:
        the features of b are replaced by those of a one after the other, and the part is the
        change of the score at the step of this feature, averaged over orders. Parts are exact for
        sums of trees and lines, by :func:`treerank.forests.shapley.margin_parts`. For others,
        orders are drawn. Those of (b, a) are the negatives of those of (a, b).

        Parameters
        ----------
        X_a, X_b : array-like, data frame or sparse matrix of shape (n_pairs, n_features)
            Documents; one of the two may be a single row, also as a series of pandas.
        n_orders : int, default=16
            Number of orders drawn, each walked in both directions. More make the parts more
            precise.
        random_state : int, default=0
            Seed of the orders.
        with_errors : bool, default=False
            Whether to return the standard errors of the parts, too. Exact parts have 0.

        Returns
        -------
        ExplainedMargins of shape (n_pairs, n_features)
            An array that knows the names of features. ``print`` shows a sentence for each pair;
            ``by_name()`` returns dicts. With errors, an array of them comes second.
        """
        from treerank.rankers.explanation import ExplainedMargins, parts_of

        check_count("n_orders", n_orders, at_least=2 if with_errors else 1)
        X_a, X_b = self.read_pairs(X_a, X_b)
        parts, errors = parts_of(self, X_a, X_b, n_orders, random_state)
        named = ExplainedMargins.of(parts, shown_names(self))
        return (named, errors) if with_errors else named

    @check_arguments
    def explain_interactions(
        self, X_a: Any, X_b: Any, *, n_orders: Count = 16, random_state: Whole = 0
    ) -> np.ndarray:
        """Return how much pairs of features contribute to ranking a above b, row by row.

        They are exact where the parts of :meth:`explain` are, whose parameters these are.

        Returns
        -------
        ndarray of shape (n_pairs, n_features, n_features)
            Half of the Shapley interaction of two features on either side of the diagonal, and on
            it what a feature contributes alone. Rows add up to the parts of ``explain``.
        """
        from treerank.rankers.explanation import interactions_of_pairs

        return interactions_of_pairs(self, *self.read_pairs(X_a, X_b), n_orders, random_state)

    def report(self, X: Any, y: Any = None, qid: ByRow = None, **options: Any) -> Any:
        """Return an HTML page on how good the ranker is, where it fails, and why.

        ``options`` are those of :func:`treerank.report`, such as ``baseline``.
        """
        from treerank.reports.reporting import report  # the one import from a room above

        return report(self, X, y, qid, **options)

    def calibrate(self, X: Any, y: Any = None, qid: ByRow = None) -> Self:
        """Fit the probabilities of pairs and of relevance to documents that were not trained on."""
        scores, y, qid = self._read_and_score(X, y, qid)
        self.warn_of_one_query(qid, len(scores))
        y = check_labels(y, len(scores), some_unjudged=True)
        judged = np.flatnonzero(~np.isnan(y))
        groups = QueryGroups.from_qid(qid, len(scores)).among(judged)
        scores, y = scores[judged], y[judged]
        slope = fit_calibration_slope(scores, y, groups)
        self.relevance_scale_ = RelevanceScale.fitted(scores, y, groups)
        self.calibration_slope_ = slope
        return self

    @check_arguments
    def predict_relevance(self, X: Any, at_least: Finite = 1.0) -> np.ndarray:
        """Return the probability that the label of each document is at least a given one.

        It rises with the score, and can be compared over queries. :meth:`calibrate` has to be
        called before, with queries that were not trained on.
        """
        return RelevanceScale.of(self).probability(self.predict(X), at_least)

    @check_arguments
    def threshold_for(self, precision: Share = 0.8, at_least: Finite = 1.0) -> float:
        """Return the lowest score such that, from there up, this share of documents is relevant.

        Relevant is a label of ``at_least``. The share is that of documents such as those of
        :meth:`calibrate`.
        """
        return RelevanceScale.of(self).threshold(precision, at_least)

    def terms(self) -> "Terms":
        """Return the ranker as a sum of trees, a line and networks, which not all rankers are.

        The sum gives the scores of ``predict`` but for the last bits; a single term gives them bit
        for bit if it has a single output.
        """
        raise ValueError(f"ranker must be a sum of trees and lines; got {type(self).__name__}.")

    def forest(self) -> "Forest":
        """Return the ranker as a sum of trees, which only some rankers are.

        The trees know the names of the columns and their categories, if ``fit`` got a data frame.
        """
        terms = self.terms()
        if terms.kinds != ["trees"]:
            raise ValueError(f"ranker must be a sum of trees; got {terms.kinds}.")
        trees, columns = terms.forest, self.columns_
        if (trees.feature_names, trees.levels or {}) == (columns.names, columns.categories):
            return trees
        levels = columns.categories or trees.levels
        return replace(trees, feature_names=columns.names, levels=levels)

    def scorer(self) -> "Scorer":
        """Return a function that quickly scores the documents of one query after another.

        Only rankers that are sums of trees and a line have one; see
        :class:`~treerank.feature_parts.scorer.Scorer`. It takes numbers and data frames as
        ``predict`` does, but no sparse matrices; numbers are faster. Its scores are those of
        ``predict``, bit for bit if the ranker is trees with a single output.
        """
        from treerank.feature_parts.scorer import Scorer

        return Scorer(self.terms(), self.columns_)

    def check_settings(self) -> None:
        """Refuse wrong settings before training, also those that are used after it."""
        check_parameters(self)

    def read(self, X: Any, y: Any = None, qid: Any = None) -> tuple[Any, Any, Any]:
        """Return features as a float matrix, and labels and query ids as they are given.

        ``y`` and ``qid`` may be names of columns of ``X``, which are left out of the features.
        """
        if n_features_of(self) is None:  # which is sooner known than all that this checks
            check_is_fitted(self)
        X, (y, qid) = take_columns(X, y=y, qid=qid)
        return check_features(self, X), y, qid

    def scores_of(self, X: Any) -> np.ndarray:
        """Return the score of each row of a matrix that :meth:`read` or ``fit`` has checked."""
        if isinstance(X, BatchedMatrix):
            return np.concatenate([self.scores_of(batch) for _, batch in X.batches()])
        return _finite(self._scores(X)) if X.shape[0] else np.empty(0)

    def _scores(self, X: Any) -> np.ndarray:
        """Return the score of each row of a checked matrix."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.reads_sparse
        return tags

    def read_pairs(self, X_a: Any, X_b: Any) -> tuple[Any, Any]:
        """Return pairs of documents as matrices."""
        check_is_fitted(self)
        with naming("X_a"):
            X_a = self.read(_row_of(X_a))[0]
        with naming("X_b"):
            X_b = self.read(_row_of(X_b))[0]
        check_n_pairs(X_a.shape[0], X_b.shape[0])
        return X_a, X_b

    def _read_and_score(
        self, X: Any, y: Any = None, qid: Any = None, hashes: list[np.ndarray] | None = None
    ) -> tuple[np.ndarray, Any, Any]:
        """Return scores, labels and query ids, also those of batches; add hashes of rows."""

        def scored(matrix: Any) -> np.ndarray:
            if hashes is not None:
                hashes.append(row_hashes(matrix))
            return self.scores_of(matrix)

        if not isinstance(X, Batches):
            X, y, qid = self.read(X, y, qid)
            return scored(X), y, qid
        refuse_arrays(y, qid)
        parts = [(scored(self.read(part.X)[0]), part.y, part.qid) for part in X]
        if not parts:
            raise ValueError("X must have rows; got no batch.")
        scores, labels, ids = zip(*parts, strict=True)
        joined = joined_ids([check_ids("qid", part) for part in ids])
        return np.concatenate(scores), np.concatenate(labels), joined

    def measured(self, scores: Any, y: Any, qid: Any, sample_weight: Any, label: str = "") -> float:
        """Return the mean of the metric over queries, over several labels their weighted mean.

        ``label`` is the name of one of several, for messages.
        """
        labels = split_labels(y) if self.takes_several_labels else None
        if labels is not None:
            values = [
                self.measured(scores, labels[name], qid, sample_weight, name) for name in labels
            ]
            return float(np.average(values, weights=weights_of_labels(self.label_weights, labels)))
        metric = metric_of(self)
        name = f"{metric.name} of {label}" if label else metric.name
        with naming_label(label):
            check_column("y", y, len(scores), some_unjudged=True)
        if qid is None and isinstance(metric, Metric):
            qid = np.zeros(len(scores))  # one query: warn_of_one_query has warned already
        if sample_weight is None and not isinstance(metric, Metric):
            return metric(y, scores, qid)
        weight = None
        if sample_weight is not None:
            groups = QueryGroups.from_qid(qid, len(scores))
            weight = check_weight("sample_weight", sample_weight, len(scores))
            weight = np.bincount(groups.codes, weight) / groups.sizes
        return mean_value(metric.per_query(y, scores, qid), name, weight)

    def warn_of_cut_queries(self, X: Any, y: Any = None, qid: ByRow = None) -> None:
        """Warn of queries of which other documents were trained on, as :meth:`score` does."""
        overlap = overlap_with_training(self, X, y, qid)
        if overlap is not None:
            warn_of_cut_queries(overlap, _CONSEQUENCE)

    def _lists(self, X: Any, qid: Any) -> tuple[QueryGroups, np.ndarray]:
        """Return the queries and the rows, query by query, best first."""
        scores, _, qid = self._read_and_score(X, None, qid)
        self.warn_of_one_query(qid, len(scores))
        groups = QueryGroups.from_qid(qid, len(scores))
        return groups, np.lexsort((-scores, groups.codes))  # stable: the earlier row wins a tie

    def refuse_one_query(self, name: str, qid: Any, n_rows: int) -> None:
        """Refuse documents without ``qid``, if ``fit`` had several queries."""
        if qid is None and n_rows > 1 and self._had_queries:
            raise ValueError(
                f"{name} must be (X, y, qid) where fit has several queries; got (X, y), whose "
                f"{n_rows} rows would be one query. Write {name}=(X, y, qid), or "
                f"{name}=(X, y, np.zeros(len(y))) if they are a single query."
            )

    def warn_of_one_query(self, qid: Any, n_rows: int, where: str = "") -> None:
        """Warn that rows without ``qid`` are one query, if ``fit`` had several."""
        if qid is None and n_rows > 1 and self._had_queries:
            warn_user(
                f"qid is None{where}, so all {n_rows} rows are taken for one query, though fit had "
                "several. Pass qid; scikit-learn's tools pass it on where metadata routing is "
                "enabled and a scorer requests it, and cv=QueryKFold(5) keeps queries whole."
            )


def metric_of(ranker: Any, metric: Any = None) -> Metric | FunctionMetric:
    """Return a metric by which a ranker is measured, by default that of its ``score``.

    A name that leaves ``gain`` or ``threshold`` open takes that of the ranker.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> metric_of(TreeDirectRanker(gain="linear")).name
    "ndcg(gain='linear')@10"
    """
    settings = {name: getattr(ranker, name) for name in _OF_METRICS if hasattr(ranker, name)}
    return metric_with(ranker.metric if metric is None else metric, settings)


def _finite(scores: np.ndarray) -> np.ndarray:
    """Return scores; refuse those of features that are too large."""
    refuse_where(~np.isfinite(scores), scores, "X must be of a size that gives finite scores")
    return scores


def _row_of(X: Any) -> Any:
    """Return a single document, as a row or a series of pandas, as a table of one row."""
    if hasattr(X, "to_frame") and hasattr(X, "iloc"):
        return X.to_frame().T
    is_row = isinstance(X, np.ndarray | list | tuple) and np.ndim(X) == 1 and len(X)
    return np.asarray(X)[None] if is_row else X
