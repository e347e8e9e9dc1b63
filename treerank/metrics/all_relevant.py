"""All relevant documents: metrics that count those that are not among the rows, too.

Retrievers miss most of what a user buys. A metric of the candidates alone does not show it: its
ideal is the best order of the candidates. ``n_relevant`` says how many relevant documents there
are, and the ideal has all of them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import NOT_SAVED, is_whole, quote, warn_user
from treerank.documents.gains import count_relevant
from treerank.documents.ids import text_of_id
from treerank.documents.labels import are_judged
from treerank.documents.queries import Queries, QueryGroups
from treerank.metrics.base import Metric
from treerank.parameters import check_arguments

#: End of the stem in the name of a metric with ``n_relevant``.
OF_ALL = "_of_all"
#: Up to this many queries, the numbers of relevant documents are written out.
_FEW = 5


@dataclass(frozen=True, kw_only=True)
class AllRelevantMetric(Metric):
    """A metric that can count relevant documents that are not among the rows.

    All other parameters, and the attributes, are as in :class:`~treerank.metrics.base.Metric`.

    Parameters
    ----------
    n_relevant : mapping from query id to int, default=None
        How many relevant documents each query has: for example, all purchases of a user, including
        items that no retriever found. It may be a ``pandas.Series`` indexed by query id. The ideal
        ranking contains all these documents, so a query without relevant candidates counts as 0
        instead of being excluded. A query that has no row at all cannot be counted, and one whose
        rows are all unjudged (NaN) is excluded with a warning. ``None`` counts the relevant rows.
        The name of such a metric ends in ``_of_all``, as in ``"recall_of_all@10"``.

    Examples
    --------
    >>> from treerank.metrics import Recall
    >>> metric = Recall(k=2, n_relevant={"ann": 4, "bob": 1})
    >>> metric([1, 0, 0, 0], [0.9, 0.2, 0.7, 0.1], ["ann", "ann", "bob", "bob"]), metric.name
    (0.125, 'recall_of_all@2')
    """

    n_relevant: Mapping[Any, int] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if self.n_relevant is not None:
            object.__setattr__(self, "n_relevant", _checked_counts(self.n_relevant))
        super().__post_init__()

    @property
    def _stem(self) -> str:
        return self.stem if self.n_relevant is None else self.stem + OF_ALL

    @check_arguments
    def per_query(self, y: ArrayLike, scores: ArrayLike, qid: Queries = None) -> np.ndarray:
        """Return one value per query, in the order of ``np.unique(qid)``.

        Unjudged documents (NaN) are removed from the list. The value of a query without any judged
        document is NaN, so that means leave it out.
        """
        values = super().per_query(y, scores, qid)
        if self.n_relevant is not None:
            self._warn_of_unjudged_queries(are_judged(y), qid)
        return values

    def _warn_of_unjudged_queries(self, judged: np.ndarray, qid: Queries) -> None:
        """Warn of queries with relevant documents, by ``n_relevant``, but no judged ones.

        ``judged`` tells for each row whether its document has a label.
        """
        groups = QueryGroups.from_qid(qid, len(judged))
        counts = self.n_relevant_of(np.zeros(len(judged)), groups)
        n_lost = int(np.sum((np.bincount(groups.codes, judged) == 0) & (counts > 0)))
        if n_lost:
            warn_user(
                f"{n_lost} of {groups.n_queries} queries are excluded from {self.stem}, since "
                "their documents are all unjudged (NaN), though n_relevant says that they have "
                "relevant documents. If people have judged these queries and found nothing here, "
                "write 0 for their labels, or unjudged=0 in read_runs: then they count 0."
            )

    def n_relevant_of(self, gains: np.ndarray, groups: QueryGroups) -> np.ndarray:
        """Return the number of relevant documents of each query, by ``n_relevant`` or by row.

        Refuses ``n_relevant`` where the ids of the queries are not known.
        """
        n_found = count_relevant(gains, groups.indptr)
        if self.n_relevant is None:
            return n_found
        if groups.ids is None:
            raise ValueError(
                "n_relevant must be None where the ids of queries are not known; got numbers of "
                f"relevant documents of {len(self.n_relevant)} queries. Pass qid, the id of the "
                "query of each document, as text, numbers or tuples."
            )
        by_text = self._counts_by_text
        n_relevant = np.empty(groups.n_queries, dtype=np.int64)
        for number, query in enumerate(groups.ids):
            count = by_text.get(text_of_id(query))
            if count is None:
                raise ValueError(
                    "n_relevant must have an entry for each query of qid; got none for "
                    f"{_id(query)}, and queries such as {_id(next(iter(self.n_relevant)))}. "
                    "Write 0 for a query without relevant documents."
                )
            if count < n_found[number]:
                raise ValueError(
                    "n_relevant must count all relevant documents of a query, those among the rows "
                    f"too; got {count} for query {_id(query)}, which has {n_found[number]}. Is a "
                    "document there twice?"
                )
            n_relevant[number] = count
        return n_relevant

    @cached_property
    def _counts_by_text(self) -> dict[str, int]:
        """``n_relevant`` with text keys.

        Ids that are equal, such as 1 and 1.0, have the same text.
        """
        return {text_of_id(query): n for query, n in (self.n_relevant or {}).items()}


class _Counts(dict[Any, int]):
    """Numbers of relevant documents by query, whose repr is short: a few of them and a hash."""

    def __repr__(self) -> str:
        if len(self) <= _FEW:
            return super().__repr__()
        texts = sorted(f"{text_of_id(query)}: {n}" for query, n in self.items())
        digest = blake2b("\n".join(texts).encode(errors="surrogatepass"), digest_size=4)
        return f"<{len(self)} queries, {sum(self.values())} relevant, {digest.hexdigest()}>"


def _checked_counts(n_relevant: Any) -> _Counts:
    """Return ``n_relevant`` as a dict.

    Refuse what is not a mapping of ids to whole numbers >= 0.
    """
    is_frame = hasattr(n_relevant, "columns")
    pairs = n_relevant.items() if hasattr(n_relevant, "items") else n_relevant
    rule = "n_relevant must be a mapping from query id to the number of its relevant documents"
    try:
        is_no_mapping = is_frame or isinstance(pairs, str)
        pairs = [] if is_no_mapping else [(query, count) for query, count in pairs]
        counts = dict(pairs)
    except (TypeError, ValueError):
        pairs, counts = [], {}
    if not counts:
        advice = ""
        if is_frame:
            columns = "np.asarray(frame['query']), np.asarray(frame['n_relevant'])"
            advice = f" Of a data frame, write dict(zip({columns}))."
        elif isinstance(n_relevant, str):
            advice = (
                " A metric's name cannot hold it: write the metric, such as "
                "Recall(10, n_relevant=...)."
            )
        raise ValueError(
            f"{rule}, such as {{'ann': 4, 'bob': 1}}; got {quote(n_relevant)}.{advice}"
        )
    if len(counts) < len(pairs):  # a series of pandas may have a query twice
        query, n_entries = Counter(query for query, _ in pairs).most_common(1)[0]
        # Files of earlier versions lack ids that are dates.
        is_saved = not (isinstance(query, str) and query.endswith(NOT_SAVED))
        if is_saved:
            raise ValueError(f"{rule}, with one entry for each; got {n_entries} for {_id(query)}.")
    for query, count in counts.items():
        is_count = is_whole(count) or (
            isinstance(count, float | np.floating) and count.is_integer()
        )
        if not is_count or count < 0:
            raise ValueError(
                f"{rule}, a whole number of at least 0; got {quote(count)} for {_id(query)}."
            )
    return _Counts({query: int(count) for query, count in counts.items()})


def _id(query: Any) -> str:
    """Return a query id as a message quotes it."""
    return quote(query.item() if isinstance(query, np.generic) else query)
