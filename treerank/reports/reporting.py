"""Reporting: a ranker, labeled documents and a baseline become a page.

Report: an HTML page that can be saved, or shown in a notebook.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from treerank.checks import (
    as_numbers,
    check_column,
    check_instance,
    check_sequence,
    naming,
    quote,
    refuse_masked,
)
from treerank.documents.canonical_order import row_hashes
from treerank.documents.columns import taken_rows
from treerank.documents.eval_set import check_eval_set, read_eval_set
from treerank.documents.features import check_features
from treerank.documents.gains import are_shares
from treerank.documents.labels import check_labels
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import take_columns
from treerank.documents.training_queries import warn_of_seen_queries
from treerank.files.replaced import replaced_file
from treerank.metrics.judged import depth_of, judged_share, refuse_judged, warn_of_unjudged
from treerank.metrics.registry import FunctionMetric, Metrics, as_metrics, metric_with
from treerank.parameters import Count, Whole, check_arguments
from treerank.rankers.column_ranker import SCORES_BELOW, ColumnRanker, score_below
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import metric_of, scores_of, warn_of_one_query
from treerank.reports.page import element, page
from treerank.reports.sections import SECTIONS
from treerank.reports.subject import Subject
from treerank.spelling import spelled
from treerank.statistics.clusters import ClustersOfRows, clusters_by_query


@dataclass(frozen=True)
class Report:
    """A page about a ranker; :func:`treerank.report` makes it.

    Parameters
    ----------
    html : str
        The whole page.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "report.html"
    >>> Report("<!DOCTYPE html><title>Nothing</title>").save(path)
    >>> path.read_text()
    '<!DOCTYPE html><title>Nothing</title>'
    """

    html: str = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        with replaced_file(path) as file:
            file.write(self._bytes())

    def _bytes(self) -> bytes:
        # Names from files may hold bytes that are no UTF-8.
        return self.html.encode("utf-8", "xmlcharrefreplace")

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, for notebooks."""
        page = self._bytes().decode()
        frame = {"srcdoc": page, "sandbox": "allow-scripts allow-downloads", "title": "Report"}
        return element("iframe", **frame, width="100%", height=800)


