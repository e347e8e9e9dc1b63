"""Given scores: a comparison of rankings from anywhere, by the labels of the same documents."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, quote
from treerank.documents.ids import check_ids
from treerank.documents.queries import ByRow, QueryGroups, check_qid, warn_without_qid
from treerank.documents.ranking_data import RankingData
from treerank.evaluation.data_splits import Clusters, can_be_sorted
from treerank.evaluation.fits import Fitted
from treerank.evaluation.labels import (
    HumanLabels,
    check_defined,
    check_label_weights,
    checked_labels,
    highest_labels,
    labels_of_people,
)
from treerank.evaluation.ranker_comparison import Comparison
from treerank.evaluation.running import (
    Scoring,
    metrics_by_name,
    refuse_lost_ids,
    warn_of_weak_labels,
)
from treerank.metrics.registry import Metrics, describe_metrics
from treerank.parameters import check_arguments
from treerank.rankers.column_ranker import SCORES_BELOW
from treerank.statistics.clusters import (
    ClustersOfRows,
    clusters_by_query,
    refuse_clusters,
    take_clusters,
)

#: Advice for scores of a retriever, which are missing where it did not find the document.
_MISSING_SCORES = (
    " If the score of a document that was not found is missing, let it rank last: give it a number "
    f"below all others, {SCORES_BELOW}, or let compare score the column, by its name, with "
    "treerank.rankers.ColumnRanker."
)


@check_arguments
def compare_scores(
    scores: Mapping[str, ArrayLike],
    y: ArrayLike | Mapping[str, ArrayLike],
    qid: ByRow = None,
    *,
    metrics: Metrics = ("ndcg@10", "map"),
    convention: str = "treerank",
    label_weights: Mapping[str, float] | None = None,
    human_labels: ArrayLike | RankingData | str | None = None,
    clusters: ClustersOfRows = None,
) -> Comparison:
    """Compare scores of the same documents, wherever these scores come from.

    They may come from the system in production, a search engine, a cross-encoder or a saved column.
    The tests are over queries.

    Parameters
    ----------
    scores : dict from str to array-like of shape (n_documents,)
        Scores by name of the ranker; higher is better. Tied scores are averaged over their
        orders.
    y : array-like of shape (n_documents,), or several labels
        Relevance; NaN is not judged. Several labels are an array of shape (n_documents, n_labels)
        or a mapping from names to columns: then a metric is the weighted mean over the labels, and
        each label also has a metric of its own, such as "ndcg@10 of margin".
    qid : array-like of shape (n_documents,), default=None
        Query of each document; None is a single query, which no test can compare.
    metrics, convention, label_weights, human_labels
        As in :func:`treerank.compare`.
    clusters : array-like of shape (n_documents,) or str, default=None
        As in :func:`treerank.compare`; text is the name of a level of ``qid``, such as "user" of
        ``pd.MultiIndex.from_frame(table[["user", "week"]])``.

    Returns
    -------
    Comparison
        Print its ``summary()``.

    Examples
    --------
    >>> from treerank import make_web_search
    >>> X, y, qid = make_web_search(60, documents_per_query=10, random_state=0)
    >>> comparison = compare_scores({"old": X[:, 0], "new": X[:, 0] + X[:, 1]}, y, qid)
    >>> comparison.by_query("ndcg@10").shape
    (60, 2)
    """
    if not scores:
        raise ValueError("scores must name some, such as {'old': old, 'new': new}; got none.")
    labels = checked_labels(y)
    check_label_weights(label_weights, labels.dtype.names, human_labels is not None)
    n_documents = len(labels)
    columns = {
        name: check_column(f"scores[{quote(name)}]", column, n_documents, advice=_MISSING_SCORES)
        for name, column in scores.items()
    }
    warn_without_qid(qid, n_documents)
    ids = np.zeros(n_documents) if qid is None else check_ids("qid", qid, n_documents)
    human_labels = labels_of_people(human_labels, (None, y, ids))
    by_name = metrics_by_name(metrics, convention)
    if qid is not None and ids.dtype.kind == "O" and not can_be_sorted(ids):
        refuse_lost_ids(by_name)
        ids = check_qid(qid)  # tables have numbers in place of the ids
    of_queries = None
    if clusters is not None:
        if human_labels is not None:
            refuse_clusters("human_labels")
        groups = QueryGroups.from_qid(ids)
        by_query = clusters_by_query(take_clusters(clusters, qid), groups, ids)
        of_queries = Clusters(by_query[groups.codes])
    human = HumanLabels.of(human_labels, labels, ids)
    scoring = Scoring(by_name, label_weights, highest_labels([(human, labels)]))
    data = RankingData(None, labels, ids)
    if human is not None:
        human.check_size(ids)
        check_defined(by_name, [(human, data)])
    nan = math.nan
    further: dict[str, Any] = {"clusters": of_queries, "test_to_train": math.nan}
    outcomes = {
        (name, "test"): scoring.outcome(
            name, "test", Fitted(column, {}, (nan, nan, nan)), data, human, **further
        )
        for name, column in columns.items()
    }
    scoring.warn_of_unjudged([*outcomes.values()])
    names = tuple(next(iter(outcomes.values())).values)
    conventions = describe_metrics(by_name.values(), convention)
    comparison = Comparison(
        tuple(columns), ("test",), names, convention, outcomes, scoring=conventions
    )
    warn_of_weak_labels(comparison)
    return comparison
