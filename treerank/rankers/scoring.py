"""Scoring: scores, and the rankings, metrics and samples that follow from them.

The functions of this module are for other packages: what they need to know of a ranker, they ask
here.
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from treerank.checks import (
    check_column,
    check_weight,
    naming_label,
    refuse_where,
    warn_user,
)
from treerank.documents.batched import BatchedMatrix
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import Columns
from treerank.documents.ids import check_ids
from treerank.documents.labels import refuse_several_labels, split_labels, weights_of_labels
from treerank.documents.queries import MANY, ByRow, QueryGroups, joined_ids
from treerank.documents.ranking_data import Batches
from treerank.documents.reading import (
    Accepts,
    DocumentTags,
    accepted_by,
    read_documents,
    refuse_arrays,
)
from treerank.documents.training_queries import TrainingQueries, warn_of_cut_queries
from treerank.metrics.base import Metric, mean_value
from treerank.metrics.registry import AnyMetric, FunctionMetric, metric_with
from treerank.parameters import Count, PlainSignature, check_arguments, check_parameters

if TYPE_CHECKING:  # imported where they are used
    from treerank.reranking.sampling import SampledLists

#: Settings of pair weights that metrics have, too.
_OF_METRICS = ("gain", "threshold")


class Scoring(BaseEstimator):
    """An estimator that gives documents scores.

    A subclass has one method: ``_scores(X)`` returns the score of each row of a float matrix, in
    which missing values are NaN. ``X`` is a CSR matrix if the user passes a sparse one and
    ``_accepts.sparse`` is true.
    """

    __signature__ = PlainSignature()

    __metadata_request__score: ClassVar = {"qid": True}

    metric: AnyMetric = "ndcg@10"
    label_weights: Any = None

    #: What ``fit`` and ``predict`` accept beside a dense matrix and a single label.
    _accepts: Accepts = Accepts()
    #: Number of threads of explanations.
    _n_threads = 1
    #: Whether ``fit`` got several queries.
    _had_queries = False

    columns_: Columns
    training_queries_: TrainingQueries | None = None

    @check_arguments
    def predict(self, X: Any) -> np.ndarray:
        """Return the score of each document; a higher score is a better rank.

        ``X`` may have no rows, as an empty partition of a large table.
        """
        return self._read_and_score(X)[0]

    @check_arguments
    def rank(self, X: Any, qid: ByRow = None) -> np.ndarray:
        """Return the rank of each document within its query; 1 is the best.

        If scores are equal, the earlier row has the better rank.
        """
        groups, best_first = self._lists(X, qid)
        ranks = np.empty(len(best_first), dtype=np.int64)
        ranks[best_first] = groups.positions + 1
        return ranks

    @check_arguments
    def top_k(self, X: Any, qid: ByRow = None, k: Count = 10) -> np.ndarray:
        """Return the rows of the ``k`` best documents of each query, best first.

        The result is one array for all queries, in ascending order of their ids: ``X[top]`` and
        ``qid[top]`` are the documents and their queries. For queries with fewer documents, it has
        all of them.
        """
        groups, best_first = self._lists(X, qid)
        return best_first[groups.positions < k]

    @check_arguments
    def score(
        self, X: Any, y: Any = None, qid: ByRow = None, *, sample_weight: ByRow = None
    ) -> float:
        """Return the mean of ``metric`` over the queries for which it is defined.

        For instance, NDCG is not defined for a query without a relevant document. With
        ``sample_weight``, each query is weighted by the mean weight of its judged documents.

        Warns if other documents of the same queries were trained on, for instance because ``KFold``
        has cut queries in two; :class:`~treerank.QueryKFold` keeps them whole. Equal ids that are
        text count as the same query, even if the same search came back at another time and nothing
        is wrong: the warning names both cases. Numbers, which many files count from 0, count as the
        same query only if the rows look as if they were split. Scoring the training set itself does
        not warn.
        """
        if y is None and not isinstance(X, Batches | str | Path | tuple):
            raise ValueError(
                "y must be one label per row of X, or the name of a column of X; got None. Write "
                "score(X, y, qid), or score(*data) for data that a reader returned."
            )
        hashes: list[np.ndarray] | None = None if self.training_queries_ is None else []
        scores, y, qid = self._read_and_score(X, y, qid, hashes)
        warn_of_one_query(self, qid, len(scores))
        value = measured(self, scores, y, qid, sample_weight)
        if hashes and self.training_queries_ is not None:
            overlap = self.training_queries_.look_up(np.concatenate(hashes), y, qid)
            warn_of_cut_queries(overlap)
        return value

    @check_arguments
    def sample(self, X: Any, qid: ByRow = None, **options: Any) -> "SampledLists":
        """Draw a random ranking for each query, and return the rankings with their probabilities.

        Documents with higher scores come first more often. ``options`` are ``k``, ``temperature``
        and ``random_state`` of :func:`treerank.reranking.sample_lists`.
        """
        from treerank.reranking.sampling import sample_lists

        scores, _, qid = self._read_and_score(X, None, qid)
        warn_of_one_query(self, qid, len(scores), serves=True)
        return sample_lists(scores, qid, **options)

    def _check_settings(self) -> None:
        """Refuse wrong settings before training, also settings for later methods."""
        check_parameters(self)

    def _scores(self, X: Any) -> np.ndarray:
        """Return the score of each row of a checked matrix."""
        raise NotImplementedError

    def _read_and_score(
        self, X: Any, y: Any = None, qid: Any = None, hashes: list[np.ndarray] | None = None
    ) -> tuple[np.ndarray, Any, Any]:
        """Return ``(scores, y, qid)`` of documents in memory or in batches.

        If ``hashes`` is a list, hashes of the rows are appended to it, an array for each batch.
        """

        def scored(matrix: Any) -> np.ndarray:
            if hashes is not None:
                hashes.append(row_hashes(matrix))
            return scores_of(self, matrix)

        if not isinstance(X, Batches):
            X, y, qid = read_documents(self, X, y, qid)
            return scored(X), y, qid
        refuse_arrays(y, qid)
        parts = [(scored(read_documents(self, part.X)[0]), part.y, part.qid) for part in X]
        if not parts:
            raise ValueError("X must have rows; got no batch.")
        scores, labels, ids = zip(*parts, strict=True)
        joined = joined_ids([check_ids("qid", part) for part in ids])
        return np.concatenate(scores), _joined_labels(labels), joined

    def _lists(self, X: Any, qid: Any) -> tuple[QueryGroups, np.ndarray]:
        """Return ``(queries, rows)``; rows are sorted by query, best first within a query."""
        scores, _, qid = self._read_and_score(X, None, qid)
        warn_of_one_query(self, qid, len(scores), serves=True)
        groups = QueryGroups.from_qid(qid, len(scores))
        return groups, np.lexsort((-scores, groups.codes))  # stable: the earlier row wins a tie

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._accepts.sparse
        values = {field.name: getattr(tags, field.name) for field in fields(tags)}
        return DocumentTags(**values | {"accepts": self._accepts})


def _joined_labels(parts: Sequence[Any]) -> Any:
    """Return the labels of batches as one column, or one for each of several labels."""
    several = [split_labels(part) for part in parts]
    if several[0] is None or any(labels is None for labels in several):
        return np.concatenate(parts)
    return {
        name: np.concatenate([labels[name] for labels in several if labels is not None])
        for name in several[0]
    }


def scores_of(ranker: Any, X: Any) -> np.ndarray:
    """Return the score of each row of a matrix that ``read_documents`` or ``fit`` has checked."""
    if isinstance(X, BatchedMatrix):
        return np.concatenate([scores_of(ranker, batch) for _, batch in X.batches()])
    return _finite(ranker._scores(X)) if X.shape[0] else np.empty(0)


def check_settings(ranker: Any) -> None:
    """Refuse wrong settings of a ranker before training, also settings for later methods."""
    ranker._check_settings()


def n_threads_of(ranker: Any) -> int:
    """Return the number of threads that a ranker explains with."""
    n_threads: int = ranker._n_threads
    return n_threads


def metric_of(ranker: Any, metric: Any = None) -> Metric | FunctionMetric:
    """Return a metric by which a ranker is measured.

    None is the metric of its ``score``. A name that leaves ``gain`` or ``threshold`` open takes the
    setting of the ranker.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> metric_of(TreeDirectRanker(gain="linear")).name
    "ndcg(gain='linear')@10"
    """
    settings = {name: getattr(ranker, name) for name in _OF_METRICS if hasattr(ranker, name)}
    return metric_with(ranker.metric if metric is None else metric, settings)


def measured(
    ranker: Any, scores: Any, y: Any, qid: Any, sample_weight: Any, label: str = ""
) -> float:
    """Return the mean of a ranker's metric over queries; of several labels, their weighted mean.

    With ``sample_weight``, a query counts by the mean weight of its documents. ``label`` is the
    name of one of several labels, for messages.
    """
    if not accepted_by(ranker).several_labels:
        where = f" for {type(ranker).__name__}"
        refuse_several_labels(y, where, "Pass one of them.")
    labels = split_labels(y)
    if labels is not None:
        weights = weights_of_labels(ranker.label_weights, labels)
        weighed = {name: weight for name, weight in zip(labels, weights, strict=True) if weight}
        values = [
            measured(ranker, scores, labels[name], qid, sample_weight, name) for name in weighed
        ]
        return float(np.average(values, weights=[*weighed.values()]))
    metric = metric_of(ranker)
    name = f"{metric.name} of {label}" if label else metric.name
    with naming_label(label):
        judged = ~np.isnan(check_column("y", y, len(scores), some_unjudged=True, or_table=True))
    if qid is None and isinstance(metric, Metric):
        qid = QueryGroups.from_qid(None, len(scores))  # warn_of_one_query has warned already
    if sample_weight is None and not isinstance(metric, Metric):
        return metric(y, scores, qid)
    weight = None
    if sample_weight is not None:
        groups = QueryGroups.from_qid(qid, len(scores))
        weight = check_weight("sample_weight", sample_weight, len(scores))
        weight = _weight_of_queries(weight, judged, groups)
    return mean_value(metric.per_query(y, scores, qid), name, weight)


def _weight_of_queries(weight: Any, judged: np.ndarray, groups: QueryGroups) -> np.ndarray:
    """Return the mean weight of the judged documents of each query; of all where none is judged.

    The share of judged documents is 0 where none is, other metrics are NaN.
    """
    n_judged = np.bincount(groups.codes, judged)
    n = np.where(n_judged > 0, n_judged, groups.sizes)
    counts = judged | (n_judged == 0)[groups.codes]
    return np.bincount(groups.codes, weight * counts) / n


def warn_of_one_query(
    ranker: Any, qid: Any, n_documents: int, where: str = "", *, serves: bool = False
) -> None:
    """Warn that documents without ``qid`` are one query, if ``fit`` had several.

    ``where`` is a text that the message inserts after "qid is None". ``serves`` is for methods that
    rank documents without labels, often of a single query: they warn only for at least ``MANY``
    documents, more than most lists of candidates have.
    """
    if qid is not None or n_documents <= 1 or not ranker._had_queries:
        return
    if serves and n_documents < MANY:
        return
    taken = f"qid is None{where}, so all {n_documents} rows are treated as one query, though fit"
    if serves:
        warn_user(
            f"{taken} had several. Pass qid; if it is one query, pass qid=np.zeros(len(X)) to say "
            "so."
        )
    else:
        warn_user(
            f"{taken} had several. Pass qid; scikit-learn's tools pass it on after "
            "sklearn.set_config(enable_metadata_routing=True) if a scorer requests it, and "
            "cv=QueryKFold(5) keeps queries whole."
        )


def _finite(scores: np.ndarray) -> np.ndarray:
    """Return the scores; refuse scores that are not finite, because features are too large."""
    refuse_where(~np.isfinite(scores), scores, "X must be of a size that gives finite scores")
    return scores
