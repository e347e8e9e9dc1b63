"""Examples: bad queries with their documents, and why some stand above better ones."""

import itertools
from typing import Any

import numpy as np

from treerank.documents.columns import taken_rows
from treerank.inspection.rank_changes import RankChanges, costly_rank_changes
from treerank.metrics.graded_metrics import NDCG
from treerank.reports.page import Section, element, joined
from treerank.reports.subject import Subject
from treerank.reports.tables import paragraphs

#: Numbers of documents of a query, of swaps of a query and of features of a swap that are shown.
_N_DOCUMENTS, _N_SWAPS, _N_FEATURES = 25, 3, 8
#: Documents of queries that are shown without explanations.
_MOST_ROWS = 5_000
_LEAD = (
    "Each query has its documents by rank, and the pairs in the wrong order that cost most NDCG. "
    "The bars say what each feature adds to the score of the upper document above the lower one."
)
_SAMPLED = (
    "The parts of this ranker are sampled; the number after ± is the standard error of a part."
)


def examples(subject: Subject) -> Section | None:
    """Return the worst queries, and those that lose most against the baseline."""
    lost, lowest = _lost(subject), _lowest(subject)
    lowest = [q for q in lowest if q not in lost][: subject.n_examples - len(lost)]
    chosen = lost + lowest
    if len(chosen) == 0:
        return None
    metric = subject.metrics[0] if isinstance(subject.metrics[0], NDCG) else "ndcg@10"
    rows = np.concatenate([subject.groups.rows[q] for q in chosen])
    codes = np.repeat(np.arange(len(chosen)), subject.groups.sizes[chosen])
    limits = {"n_pairs": len(chosen) * _N_SWAPS, "per_query": _N_SWAPS}
    swaps = costly_rank_changes(
        subject.y[rows], subject.scores[rows], codes, metric=metric, **limits
    )
    swaps = RankChanges(rows[swaps.above], rows[swaps.below], swaps.query, swaps.cost)
    parts = _parts(subject, swaps)
    queries = [*chosen, *_others(subject, chosen)]
    entries = [_example(subject, q, n, swaps, parts) for n, q in enumerate(queries)]
    kinds = [["Lost most", len(lost)], [f"Lowest {subject.main}", len(lowest)]]
    lead = [_LEAD, _SAMPLED] if parts[1].any() else [_LEAD]
    body = [paragraphs(*lead), _stepper("example", "query"), element("div", id="example")]
    data = {"examples": entries, "kinds": kinds}
    n_lost = int((subject.gaps < 0).sum())
    who = "1 query is" if n_lost == 1 else f"{n_lost:,} queries are"
    hints = [f"{who} worse than by the baseline."] if lost else []
    return Section("examples", "Worst queries", joined(body), data, hints=hints)


def _lost(subject: Subject) -> list[int]:
    """Return the queries that lose most against the baseline, half of those that are explained."""
    order = np.argsort(subject.gaps, kind="stable")[: (subject.n_examples + 1) // 2]
    return [int(q) for q in order if subject.gaps[q] < 0]


def _lowest(subject: Subject) -> list[int]:
    """Return the queries of the lowest values."""
    values = subject.values[subject.main]
    order = np.argsort(values, kind="stable")[: 2 * subject.n_examples]  # NaN comes last
    return [int(q) for q in order if values[q] < 1]


def _others(subject: Subject, chosen: list[int]) -> list[int]:
    """Return further queries whose documents are shown, without explanations, worst first."""
    order = np.argsort(subject.values[subject.main], kind="stable")
    further = order[~np.isin(order, chosen)]
    n_rows = np.cumsum(np.minimum(subject.groups.sizes[further], _N_DOCUMENTS))
    return [int(q) for q in further[n_rows <= _MOST_ROWS]]


def _parts(subject: Subject, swaps: RankChanges) -> np.ndarray:
    """Return how much each feature adds to the margin of each swap, then the standard errors."""
    if len(swaps) == 0:
        return np.empty((2, 0, subject.X.shape[1]))
    pair = (taken_rows(subject.documents, rows) for rows in (swaps.above, swaps.below))
    seed = subject.random_state
    return np.array(subject.ranker.explain(*pair, random_state=seed, with_errors=True))


def _stepper(key: str, name: str) -> Any:
    """Return buttons and a list to step through examples."""
    return element(
        "div",
        element("button", f"Previous {name}", type="button", id=f"previous-{key}"),
        element("button", f"Next {name}", type="button", id=f"next-{key}"),
        element("label", name.capitalize(), for_=f"choose-{key}"),
        element("select", id=f"choose-{key}"),
        element("output", id=f"{key}-status", role="status"),
        class_="controls",
    )


def _example(subject: Subject, q: int, number: int, swaps: RankChanges, parts: np.ndarray) -> Any:
    """Return what the script shows of a query."""
    rows = subject.groups.rows[q]
    ranks = _ranks(subject.scores, rows)
    before = {} if subject.baseline is None else _ranks(subject.baseline, rows)
    names, y, scores = subject.document_names, subject.y, subject.scores
    documents = [
        [rank, str(names[row]), float(y[row]), round(float(scores[row]), 5), before.get(row)]
        for row, rank in itertools.islice(ranks.items(), _N_DOCUMENTS)
    ]
    of_query = np.flatnonzero(swaps.query == number).tolist()
    return {
        "number": q,
        "query": str(subject.query_names[q]),
        "values": _values(subject, q),
        "more": len(rows) - len(documents),
        "documents": documents,
        "swaps": [_swap(subject, swaps, parts, n, ranks) for n in of_query],
    }


def _ranks(scores: np.ndarray, rows: np.ndarray) -> dict[int, int]:
    """Return the rank of each document of a query by its row, best first."""
    ranked = rows[np.argsort(-scores[rows], kind="stable")]
    return {row: rank for rank, row in enumerate(ranked.tolist(), start=1)}


def _values(subject: Subject, q: int) -> str:
    """Return the values of a query as text."""
    shown = [f"{name} {values[q]:.3f}" for name, values in subject.values.items()]
    if subject.baseline_values:
        shown.append(f"baseline {subject.main} {subject.baseline_values[subject.main][q]:.3f}")
    return ", ".join(shown)


def _swap(subject: Subject, swaps: RankChanges, parts: np.ndarray, n: int, ranks: Any) -> Any:
    """Return two documents in the wrong order, and the largest parts of their margin."""
    above, below = int(swaps.above[n]), int(swaps.below[n])
    contributions, errors = parts[:, n]
    largest = np.argsort(-np.abs(contributions), kind="stable")[:_N_FEATURES]
    largest = largest[contributions[largest] != 0]
    remainder = contributions.sum() - contributions[largest].sum()
    return {
        "pair": [
            {"name": str(subject.document_names[row]), "rank": ranks[row], "label": subject.y[row]}
            for row in (above, below)
        ],
        "cost": round(float(swaps.cost[n]), 4),
        "margin": _rounded(contributions.sum()),
        "rest": _rounded(remainder),
        "parts": [
            [subject.feature_names[j], _rounded(contributions[j]), _rounded(errors[j])]
            + [subject.value_text(row, j) for row in (above, below)]
            for j in map(int, largest)
        ],
    }


def _rounded(value: float) -> float:
    """Return a number with five significant digits."""
    return float(f"{value:.5g}")
