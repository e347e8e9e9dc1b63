"""Exporting: a ranker is written for another program, which then ranks documents as it does.

What the other program would compute is known exactly, see :mod:`treerank.exports.consumer`. So the
documents of ``check`` are scored in its way before the file is written, and a model that it would
score differently is refused, with the reason.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy.sparse import issparse

from treerank.checks import check_choice, check_sequence, naming, quote, warn_user
from treerank.documents.columns import Columns, as_frame
from treerank.documents.embeddings import sources_of, with_entries
from treerank.documents.eval_set import unpacked
from treerank.documents.features import check_matrix, n_features_of, shown_names
from treerank.documents.labels import check_labels
from treerank.documents.queries import QueryGroups
from treerank.documents.reading import accepted_by, read_documents
from treerank.documents.rows import Rows
from treerank.exports.conversion import (
    TREES_ALONE,
    Conversion,
    ForestConversion,
    converted,
    has_words,
)
from treerank.exports.feature_names import check_unicode
from treerank.exports.formats import (
    FORMATS,
    VERSIONS,
    check_format,
    format_named,
    format_of_version,
)
from treerank.exports.hybrid import (
    DEFAULT_HITS,
    HYBRID_FORMATS,
    HybridConversion,
    can_weigh,
    depths_of,
    hybrid_conversion,
    warn_of_retrievers,
)
from treerank.exports.program_runs import number_columns
from treerank.exports.report import (
    NEAR_TIE,
    ExportReport,
    compare_scores,
    count_changed_pairs,
    negative_values,
)
from treerank.exports.solr import NAME
from treerank.exports.uploads import (
    TABLE,
    UPLOADS,
    check_feature_set,
    check_model_name,
    check_ranker,
    count_negative,
    refuse_other_rankers,
    request_of,
)
from treerank.feature_parts.components import Components
from treerank.files.replaced import check_output, replaced_file
from treerank.metrics.base import Metric
from treerank.metrics.registry import FunctionMetric
from treerank.parameters import Finite, check_arguments
from treerank.rankers.calibration import RelevanceScale
from treerank.rankers.column_ranker import ColumnRanker
from treerank.rankers.ranker import Ranker
from treerank.rankers.scored import expected_components
from treerank.rankers.scoring import metric_of, scores_of
from treerank.spelling import spelled

#: Reasons for which a program may score differently; ``allow`` takes them.
REASONS = ("missing", "rounding", "order", "unchecked")


@check_arguments
def export(
    ranker: Any,
    path: str | Path,
    *,
    format: str,
    version: str | None = None,
    check: Any = None,
    allow: str | Collection[str] = (),
    name: str | None = None,
    feature_set: str | None = None,
    relevance: Finite | None = None,
) -> ExportReport:
    """Write a fitted ranker in the format of another program.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker of trees, linear models, networks or sums of these.
    path : str or path
        The file to write.
    format : str
        Name of the format, see :data:`treerank.exports.formats.FORMATS`; or "opensearch-hybrid" or
        "elasticsearch-linear", which take the weights of a linear model over retrievers. Their
        ``check`` must be the result of :func:`treerank.read_runs`.
    version : str, default=None
        Version of the program, such as "2.18" of "opensearch"; None is the newest one. For
        "elasticsearch-plugin", it is the month in which the plugin was released, as in "2024-02".
        Formats "opensearch", "solr" and "elasticsearch-plugin" differ in what missing values
        become, see :data:`treerank.exports.formats.VERSIONS`. The report names the format of the
        version.
    check : (X, y, qid), (X, y) or X, default=None
        Documents in memory that the other program must rank as the ranker does; the result of a
        file reader will do. Without qid, they are one query. Formats whose program scores some
        documents differently need them.
    allow : one or several of {"missing", "rounding", "order", "unchecked"}, default=()
        Differences that are warned of instead of refused: documents with missing values, values
        that are rounded over a threshold, pairs of documents that change their order since sums
        are rounded, and a model that was not checked. Pairs whose scores differ by at most a
        millionth of their range are not refused; the report counts them in ``n_near_ties``.
    name : str, default=None
        Name of the model in a search engine. Then the file is the whole body of the request that
        uploads it, and ``upload`` of the report says where it goes. Of "elasticsearch", the queries
        for features in it are drafts. :func:`~treerank.exports.uploads.write_feature_set` drafts
        feature sets for the other engines. In "c", names of functions begin with it, as
        ``treerank_score`` does without one, so that several models link into one program. In "sql",
        it is the table of the documents, "documents" by default; a dot follows its schema.
    feature_set : str, default=None
        Name of the feature set, or feature store in Solr, if it is not the name of the model. This
        way each night's new model can use the feature set that the engine already has.
    relevance : float, default=None
        Label for the probability of relevance, ``ranker.predict_relevance(X, at_least=relevance)``,
        which the export then also computes: "c" has a function ``treerank_relevance`` of
        a score, "python" and "javascript" a function ``relevance``, and "onnx" an output
        ``relevance`` beside ``scores``. Other formats cannot express it, and these cannot express
        isotonic fits; every program can compare a score with ``ranker.threshold_for()``.

    Returns
    -------
    ExportReport
        How the scores of the other program differ on the documents of ``check``.

    Examples
    --------
    >>> import tempfile
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(20, random_state=0)
    >>> ranker = TreeDirectRanker(random_state=0).fit(X, y, qid)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export(ranker, folder + "/model.json", format="solr", check=(X, y, qid))
    >>> report.n_changed_pairs
    0

    A request with the model, which ``curl --json @model.json URL/_ltr/...`` sends:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export(
    ...         ranker, folder + "/model.json", format="opensearch", check=X, name="shop"
    ...     )
    >>> report.upload
    'POST _ltr/_featureset/shop/_createmodel'
    """
    check_ranker(ranker)
    check_format(format, [*FORMATS, *HYBRID_FORMATS])
    format = format_of_version(format, version)
    with naming("relevance"):
        log_odds = None if relevance is None else RelevanceScale.of(ranker).log_odds(relevance)
    check_model_name(format, name)
    check_feature_set(format, name, feature_set)
    allow = (allow,) if isinstance(allow, str) else allow
    check_sequence("allow", allow)
    for reason in allow:
        check_reason(reason)
    check_output(path)
    with naming("check"):
        documents = None if check is None else _documents(ranker, check)
    X = None if documents is None else documents.X
    names = shown_names(ranker)
    check_unicode(names)
    if format in HYBRID_FORMATS:
        if log_odds is not None:
            raise ValueError(
                f"relevance must be None for format {quote(format)}; got {quote(relevance)}."
            )
        hybrid = hybrid_conversion(format, ranker.components(), names)
        report, obstacles, content = _compared_hybrid(hybrid, check, documents)
        _refuse_or_warn(format, obstacles, allow)
        if name is not None:
            report = replace(report, upload=hybrid.target.upload.format(name=name))
        with replaced_file(path) as file:
            file.write(content)
        return report
    levels = ranker.columns_.categories
    components = ranker.components()
    default = TABLE if format_named(format).has_table else NAME
    with _advising(ranker):
        conversion = converted(format, components, names, X, log_odds, levels, name or default)
    content = conversion.content()
    report, obstacles = _compared(format, conversion, content, documents)
    _refuse_or_warn(format, obstacles, allow)
    n_negative = {} if X is None else count_negative(format, X, names)
    if n_negative and name is not None and UPLOADS[format].draft is None:
        warn_user(f"The file has drafts of the features. {negative_values(n_negative)}")
    report = replace(report, renamed=conversion.renamed, n_negative=n_negative)
    report = replace(report, categories={names[j]: levels[j] for j in sorted(levels)})
    report = replace(report, embeddings={} if check is None else _embeddings(check, names))
    if name is not None and format in UPLOADS:
        content = request_of(format, content, names, name, feature_set or name)
        report = replace(report, upload=UPLOADS[format].model.format(name=feature_set or name))
    with replaced_file(path) as file:
        file.write(content)
    return report


@check_arguments
def formats_for(ranker: Any, X: Any = None) -> list[str]:
    """Return the formats to which a ranker can be exported, even before it is fitted.

    Most formats support only trees: no linear models or networks, and no categorical splits. So
    find out before a long fit which formats are possible. ``check`` of :func:`export` reports
    documents for which a program computes other scores.

    Parameters
    ----------
    ranker : ranker
        A ranker, fitted or not.
    X : array-like or data frame, default=None
        Documents as ``fit`` gets them, without labels and queries: the formats that will hold the
        ranker, whatever it learns of such documents. ``None`` is what a fitted ranker has learned,
        and for another one two columns of numbers.

    Returns
    -------
    list of str
        Names for ``format`` of :func:`export`; empty for a ranker that is no sum of trees, linear
        models and networks.

    Examples
    --------
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> formats_for(TreeDirectRanker(["linear", "histogram"]))
    ['c', 'javascript', 'json', 'onnx', 'python', 'sql', 'vespa-expression']

    Categories are in fewer formats:

    >>> import pandas as pd
    >>> shop = pd.DataFrame({"price": [9.5, 7.0], "color": ["red", "blue"]})
    >>> ranker = TreeDirectRanker("histogram")
    >>> "solr" in formats_for(ranker), "solr" in formats_for(ranker, shop)
    (True, False)

    A fitted ranker is asked for what it has learned:

    >>> X, y, qid = make_web_search(20, random_state=0)
    >>> len(formats_for(ranker.fit(X, y, qid))) > 10
    True
    """
    try:
        model = _model_of(ranker, X)
    except _NoComponentsError:
        return []
    of_old_versions = {name for by_version in VERSIONS.values() for name in by_version.values()}
    names_of_programs = [n for n in FORMATS if n in VERSIONS or n not in of_old_versions]
    formats = [name for name in names_of_programs if has_words(name, *model)]
    return formats + [name for name in HYBRID_FORMATS if can_weigh(name, *model[:2])]


def refuse_format(ranker: Any, format: str, X: Any, version: str | None = None) -> None:
    """Refuse a format that cannot hold a ranker once it is fitted to documents like ``X``.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> refuse_format(TreeDirectRanker(["linear", "histogram"]), "solr", [[1.0]])
    Traceback (most recent call last):
    ...
    ValueError: format 'solr' has no words for trees and a linear model, which 'c', 'javascript', \
