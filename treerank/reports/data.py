"""Data: sizes, labels, missing values, drift, and documents or features that leak."""

import numpy as np

from treerank.documents.columns import BEHAVIOR_NAMES
from treerank.inspection.data_sheets import DataSheet, data_sheet, drift_of, label_shares
from treerank.inspection.leaks import duplicates, values_of_features
from treerank.reports.page import Markup, Section, joined
from treerank.reports.subject import Subject, counted
from treerank.reports.tables import paragraphs, side_by_side, table

#: Numbers of features and of documents that are named.
_MOST_FEATURES, _MOST_NAMES = 10, 10
#: Documents that single features rank.
_N_DOCUMENTS = 20_000
#: Hints: least share of documents in training, distance of a feature, and share of the metric.
_COPIED, _DRIFTED, _LEAKING = 0.01, 0.2, 0.98


def data(subject: Subject) -> Section:
    """Return the section on the data: sizes, labels, missing values, drift, leaking features."""
    sheets = {"test": data_sheet(subject.X, subject.y, subject.groups)}
    if subject.train is not None:
        sheets["train"] = data_sheet(*subject.train)
    judged = {"test": sheets["test"]} if subject.trained_on_clicks else sheets
    hints: list[str] = []
    tables = [_sizes(sheets), _labels(judged), _missing(subject, sheets), _drift(subject, hints)]
    body = side_by_side(*tables, _single(subject, hints), flowing=True)
    notes = [_duplicates(subject, hints), _clicks(subject)]
    if subject.n_unjudged:
        hints.append(f"Documents that nobody has judged are left out: {subject.n_unjudged:,}.")
        notes.append(paragraphs(hints[-1]))
    if not any(sheet.missing.any() for sheet in sheets.values()):
        notes.append(paragraphs("No feature has missing values."))
    return Section("data", "Data", joined([*notes, body]), hints=hints)


def _sizes(sheets: dict[str, DataSheet]) -> Markup:
    rows = [
        ["documents", *(f"{s.n_documents:,}" for s in sheets.values())],
        ["queries", *(f"{s.n_queries:,}" for s in sheets.values())],
        ["queries with a single label", *(f"{s.without_pairs:,}" for s in sheets.values())],
        ["features", *(f"{s.n_features:,}" for s in sheets.values())],
        [
            "features with a single value",
            *(f"{int((s.distinct < 2).sum()):,}" for s in sheets.values()),
        ],
    ]
    for name in ("least", "median", "mean", "most"):
        sizes = [s.documents_per_query[name] for s in sheets.values()]
        rows.append([f"documents per query, {name}", *(f"{size:,.5g}" for size in sizes)])
    return table("Sizes", ["", *sheets], rows)


def _labels(judged: dict[str, DataSheet]) -> Markup:
    shares = [label_shares(sheet.labels, of=judged.values()) for sheet in judged.values()]
    rows = [[label, *(f"{100 * s[label]:.1f} %" for s in shares)] for label in shares[0]]
    return table("Shares of labels", ["label", *judged], rows)


def _duplicates(subject: Subject, hints: list[str]) -> Markup:
    copies = duplicates(
        subject.X, subject.groups, None if subject.train is None else subject.train[0]
    )
    notes = [
        f"Documents with the same features as another document of their query: {copies.within:,}."
    ]
    if subject.train is not None:
        n_copied = len(copies.in_reference)
        if n_copied > _COPIED * len(subject.y):
            hints.append(f"{counted(n_copied, 'document was', 'documents were')} in training, too.")
        names = ", ".join(map(str, subject.document_names[copies.in_reference[:_MOST_NAMES]]))
        notes.append(
            f"Documents with the same features as a training document: {n_copied:,} (first: "
            f"{names or 'none'}); queries with only such documents: "
            f"{copies.queries_in_reference:,}."
        )
    return paragraphs(*notes)


def _clicks(subject: Subject) -> Markup:
    if subject.train is None or not subject.trained_on_clicks:
        return Markup()
    share = 100 * subject.train[1].mean()
    return paragraphs(
        f"The training data consist of documents that were shown, and {share:.1f} % of the rows "
        "are clicks. Clicks are not labels, and are not compared with the labels of the test "
        "data."
    )


def _missing(subject: Subject, sheets: dict[str, DataSheet]) -> Markup:
    shares = np.array([sheet.missing for sheet in sheets.values()])
    most = _highest(shares.max(axis=0))
    if len(most) == 0:
        return Markup()
    rows = [[subject.feature_names[j], *(f"{100 * s:.1f} %" for s in shares[:, j])] for j in most]
    n_all = int((shares.max(axis=0) > 0).sum())
    features = counted(n_all, "feature", "features")
    n_shown = "" if len(most) == n_all else f"{len(most)} of "
    return table(f"Missing values: {n_shown}{features}", ["feature", *sheets], rows)


def _drift(subject: Subject, hints: list[str]) -> Markup:
    if subject.train is None:
        return Markup()
    categories = subject.ranker.columns_.categories
    distances = drift_of(subject.X, subject.train[0], categories)
    moved = np.flatnonzero(distances >= _DRIFTED)
    if len(moved):
        most = subject.feature_names[int(np.argmax(distances))]
        features = counted(len(moved), "feature", "features")
        hints.append(f"Values differ from training in {features}, most in {most}.")
    rows = [[subject.feature_names[j], f"{distances[j]:.3f}"] for j in _highest(distances)]
    if not rows:
        return paragraphs("No feature has drifted from the training data to the test data.")
    title = "Drift from training to test: Kolmogorov-Smirnov distance"
    if categories:
        title += ", of categories total variation distance"
    return table(title, ["feature", "distance"], rows)


def _single(subject: Subject, hints: list[str]) -> Markup:
    """Return a table of the features that alone rank best, by the first metric.

    Appends to ``hints`` if a feature may leak the label.
    """
    metric = subject.metrics[0]
    rows = subject.rows_of_some_queries(_N_DOCUMENTS)
    data = subject.X[rows], subject.y[rows], subject.groups.take(rows)
    values = values_of_features(*data, metric, subject.ranker.columns_.categories)
    highest = _highest(values)
    cells = [[subject.feature_names[j], f"{values[j]:.4f}"] for j in highest]
    ranker_mean = np.nanmean(subject.values[subject.main])
    if highest and values[highest[0]] >= _LEAKING * ranker_mean:
        name = subject.feature_names[highest[0]]
        hints.append(f"{name} alone ranks about as well as the ranker: does it know the label?")
    for name in subject.feature_names:
        if name.lower() in BEHAVIOR_NAMES:
            hints.append(
                f"{name} sounds as if it were known only after a list was shown: is it known "
                "earlier?"
            )
    note = (
        f"If a single feature ranks about as well as the ranker ({ranker_mean:.4f}), it may "
        "contain information that is known only later."
    )
    title = f"The best single features, over {len(rows):,} documents"
    return joined([paragraphs(note), table(title, ["feature", subject.main], cells)])


def _highest(values: np.ndarray) -> list[int]:
    """Return the indices of the ``_MOST_FEATURES`` features with the highest positive values."""
    order = np.argsort(-values, kind="stable")[:_MOST_FEATURES]
    return [int(j) for j in order if values[j] > 0]