@check_arguments
def report(
    ranker: Ranker,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    baseline: Ranker | ArrayLike | str | None = None,
    train: Any = None,
    metrics: Metrics = (),
    document_names: ArrayLike | str | None = None,
    texts: Mapping[str, str] | None = None,
    slices: Mapping[str, ArrayLike | str] | None = None,
    clusters: ClustersOfRows = None,
    title: str = "Ranking report",
    about: Mapping[str, str] | None = None,
    n_examples: Count = 20,
    random_state: Whole = 0,
) -> Report:
    """Return an HTML page that shows how good a ranker is, where it fails, and why.

    The page is one file that loads nothing, so you can open it anywhere and pass it on. It names
    queries and shows values of documents, so it is as confidential as the data.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    X, y, qid
        Documents that it was not fitted to, as in ``fit``, with a single label. Unjudged documents
        (NaN) are ignored.
    baseline : Ranker, array-like of shape (n_documents,) or str, default=None
        Ranker to compare with, or its scores. A str is the name of a column of ``X``.
    train : tuple (X, y) or (X, y, qid), default=None
        Training data, to look for drift, and for test documents that were trained on.
    metrics : str or Metric, or sequence of them, default=()
        Metrics to show; the first decides which queries are worst. By default the metric of the
        ranker, MAP and MRR. If the labels are fractions from 0 to 1, MAP and MRR count a label of
        at least 0.5 as relevant, unless the ``threshold`` of the ranker says otherwise. Metrics
        without a value for any query are omitted.
    document_names : array-like of shape (n_documents,) or str, default=None
        Names of the documents; ``None`` numbers the rows from 0. Text is the name of a column of
        ``X``.
    texts : dict from str to str, default=None
        Texts of queries and titles of documents by id, such as ``{"977": "red shoes"}``. They are
        shown beside the ids.
    slices : dict from str to array-like of shape (n_documents,) or str, default=None
        Columns of your own to divide queries by, or names of columns of ``X``; see
        :func:`treerank.inspection.slices`.
    clusters : array-like of shape (n_documents,) or str, default=None
        Cluster of each document, such as its user, if queries of a cluster are correlated; text
        is the name of a column of ``X``, also of one of ``qid``. Intervals and tests are then over
        clusters, as in :func:`treerank.compare`.
    title : str, default="Ranking report"
        Title of the page.
    about : dict from str to str, default=None
        Entries to add to the section on what was compared, such as names of files.
    n_examples : int, default=20
        Number of the worst queries whose documents are shown and explained.
    random_state : int, default=0
        Seed of all random numbers. The same arguments give the same page.

    Examples
    --------
    >>> from treerank import make_web_search
    >>> from treerank.baselines import RankSVM
    >>> train, test = (make_web_search(30, n_features=5, random_state=i) for i in (0, 1))
    >>> page = report(RankSVM().fit(*train), *test, baseline=test[0][:, 0], n_examples=2)
    >>> page.save(getfixture("tmp_path") / "report.html")
    """
    check_is_fitted(ranker)
    with naming("metrics"):
        chosen = [metric_of(ranker, metric) for metric in as_metrics(metrics)]
    documents, (y, qid, clusters) = take_columns(X, y=y, qid=qid, clusters=clusters)
    features = check_features(ranker, documents)
    n = features.shape[0]
    y, against = check_labels(y, n), _baseline_scores(baseline, X, n)
    scores, names = (
        scores_of(ranker, features),
        _document_names(_column("document_names", document_names, X), n),
    )
    columns = {n: _column(f"slices[{n!r}]", c, X) for n, c in (slices or {}).items()}
    for name, column in columns.items():
        refuse_masked(f"slices[{quote(name)}]", column)
        if (shape := np.shape(column)) != (n,):
            rule = f"slices[{quote(name)}] must have one entry per document, {n}"
            raise ValueError(f"{rule}; got {shape}.")
    if np.isnan(y).any():
        refuse_judged("metrics", chosen, "a report")
        depth = depth_of(chosen)
        warn_of_unjudged(judged_share(y, scores, qid, depth), depth)
        rows = np.flatnonzero(~np.isnan(y))
        parts = (documents, features, y, qid, against, scores, names, clusters)
        documents, features, y, qid, against, scores, names, clusters = (
            _taken(part, rows) for part in parts
        )
        columns = {name: _taken(column, rows) for name, column in columns.items()}
    warn_of_one_query(ranker, qid, len(y))
    about = dict(about or {})
    if ranker.training_queries_ is not None:
        seen = ranker.training_queries_.look_up(row_hashes(features), y, qid)
        warn_of_seen_queries(seen)
        if seen.n_same:
            n_queries = f"{seen.n_same} of these {seen.n_queries} queries"
            about["Training"] = f"The ranker was fitted to {n_queries}: its values are too high."
    groups = QueryGroups.from_qid(qid, len(y))
    if not groups.with_two_labels(y).any():
        raise ValueError("y must have two different labels in some query of qid; got none.")
    measured, unmeasured = _measured(chosen or _default_metrics(ranker, y), y, scores, groups)
    if unmeasured:
        without_value = ", ".join(metric.name for metric in unmeasured)
        about["Metrics without a value"] = f"{without_value}: {_why_without_value(unmeasured)}."
    query_ids = _query_names(qid, groups)
    subject = Subject(
        ranker=ranker,
        documents=documents,
        X=features,
        y=y,
        groups=groups,
        query_ids=query_ids,
        query_names=_with_texts(query_ids, texts),
        document_names=_with_texts(names, texts),
        metrics=measured,
        scores=scores,
        baseline=against,
        train=_training_data(ranker, train),
        n_unjudged=n - len(y),
        slices=columns,
        about=about,
        n_examples=n_examples,
        clusters=None if clusters is None else clusters_by_query(clusters, groups, qid),
        random_state=random_state,
    )
    sections = [section for make in SECTIONS if (section := make(subject)) is not None]
    return Report(page(title, _lead(subject), sections))


def _column(name, values, X):
    """Return values, or the column of ``X`` that they name; ``name`` is the argument."""
    return take_columns(X, **{name: values})[1][0] if isinstance(values, str) else values


def _default_metrics(ranker, y):
    """Return the metric of a ranker, MAP and MRR, for judged labels ``y``."""
    threshold = getattr(ranker, "threshold", 1)
    settings = {"threshold": 0.5 if threshold == 1 and are_shares(y) else threshold}
    beside = [metric_with(name, settings) for name in ("map", "mrr")]
    by_name = {metric.name: metric for metric in [metric_of(ranker), *beside]}
    return [*by_name.values()]


