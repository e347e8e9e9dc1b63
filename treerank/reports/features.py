"""Features: which of them matter to the ranking, and how scores and ranks follow them."""

from typing import Any

import numpy as np

from treerank.display.charts import Curves
from treerank.documents.columns import taken_rows
from treerank.inspection.effects import effect
from treerank.inspection.importance import permutation_importance
from treerank.inspection.pair_calibration import drawn_pairs
from treerank.reports.charts import line_chart
from treerank.reports.dots import dot_table, dots_of, interval_text
from treerank.reports.page import Markup, Section, element, joined
from treerank.reports.subject import Subject, counted
from treerank.reports.tables import folded, paragraphs, side_by_side

#: Numbers of pairs that are explained, of features that are shuffled, of documents that they are
#: shuffled in, and of features and documents whose effects are drawn.
_N_PAIRS, _N_SHUFFLED, _N_DOCUMENTS, _N_EFFECTS, _N_CHANGED = 100, 20, 10_000, 4, 400
#: Values of an effect, of which some are quantiles and some evenly spaced, the share of documents
#: that is left out at either end, and ticks of a rug.
_N_QUANTILES, _N_SPACED, _TAIL, _N_TICKS = 8, 6, 0.01, 100
_EFFECTS = (
    "The mean score, and the mean rank within the query, if the feature is set to a value for all "
    "documents (partial dependence). Ticks at the bottom are values in the data; the highest and "
    "the lowest 1 % are left out."
)


def features(subject: Subject) -> Section | None:
    """Return the section on features: importances of those with large contributions, some effects.

    None if no query has documents with different labels.
    """
    rng = np.random.default_rng(subject.random_state)
    i, j = (rows[:_N_PAIRS] for rows in drawn_pairs(subject.y, subject.groups, rng))
    if len(i) == 0:
        return None
    pair = (taken_rows(subject.documents, rows) for rows in (i, j))
    parts = subject.ranker.explain(*pair, random_state=subject.random_state)
    parts = np.abs(parts).mean(axis=0)
    chosen = [int(f) for f in np.argsort(-parts, kind="stable")[:_N_SHUFFLED] if parts[f] > 0]
    rows = subject.rows_of_some_queries(_N_DOCUMENTS)
    section, order = _importances(subject, chosen, rows, parts)
    effects = (_charts(subject, chosen[n], rows) for n in order[:_N_EFFECTS])
    charts = [chart for of_feature in effects for chart in of_feature]
    parts_of_page = [section]
    if charts:
        parts_of_page += [element("h3", "Effects"), paragraphs(_EFFECTS), side_by_side(*charts)]
    body = joined(parts_of_page)
    return Section("features", "Features", body)


def _importances(
    subject: Subject, chosen: list[int], rows: np.ndarray, parts: np.ndarray
) -> tuple[Markup, list[int]]:
    """Return ``(table, order)``: permutation importances of features ``chosen``, their order.

    ``rows`` are the documents to measure on, ``parts`` the mean absolute contribution of each
    feature. ``order`` has indices into ``chosen``, the most important first.
    """
    data = (taken_rows(subject.documents, rows), subject.y[rows], subject.groups.take(rows))
    names = subject.feature_names
    settings: dict[str, Any] = {"metric": subject.metrics[0], "n_repeats": 1}
    settings |= {"groups": {names[f]: [f] for f in chosen}, "random_state": subject.random_state}
    clusters = subject.cluster_of_row
    if clusters is not None and len(np.unique(clusters[rows])) > 1:
        settings["clusters"] = clusters[rows]
    importances = permutation_importance(subject.ranker, *data, **settings)
    order = [int(n) for n in importances.order]
    dots = dots_of(importances.chart(most=len(order)))
    cells = [
        [
            names[chosen[n]],
            f"{dot.estimate:.4f}",
            dot if dot.has_bounds else "",
            interval_text(dot) if dot.has_bounds else "",
            f"{parts[chosen[n]]:.3g}",
        ]
        for n, dot in zip(order, dots, strict=True)
    ]
    note = (
        f"The drop is how much {subject.main} falls if the values of the feature are shuffled "
        f"within each query (permutation importance), over {len(rows):,} documents. The part is "
        "the mean absolute contribution of the feature to the difference between the scores of "
        "two documents with different labels. Of the "
        f"{counted(len(chosen), 'feature', 'features')} with the largest parts, those whose 95 % "
        "interval contains 0 are folded."
    )
    columns = ["feature", "drop", "with its interval", "95 % interval", "part"]
    is_folded = [dot.has_bounds and dot.side == "none" for dot in dots]
    clear = [row for row, below in zip(cells, is_folded, strict=True) if not below]
    folded_rows = [row for row, below in zip(cells, is_folded, strict=True) if below]
    blocks = [paragraphs(note)]
    if clear:
        title = f"Importances: the drop of {subject.main} without a feature"
        blocks.append(dot_table(title, columns, clear, scaled_by=folded_rows))
    if folded_rows:
        title = counted(len(folded_rows), "feature", "features") + " without a significant drop"
        table = dot_table(title, columns, folded_rows, scaled_by=clear)
        blocks.append(folded(f"{title}: show", table))
    return joined(blocks), order


def _charts(subject: Subject, feature: int, rows: np.ndarray) -> list[Markup]:
    """Return charts of the mean score and of the mean rank by the value of a feature.

    The list is empty for a categorical feature, or for one with fewer than two values in ``rows``.
    """
    values = subject.values_of(rows, feature)
    if feature in subject.ranker.columns_.categories or len(np.unique(values)) < 2:
        return []
    grid = _grid(values)
    settings: dict[str, Any] = {"values": grid, "n_documents": _N_CHANGED}
    seed, qid = subject.random_state, subject.groups.codes[rows]
    documents = taken_rows(subject.documents, rows)
    curve = effect(subject.ranker, documents, qid, feature=feature, random_state=seed, **settings)
    name, shares = curve.feature, np.linspace(0, 1, _N_TICKS)
    rug = np.quantile(values, shares, method="inverted_cdf")
    look: dict[str, Any] = {"rug": rug, "may_be_log": True}
    by_score, by_rank = curve.chart(of="score"), curve.chart(of="rank")
    assert isinstance(by_score, Curves)  # as of all features that are numbers
    assert isinstance(by_rank, Curves)
    return [
        line_chart(f"Score by {name}", by_score, **look),
        line_chart(f"Rank by {name}", by_rank, **look),
    ]


def _grid(values: np.ndarray) -> np.ndarray:
    """Return the values of a feature at which to compute its effect: all if few are distinct.

    Else some of the quantiles and evenly spaced values, without the extreme ends.
    """
    distinct = np.unique(values)
    if len(distinct) <= _N_QUANTILES + _N_SPACED:
        return distinct
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL], method="inverted_cdf")
    inner = distinct[(distinct >= low) & (distinct <= high)]
    if len(inner) < 2:  # nearly all documents have one value
        inner = distinct
    shares = np.linspace(_TAIL, 1 - _TAIL, _N_QUANTILES)
    quantiles = np.quantile(values, shares, method="inverted_cdf")
    spaced = np.linspace(inner[0], inner[-1], _N_SPACED)
    nearest = inner[np.abs(inner[:, None] - spaced).argmin(axis=0)]
    return np.unique([*quantiles, *nearest])
