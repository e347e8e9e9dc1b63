"""Exporting: a ranker is written for another program, which then ranks documents as it does.

What the other program would compute is known exactly, see :mod:`treerank.export.consumer`. So the
documents of ``check`` are scored in its way before the file is written, and a model that it would
score differently is refused, with the reason.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank.checks import check_choice, warn_user
from treerank.export.adaptation import adapted_thresholds, find_differences
from treerank.export.formats import Format, format_named
from treerank.export.report import ExportReport, compare_scores
from treerank.export.written import Written
from treerank.files.replaced import check_output, replaced_file
from treerank.forests.forest import Forest
from treerank.forests.scoring import forest_scores
from treerank.inputs.documents import check_features, check_labels
from treerank.inputs.grouping import QueryGroups

#: Reasons for which a program may score differently; ``allow`` takes them.
REASONS = ("missing", "rounding", "order", "unchecked")


def export(
    ranker: Any,
    path: str | Path,
    *,
    format: str,
    check: Any = None,
    allow: Collection[str] = (),
) -> ExportReport:
    """Write a fitted ranker in the format of another program.

    Parameters
    ----------
    ranker : ranker
        A fitted ranker with trees.
    path : str or path
        The file to write.
    format : str
        Name of the format, see :data:`treerank.export.formats.FORMATS`.
    check : X, (X, y) or (X, y, qid), default=None
        Documents that the other program must rank as the ranker does. Formats whose program
        scores some documents differently need them.
    allow : collection of {"missing", "rounding", "order", "unchecked"}, default=()
        Differences that are warned of instead of refused: documents with missing values, values
        that are rounded over a threshold, pairs of documents that change their order since sums
        are rounded, and a model that was not checked.

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
    """
    check_is_fitted(ranker)
    target = format_named(format)
    for reason in allow:
        check_choice("allow", reason, REASONS)
    check_output(path)
    forest = ranker.forest()
    _check_can_say(format, target, forest)
    names = _feature_names(ranker)
    documents = None if check is None else _documents(ranker, check)
    written, read = _written(target, forest, names, None if documents is None else documents[0])
    report, obstacles = _compared(format, forest, read, names, documents)
    for reason, obstacle in obstacles.items():
        if reason not in allow:
            raise ValueError(f"format {format!r} {obstacle}; allow={reason!r} accepts this.")
        warn_user(f"Format {format!r} {obstacle}.")
    content = target.write(written)
    with replaced_file(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return report


def _documents(ranker: Any, check: Any) -> tuple[Any, np.ndarray | None, QueryGroups]:
    """Return features, labels and queries of the documents to check."""
    X, y, qid = (*check, None, None)[:3] if isinstance(check, tuple) else (check, None, None)
    X = check_features(ranker, X)
    y = None if y is None else check_labels(y, X.shape[0], "y of check")
    return X, y, QueryGroups.from_qid(qid, X.shape[0])


def _feature_names(ranker: Any) -> list[str]:
    names = getattr(ranker, "feature_names_in_", None)
    return [f"f{i}" for i in range(ranker.n_features_in_)] if names is None else list(names)


def _check_can_say(format: str, target: Format, forest: Forest) -> None:
    """Refuse a forest that has what a format has no words for."""
    consumer = target.consumer
    if consumer is not None and not consumer.categories and forest.categories is not None:
        feature = int(forest.feature[np.argmax(forest.categories.of_node >= 0)])
        raise ValueError(f"format {format!r} has no categories; got some in column {feature}.")
    if target.max_depth is not None and forest.depth > target.max_depth:
        raise ValueError(
            f"format {format!r} takes trees of at most {target.max_depth} splits on a path; got "
            f"{forest.depth}."
        )


def _written(target: Format, forest: Forest, names: list[str], X: Any) -> tuple[Written, Forest]:
    """Return what is written, and the forest that the program evaluates then."""
    if target.consumer is None:
        return Written(forest, forest.threshold, names), forest
    thresholds = adapted_thresholds(forest, target.consumer.comparison, X)
    return Written(forest, thresholds, names), target.consumer.evaluated(forest, thresholds)


def _compared(
    format: str, forest: Forest, read: Forest, names: list[str], documents: Any
) -> tuple[ExportReport, dict[str, str]]:
    """Return the report, and what the program does differently by reason."""
    if documents is None:
        unchecked = "scores some documents differently, so check must be given"
        return ExportReport(format, 0), {} if read is forest else {"unchecked": unchecked}
    X, y, groups = documents
    scores, others = (forest_scores(each, X)[:, 0] for each in (forest, read))
    report = compare_scores(format, scores, others, y, groups)
    found = [] if read is forest else find_differences(forest, read, X, names)
    obstacles = {}
    for reason in ("missing", "rounding"):
        clauses = [str(difference) for difference in found if difference.reason == reason]
        if clauses:
            more = f" and {len(clauses) - 5} more features" if len(clauses) > 5 else ""
            listed = "; ".join(clauses[:5]) + more
            obstacles[reason] = f"differs: {listed} of {report.n_documents} documents"
    if report.n_changed_pairs and not obstacles:
        changed = f"changes the order of {report.n_changed_pairs} pairs by rounding sums"
        obstacles["order"] = changed
    return report, obstacles
