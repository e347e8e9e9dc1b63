"""Features: which of them matter to the ranking, and how scores and ranks follow them."""

from typing import Any

import numpy as np

from treerank.documents.columns import taken_rows
from treerank.inspection.effects import Effect, effect
from treerank.inspection.importance import permutation_importance
from treerank.inspection.pair_calibration import drawn_pairs
from treerank.reports.charts import line_chart
from treerank.reports.page import Markup, Section, element, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs, side_by_side, table

#: Numbers of pairs that are explained, of features that are shuffled, of documents that they are
#: shuffled in, and of features and documents whose effects are drawn.
_N_PAIRS, _N_SHUFFLED, _N_DOCUMENTS, _N_EFFECTS, _N_CHANGED = 100, 20, 10_000, 4, 400
_N_VALUES = 12
_EFFECTS = (
    "The mean score, and the mean rank in its query, of documents whose feature is set to a value."
)


def features(subject: Subject) -> Section | None:
    """Return importances of the features with the largest parts of margins, and some effects."""
    rng = np.random.default_rng(subject.random_state)
    i, j = (rows[:_N_PAIRS] for rows in drawn_pairs(subject.y, subject.groups, rng))
    if len(i) == 0:
        return None
    pair = (taken_rows(subject.documents, rows) for rows in (i, j))
    parts = subject.ranker.explain(*pair, random_state=subject.random_state)
    parts = np.abs(parts).mean(axis=0)
    chosen = [int(f) for f in np.argsort(-parts, kind="stable")[:_N_SHUFFLED] if parts[f] > 0]
    rows = subject.rows_of_some_queries(_N_DOCUMENTS)
    shown, order = _importances(subject, chosen, rows, parts)
    effects = [_effect(subject, chosen[n], rows) for n in order[:_N_EFFECTS]]
    charts = [chart for curve in effects if curve is not None for chart in _charts(curve)]
    body = joined([shown, element("h3", "Effects"), paragraphs(_EFFECTS), side_by_side(*charts)])
    return Section("features", "Features", body)


def _importances(
    subject: Subject, chosen: list[int], rows: np.ndarray, parts: np.ndarray
) -> tuple[Markup, list[int]]:
    """Return a table of drops, and the order of the features by drop."""
    data = (taken_rows(subject.documents, rows), subject.y[rows], subject.groups.codes[rows])
    names = subject.feature_names
    settings: dict[str, Any] = {"metric": subject.metrics[0], "n_repeats": 1}
    settings |= {"groups": {names[f]: [f] for f in chosen}, "random_state": subject.random_state}
    importances = permutation_importance(subject.ranker, *data, **settings)
    order = [int(n) for n in importances.order]
    intervals = [importances.interval(n, random_state=subject.random_state) for n in order]
    cells = [
        [
            names[chosen[n]],
            f"{interval.estimate:.4f}",
            f"{interval.low:.4f} to {interval.high:.4f}",
            f"{parts[chosen[n]]:.3g}",
        ]
        for n, interval in zip(order, intervals, strict=True)
    ]
    note = (
        f"The drop is what {subject.main} loses if the documents of each query exchange their "
        f"values of the feature, over {len(rows):,} documents. The part is the mean size of what "
        "the feature adds to the difference of two scores, of pairs of different labels. These "
        f"are the {len(chosen)} features of the largest parts, by their drop."
    )
    title = "Importances of features"
    columns = ["feature", "drop", "95 % interval", "part"]
    return joined([paragraphs(note), table(title, columns, cells)]), order


def _effect(subject: Subject, feature: int, rows: np.ndarray) -> Effect | None:
    """Return the effect of a feature; ``None`` if it is a category or has fewer than two values."""
    values = subject.values_of(rows, feature)
    if feature in subject.ranker.columns_.categories or len(np.unique(values)) < 2:
        return None
    documents = taken_rows(subject.documents, rows)
    settings: dict[str, Any] = {"values": _N_VALUES, "n_documents": _N_CHANGED}
    seed, qid = subject.random_state, subject.groups.codes[rows]
    return effect(subject.ranker, documents, qid, feature=feature, random_state=seed, **settings)


def _charts(curve: Effect) -> list[Markup]:
    """Return a chart of the score and one of the rank."""
    name, x = curve.feature, curve.values
    return [
        line_chart(f"Score by {name}", {"score": (x, curve.score)}, x=name, y="score"),
        line_chart(f"Rank by {name}", {"rank": (x, curve.rank)}, x=name, y="rank"),
    ]