'json', 'onnx', 'python', 'sql' and 'vespa-expression' have. Trees alone can go there: fit them \
without other parts.
    """
    check_format(format, [*FORMATS, *HYBRID_FORMATS])
    format = format_of_version(format, version)
    components, names, levels = _model_of(ranker, X)
    if format in HYBRID_FORMATS:
        hybrid_conversion(format, components, names)
    else:
        with _advising(ranker):
            converted(format, components, names, levels=levels).content()


@contextmanager
def _advising(ranker: Any) -> Iterator[None]:
    """Within the block, let errors advise what is possible for a ranker by a column."""
    try:
        yield
    except ValueError as error:
        if not isinstance(ranker, ColumnRanker):
            raise
        advice = f" To rank by column {ranker.column!r} there, sort by the field itself."
        raise ValueError(str(error).replace(TREES_ALONE, advice)) from error


class _NoComponentsError(ValueError):
    """Raised for a ranker that is no sum of trees, linear models and networks."""


def _model_of(ranker: Any, X: Any) -> tuple[Components, list[str], dict[int, list[Any]]]:
    """Return ``(components, names, categories)`` of a ranker.

    For a ranker that is not fitted, components are such as it will have for documents like ``X``.
    Raises an error for a ranker that has none.
    """
    is_fitted = X is None and (not isinstance(ranker, Ranker) or n_features_of(ranker) is not None)
    if is_fitted:
        check_ranker(ranker)
        names, columns = shown_names(ranker), ranker.columns_
    else:
        refuse_other_rankers(ranker)
        X = ranker.own_column(X) if X is not None and isinstance(ranker, ColumnRanker) else X
        names, columns = (["f0", "f1"], Columns()) if X is None else _columns_of(X)
    documents = Rows(np.empty((0, len(names))), columns=columns)
    check_unicode(names)
    try:
        if columns.categories and not accepted_by(ranker).categories:
            raise ValueError(f"X must have no categories for {quote(ranker)}.")
        return (
            ranker.components() if is_fitted else expected_components(ranker, documents),
            names,
            columns.categories,
        )
    except ValueError as error:
        raise _NoComponentsError(str(error)) from error


def _columns_of(X: Any) -> tuple[list[str], Columns]:
    """Return ``(names, columns)`` of documents; features of arrays are named f0, f1 and so on."""
    with naming("X"):
        X = with_entries(X)
        columns = Columns.of(X)
        if columns.names is not None:
            return [*columns.names], columns
        return [f"f{number}" for number in range(check_matrix("X", X).shape[1])], columns


def check_reason(reason: str) -> None:
    """Refuse a value of ``allow`` that is none of the ``REASONS``.

    These are the reasons, such as "rounding", for which an exported model may score differently.
    """
    check_choice("allow", reason, REASONS)


def _refuse_or_warn(format: str, obstacles: dict[str, str], allow: Collection[str]) -> None:
    """Raise an error for differences of the program that are not allowed; warn of allowed ones.

    ``obstacles`` maps reasons, such as "rounding", to the rest of the message.
    """
    for reason, obstacle in obstacles.items():
        if reason not in allow:
            raise ValueError(
                f"format {quote(format)} {obstacle}; {spelled('allow', reason)} accepts this."
            )
        warn_user(f"Format {quote(format)} {obstacle}.")


def _compared_hybrid(
    conversion: HybridConversion, check: Any, documents: "_Documents | None"
) -> tuple[ExportReport, dict[str, str], bytes]:
    """Return ``(report, obstacles, content)`` of an export to a hybrid query.

    ``check`` is the argument of :func:`export`, and ``documents`` what was read of it, or None.
    ``obstacles`` maps reasons for other scores to messages; ``content`` is the body of the request.
    """
    format, engine = conversion.format, conversion.target.engine
    if documents is None:
        unchecked = (
            "normalizes scores in its own way, so check must be given: what read_runs returned"
        )
        content = conversion.content(DEFAULT_HITS)
        return ExportReport(format, 0), {"unchecked": unchecked}, content
    features, scores, y, groups, metric, _ = documents
    X, _, qid = (*_parts(check), None, None)[:3]
    if qid is None:
        raise ValueError(
            f"check must be (X, y, qid), since {engine} normalizes by query; got no qid. Pass what "
            "read_runs returned."
        )
    retrieved = conversion.retriever_scores(X)
    program_scores = conversion.scores(retrieved, groups)
    report, obstacles = compare_scores(format, scores, program_scores, y, groups, metric), {}
    if report.n_changed_pairs:
        cause = (
            f"{engine} normalizes in another way than the columns of the linear model: fit it to "
            f"read_runs(runs, judgments, engine={engine!r}).normalized()"
        )
        if not conversion.has_whole_lists(features, retrieved, groups):
            cause = (
                f"check has only some of the documents of its lists, and {engine} normalizes by "
                "all of them: pass what read_runs returned, check=data, not check=data.judged()"
            )
        obstacles["order"] = f"changes the order of {report.n_changed_pairs} pairs, since {cause}"
    warn_of_retrievers(format, retrieved, groups)
    window = max(1, *depths_of(retrieved, groups).values())
    return report, obstacles, conversion.content(window)


class _Documents(NamedTuple):
    """Documents of ``check``.

    Attributes
    ----------
    X : ndarray or sparse matrix
        Features.
    scores : ndarray of shape (n_documents,)
        Scores of the ranker.
    y : ndarray of shape (n_documents,) or None
        Labels, if any is known.
    groups : QueryGroups
        Queries.
    metric : Metric or FunctionMetric
        Metric of the ranker.
    booleans : frozenset of int
        Columns of truth values, if the documents are a data frame.
    """

    X: Any
    scores: np.ndarray
    y: np.ndarray | None
    groups: QueryGroups
    metric: Metric | FunctionMetric
    booleans: frozenset[int]


def _parts(check: Any) -> tuple[Any, ...]:
    """Return ``check`` as a tuple (X,), (X, y) or (X, y, qid)."""
    check = unpacked(check)
    parts = check if isinstance(check, tuple) else (check,)
    if len(parts) not in (1, 2, 3):
        raise ValueError(f"check must be X, (X, y) or (X, y, qid); got {len(parts)} parts.")
    return parts


def _embeddings(check: Any, names: list[str]) -> dict[str, int]:
    """Return the number of entries of each column of ``check`` that holds embeddings."""
    X = _parts(check)[0]
    frame: Any = None if issparse(X) else as_frame(X)
    if frame is None:
        return {}
    sources = [sources_of([name], frame.columns)[0] for name in names]
    return dict(Counter(s for name, s in zip(names, sources, strict=True) if name != s))


def _documents(ranker: Any, check: Any) -> _Documents:
    X, y, qid = (*_parts(check), None, None)[:3]
    booleans = _booleans(X, shown_names(ranker))
    X, y, qid = read_documents(ranker, X, y, qid)
    scores = scores_of(ranker, X)
    if isinstance(y, np.ndarray) and y.dtype.kind == "f" and np.isnan(y).all():
        y = None  # as of candidates without judgments
    y = None if y is None else check_labels(y, X.shape[0], "y of check")
    groups = QueryGroups.from_qid(qid, X.shape[0])
    return _Documents(X, scores, y, groups, metric_of(ranker), booleans)


def _booleans(X: Any, names: list[str]) -> frozenset[int]:
    """Return the columns of truth values of a data frame, by their index in ``names``."""
    frame: Any = None if issparse(X) else as_frame(X)
    schema = {} if frame is None else frame.schema
    return frozenset(j for j, name in enumerate(names) if schema.get(name) == nw.Boolean)


def _compared(
    format: str, conversion: Conversion, content: bytes, documents: _Documents | None
) -> tuple[ExportReport, dict[str, str]]:
    """Return ``(report, obstacles)`` on the documents of ``check``.

    ``content`` is the content of the file. ``obstacles`` maps reasons for other scores, such as
    "rounding", to messages. Where the program is installed, it scores the documents itself.
    """
    if documents is None:
        needed = f"{spelled('check')} must be given: documents"
        unchecked = f"may score some documents differently, so {needed}"
        return ExportReport(format, 0), {} if conversion.is_exact else {"unchecked": unchecked}
    X, scores, y, groups, metric, booleans = documents
    if isinstance(conversion, ForestConversion):
        conversion.check_sizes(X)
    program, run = None, format_named(format).run
    if run is not None and isinstance(conversion, ForestConversion):
        rows = X.toarray() if issparse(X) else X
        others = number_columns(conversion.written)
        written = replace(conversion.written, booleans=booleans - others)
        program = run(content, np.asarray(rows, dtype=np.float64), written)
    program_scores = conversion.scores(X) if program is None else program.scores
    report = compare_scores(format, scores, program_scores, y, groups, metric)
    report = replace(report, program=program and program.program)
    deviations, obstacles = conversion.deviations(X), {}
    for reason in ("missing", "rounding"):
        clauses = [str(deviation) for deviation in deviations if deviation.reason == reason]
        if clauses:
            more = f" and {len(clauses) - 5} more features" if len(clauses) > 5 else ""
            listed = "; ".join(clauses[:5]) + more
            obstacles[reason] = f"differs: {listed} of {report.n_documents} documents"
    alike = np.delete(
        np.arange(len(scores)), [row for deviation in deviations for row in deviation.rows]
    )
    near = NEAR_TIE * report.score_range
    n_changed, _ = count_changed_pairs(
        scores[alike], program_scores[alike], groups.take(alike), near
    )
    if n_changed:
        obstacles["order"] = f"changes the order of {n_changed} pairs by rounding sums"
        if groups.n_queries == 1:
            obstacles["order"] += " (of all documents; check=(X, y, qid) counts pairs of a query)"
    return report, obstacles
