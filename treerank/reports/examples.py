"""Examples: queries with both lists side by side, and why some documents stand above better ones.

Every query can be opened. Documents of the worst queries, and of those that lost or won most, have
their names; of the others there are only grades and ranks, in a few letters each.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from treerank.documents.columns import taken_rows
from treerank.inspection.rank_changes import RankChanges, costly_rank_changes
from treerank.reports.page import Section, element, joined
from treerank.reports.queries import query_order, shown_queries
from treerank.reports.subject import Subject, counted
from treerank.reports.tables import paragraphs

#: Numbers of documents of a list that are shown if its pairs are explained, and if not.
_N_DOCUMENTS, _N_OTHERS = 20, 10
#: Numbers of pairs of a query and of features of a pair that are shown.
_N_SWAPS, _N_FEATURES = 3, 8
#: Characters of the table of queries and of documents with names, without those whose pairs are
#: explained, so that a file of 4,400 queries has less than 1 MB; and least of the documents alone.
_MOST_CHARACTERS, _LEAST_CHARACTERS = 720_000, 60_000
#: Characters of a row of the table and of a document, beside the name.
_OF_QUERY, _OF_DOCUMENT = 100, 30
#: Digits of grades and ranks; a rank that is too high for one is the first.
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LEAD = "Each line connects the two ranks of a document."
_ALONE = "Each query has its documents by rank."
_PAIRS = (
    "The pairs are those in the wrong order that cost the most NDCG. Bars show how much each "
    "feature contributes to the lead of the upper document."
)
_SAMPLED = "The contributions are estimated by sampling; the number after ± is the standard error."


def examples(subject: Subject) -> Section:
    """Return the section with example queries: those that lost most, rank worst, and won most.

    Its data are what the script needs to show the ranked lists of all queries.
    """
    lost, lowest, won = _lost(subject), _lowest(subject), _won(subject)
    lowest = [q for q in lowest if q not in lost][: subject.n_examples - len(lost)]
    explained = lost + lowest
    won = [q for q in won if q not in explained]
    swaps = _swaps(subject, explained)
    parts = _parts(subject, swaps)
    ranks = _Ranks(subject)
    named = [*explained, *won, *_others(subject, [*explained, *won], ranks)]
    entries = [_example(subject, q, n, swaps, parts, ranks) for n, q in enumerate(named)]
    lists, labels = ranks.encoded()
    kinds = [["Largest losses", len(lost)], [f"Lowest {subject.main}", len(lowest)]]
    data = {"examples": entries, "explained": len(explained), "lists": lists, "labels": labels}
    data["kinds"] = [*kinds, ["Largest gains", len(won)]]
    data["top_label"] = float(subject.y.max())
    lead = [_ALONE if subject.baseline is None else _LEAD]
    lead += [_PAIRS if subject.ndcg is not None else "", _note(subject, len(named), lists)]
    lead += [_SAMPLED] if parts[1].any() else []
    body = [paragraphs(" ".join(filter(None, lead))), _stepper("example", "query")]
    n_lost = int((subject.gaps < 0).sum())
    hints = [
        f"{counted(n_lost, 'query is', 'queries are')} ranked worse by the ranker than by the "
        "baseline."
    ]
    body.append(element("div", id="example"))
    title = "Lists" if subject.baseline is None else "Lists side by side"
    return Section("examples", title, joined(body), data, hints=hints if lost else ())


def _note(subject: Subject, n_named: int, lists: list[str]) -> str:
    """Return a sentence on how many queries are shown with names of documents; "" if all are.

    ``lists`` is not empty if the others are shown by grades and ranks alone.
    """
    n_queries = subject.groups.n_queries
    if n_named == n_queries:
        return ""
    clause = "; the other queries show only grades and ranks" if lists else ""
    return f"The names of documents are shown for {n_named:,} of {n_queries:,} queries{clause}."


def _swaps(subject: Subject, chosen: list[int]) -> RankChanges:
    """Return the wrongly ordered pairs that cost most NDCG, ``_N_SWAPS`` per query at most.

    ``chosen`` are the queries; the result's ``query`` is the index in this list, and its documents
    are rows of all the data.
    """
    metric = subject.ndcg
    if not chosen or metric is None:
        none = np.empty(0, dtype=np.int64)
        return RankChanges(none, none, none, np.empty(0))
    if metric.n_relevant is not None:
        counts = metric.n_relevant_of(np.zeros(len(subject.y)), subject.groups)[chosen]
        metric = replace(metric, n_relevant=dict(enumerate(counts.tolist())))
    rows = np.concatenate([subject.groups.rows[q] for q in chosen])
    codes = np.repeat(np.arange(len(chosen)), subject.groups.sizes[chosen])
    limits = {"n_pairs": len(chosen) * _N_SWAPS, "per_query": _N_SWAPS}
    swaps = costly_rank_changes(
        subject.y[rows], subject.scores[rows], codes, metric=metric, **limits
    )
    return RankChanges(rows[swaps.above], rows[swaps.below], swaps.query, swaps.cost)


def _lost(subject: Subject) -> list[int]:
    """Return the queries with the largest losses against the baseline, worst first.

    They are at most half of ``n_examples``; none without a baseline.
    """
    order = np.argsort(subject.gaps, kind="stable")[: (subject.n_examples + 1) // 2]
    return [int(q) for q in order if subject.gaps[q] < 0]


def _lowest(subject: Subject) -> list[int]:
    """Return the queries with the lowest values of the first metric below 1, worst first.

    They are at most twice ``n_examples``, since some may be chosen already.
    """
    values = subject.values[subject.main]
    order = np.argsort(values, kind="stable")[: 2 * subject.n_examples]  # NaN comes last
    return [int(q) for q in order if values[q] < 1]


def _won(subject: Subject) -> list[int]:
    """Return the queries with the largest gains over the baseline, best first.

    They are at most a quarter of ``n_examples``; none without a baseline.
    """
    order = np.argsort(-subject.gaps, kind="stable")[: (subject.n_examples + 3) // 4]
    return [int(q) for q in order if subject.gaps[q] > 0]


def _others(subject: Subject, chosen: list[int], ranks: "_Ranks") -> list[int]:
    """Return further queries to show with names of documents, as many as the page has room for.

    They come from the start of the table of queries, and with a baseline from its end, too.
    ``chosen`` are the queries that are shown already.
    """
    order = query_order(subject)
    further = order[~np.isin(order, chosen)].tolist()
    ends = [further, further[::-1]] if subject.baseline_values else [further]
    of_table = sum(len(subject.query_names[q]) + _OF_QUERY for q in ranks.of_table)
    n_characters = max(_MOST_CHARACTERS - of_table, _LEAST_CHARACTERS)
    taken, named = list[int](), set[int]()
    for one_end in ends:
        n_left = n_characters // len(ends)
        for q in one_end:
            rows = ranks.shown(q, _N_OTHERS)
            n_left -= sum(len(str(subject.document_names[row])) + _OF_DOCUMENT for row in rows)
            if n_left < 0 or q in named:
                break
            taken.append(q)
            named.add(q)
    return taken


def _parts(subject: Subject, swaps: RankChanges) -> np.ndarray:
    """Return the contributions of features to the score margin of each pair, and standard errors.

    The shape is (2, n_swaps, n_features): first the contributions, then their errors.
    """
    if len(swaps) == 0:
        return np.empty((2, 0, subject.X.shape[1]))
    pair = (taken_rows(subject.documents, rows) for rows in (swaps.above, swaps.below))
    seed = subject.random_state
    return np.array(subject.ranker.explain(*pair, random_state=seed, with_errors=True))


def _stepper(key: str, name: str) -> Any:
    """Return buttons and a list by which to step through examples.

    ``key`` begins their HTML ids, and ``name`` says what an example is, such as "query".
    """
    return element(
        "div",
        element("button", f"Previous {name}", type="button", id=f"previous-{key}"),
        element("button", f"Next {name}", type="button", id=f"next-{key}"),
        element("label", name.capitalize(), for_=f"choose-{key}"),
        element("select", id=f"choose-{key}"),
        element("output", id=f"{key}-status", role="status"),
        class_="controls",
    )


def _example(
    subject: Subject, q: int, number: int, swaps: RankChanges, parts: np.ndarray, ranks: "_Ranks"
) -> Any:
    """Return the dict that the script shows of query ``q``: its first documents and costly pairs.

    ``number`` is the query's number in ``swaps``; ``parts`` are the contributions of features to
    the margins of these. A document is a list of rank, name, label, score and, with a baseline,
    rank by the baseline.
    """
    of_query = np.flatnonzero(swaps.query == number).tolist()
    rows = ranks.shown(q, _N_DOCUMENTS if of_query else _N_OTHERS)
    names, y, scores = subject.document_names, subject.y, subject.scores
    documents = [
        [ranks.now[row], str(names[row]), float(y[row]), round(float(scores[row]), 5)]
        + ([] if ranks.before is None else [ranks.before[row]])
        for row in rows
    ]
    pairs = [_swap(subject, swaps, parts, n, ranks) for n in of_query]
    entry = {"number": q, "documents": documents, "swaps": pairs}
    if q not in ranks.of_table:  # the script finds no row of it
        entry |= {"query": str(subject.query_names[q]), "values": _values(subject, q)}
    return entry


class _Ranks:
    """The rank of each document in its query, from 1, by row.

    ``now`` are the ranks by the ranker and ``before`` by the baseline, None without one.
    ``of_table`` has the queries of the table as its keys.
    """

    def __init__(self, subject: Subject):
        self.subject = subject
        self.of_table = dict.fromkeys(shown_queries(subject).tolist())
        self.now = self._by_row(subject.scores)
        self.before = None if subject.baseline is None else self._by_row(subject.baseline)

    def _by_row(self, scores: np.ndarray) -> list[int]:
        groups = self.subject.groups
        order = np.lexsort((-scores, groups.codes))  # of equal scores, the first row is first
        ranks = np.empty(len(scores), dtype=np.int64)
        ranks[order] = np.arange(len(scores)) - np.repeat(groups.indptr[:-1], groups.sizes) + 1
        return ranks.tolist()

    def shown(self, q: int, n: int) -> list[int]:
        """Return the rows of query ``q`` which the ranker or the baseline ranks in the first ``n``.

        They are in the ranker's order.
        """
        rows = self.subject.groups.rows[q].tolist()
        before = self.now if self.before is None else self.before
        rows = [row for row in rows if self.now[row] <= n or before[row] <= n]
        return sorted(rows, key=lambda row: self.now[row])

    def encoded(self) -> tuple[list[str], list[float]]:
        """Return ``(lists, labels)``: each listed query's top documents as a string, and labels.

        ``labels`` are the distinct ones, which strings name by their digits. A string has, for the
        first documents of the ranker by rank, the label and the rank by the baseline; then, for
        those that only the baseline ranks so high, the rank, the label and the rank by the
        baseline. Both are empty if there are more labels than digits.
        """
        labels = np.unique(self.subject.y)
        if len(labels) > len(_DIGITS):
            return [], []
        number = np.searchsorted(labels, self.subject.y).tolist()
        lists = []
        for q in self.of_table:
            letters = []
            for row in self.shown(q, _N_OTHERS):
                label, rank = _DIGITS[number[row]], self.now[row]
                before = "" if self.before is None else _digit(self.before[row])
                letters.append((_digit(rank) if rank > _N_OTHERS else "") + label + before)
            lists.append("".join(letters))
        return lists, labels.tolist()


def _digit(rank: int) -> str:
    return _DIGITS[rank] if rank < len(_DIGITS) else _DIGITS[0]


def _values(subject: Subject, q: int) -> str:
    """Return the metrics of query ``q``, and the baseline's first metric, as one line of text."""
    metrics = [f"{name} {values[q]:.3f}" for name, values in subject.values.items()]
    if subject.baseline_values:
        metrics.append(f"baseline {subject.main} {subject.baseline_values[subject.main][q]:.3f}")
    return ", ".join(metrics)


def _swap(subject: Subject, swaps: RankChanges, parts: np.ndarray, n: int, ranks: _Ranks) -> Any:
    """Return the dict that the script shows of pair ``n``: its documents, cost and margin.

    ``parts`` lists ``[feature, contribution, standard error, value above, value below]`` for the
    largest contributions to the margin; ``rest`` is the sum of the others.
    """
    above, below = int(swaps.above[n]), int(swaps.below[n])
    contributions, errors = parts[:, n]
    largest = np.argsort(-np.abs(contributions), kind="stable")[:_N_FEATURES]
    largest = largest[contributions[largest] != 0]
    remainder = contributions.sum() - contributions[largest].sum()
    return {
        "pair": [
            {
                "name": str(subject.document_names[row]),
                "rank": ranks.now[row],
                "label": subject.y[row],
            }
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