def _measured(metrics, y, scores, groups):
    """Return ``(measured, unmeasured)``: the metrics that some query has a value of, and others.

    Refuses metrics none of which has a value.
    """
    has_value = [not np.isnan(m.per_query(y, scores, groups)).all() for m in metrics]
    measured = [metric for metric, has in zip(metrics, has_value, strict=True) if has]
    unmeasured = [metric for metric, has in zip(metrics, has_value, strict=True) if not has]
    if not measured:
        names = [metric.name for metric in unmeasured]
        raise ValueError(
            f"{spelled('metrics')} must have a value for some query; got {quote(names)}: "
            f"{_why_without_value(unmeasured)}. Name others, such as "
            f"{spelled('metrics', 'pairwise_accuracy')}."
        )
    return measured, unmeasured


def _why_without_value(metrics):
    """Return why no query has a value of metrics."""
    if any(isinstance(metric, FunctionMetric) for metric in metrics):
        return "they are NaN for each query"
    return "no query has a document that is relevant to them"


def _taken(values, rows):
    """Return the entries ``rows`` of a column with one entry per document; None stays None."""
    return None if values is None else taken_rows(values, rows)


#: Advice for scores of a retriever, which are missing where it did not find the document.
_MISSING_SCORES = (
    " If the score of a document that was not found is missing, name the column of the data frame, "
    'baseline="column", which lets it rank last; or give it a number below all others, '
    f"{SCORES_BELOW}."
)


def _baseline_scores(baseline, X, n_documents):
    """Return the baseline's score of each document, or ``None`` without a baseline.

    ``baseline`` is a ranker, an array of scores, or the name of a column of ``X``, in which missing
    values rank last.
    """
    if baseline is None:
        return None
    if isinstance(baseline, str):
        column = take_columns(X, baseline=baseline)[1][0]
        with naming("baseline"):
            scores = as_numbers(f"X[{quote(baseline)}]", column).ravel()
        # Missing ones as of ColumnRanker.
        baseline = np.where(np.isnan(scores), score_below(scores), scores)
    if hasattr(baseline, "predict"):
        check_instance("baseline", baseline, [Ranker])
        _check_fitted(baseline)
        return baseline.predict(X)
    return check_column("baseline", baseline, n_documents, advice=_MISSING_SCORES)


def _check_fitted(baseline):
    """Refuse a baseline that is not fitted."""
    advice = "Fit it first."
    if isinstance(baseline, ColumnRanker) and isinstance(baseline.column, str):
        name = baseline.column
        advice = advice if baseline.smaller_is_better else f"Fit it first, or write {quote(name)}."
    message = f"baseline must be fitted; got {quote(baseline)}. {advice}"
    check_is_fitted(baseline, msg=message.replace("%", "%%"))


def _training_data(ranker, train):
    """Return ``train`` as checked ``(features, labels, queries)``; ``None`` stays ``None``."""
    if train is None:
        return None
    with naming("train"):
        return check_eval_set(ranker, *read_eval_set(ranker, train, "train"))


def _query_names(qid, groups):
    """Return the id of each query as text, in the order of ``groups``; without ``qid`` one name."""
    if qid is None:
        return np.array(["all documents"])
    ids = list(qid)
    return np.array([str(ids[row]) for row in groups.order[groups.indptr[:-1]]], dtype=object)


def _document_names(names, n_documents):
    """Return the name of each document as text; "row 0" and so on if ``names`` is None."""
    if names is None:
        return np.array([f"row {row}" for row in range(n_documents)], dtype=object)
    check_sequence("document_names", names)
    names = np.array([str(name) for name in names], dtype=object)
    if len(names) != n_documents:
        raise ValueError(
            f"document_names must have one entry per document; got {len(names)} for {n_documents}."
        )
    return names


def _with_texts(names, texts):
    """Return each name as "name: text" if ``texts`` has one for it, and else as it is."""
    text_by_id = texts or {}
    named = [f"{name}: {text_by_id[name]}" if name in text_by_id else name for name in names]
    return np.array(named, dtype=object)


def _lead(subject):
    """Return the sentence below the title: which ranker, how many documents and queries."""
    n_documents, n_queries = subject.groups.n_documents, subject.groups.n_queries
    compared = "" if subject.baseline is None else ", compared with a baseline"
    name, of_clusters = type(subject.ranker).__name__, ""
    if subject.clusters is not None:
        of_clusters = f" of {len(np.unique(subject.clusters)):,} clusters"
    return f"{name} on {n_documents:,} documents of {n_queries:,} queries{of_clusters}{compared}."
