"""Lead: which features put a document above the other documents of its query."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, quote
from treerank.documents.columns import as_frame, taken_rows
from treerank.documents.features import check_features, shown_names
from treerank.documents.queries import ByRow, QueryGroups
from treerank.documents.reading import take_columns
from treerank.parameters import check_arguments
from treerank.rankers.explanation import ExplainedMargins
from treerank.rankers.scored import Scored

#: How sentences call a document and its rivals.
_SIDES = ("the document", "the others")
#: Number of pairs that are explained at a time, whose rows are copied.
_PAIRS_AT_A_TIME = 4096


@check_arguments
def explain_lead(
    ranker: Scored, X: Any, qid: ByRow = None, *, rows: ArrayLike | None = None, **options: Any
) -> ExplainedMargins:
    """Return how much each feature contributes to the lead of a document over its query.

    The lead is the score of the document minus the mean score of its rivals, the other documents
    of the query. The contributions are the means of those that ``ranker.explain`` returns for the
    document and each rival, so they add up to the lead.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    X : array-like, data frame or sparse matrix of shape (n_documents, n_features)
        Whole queries.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    rows : array-like of int, default=None
        Rows of the documents to explain; ``None`` means all.
    **options
        Options of ``ranker.explain``, such as ``n_orders``.

    Returns
    -------
    ExplainedMargins of shape (n_rows, n_features)
        An array that knows the names of features, as of ``ranker.explain``: ``print`` shows a
        sentence for each document. Zeros for documents without rivals.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> X = np.array([[1.0, 5.0], [3.0, 4.0], [5.0, 3.0]])
    >>> ranker = RankSVM().fit(X, [0, 1, 2])
    >>> bool(explain_lead(ranker, X, rows=[2])[0, 0] > 0)
    True
    >>> print(explain_lead(ranker, X, rows=[2]))  # doctest: +ELLIPSIS
    The document is above the others because of f0 +0..., f1 +0....
    """
    X, (qid,) = take_columns(X, qid=qid)
    X = X if as_frame(X) is not None else check_features(ranker, X)
    n_documents = X.shape[0]
    groups = QueryGroups.from_qid(qid, n_documents)
    explained = np.arange(n_documents) if rows is None else _checked_rows(rows, n_documents)
    sizes = groups.sizes[groups.codes[explained]]
    names = shown_names(ranker)
    parts = np.empty((len(explained), len(names)))
    batch_of = np.cumsum(sizes) // _PAIRS_AT_A_TIME
    for number in np.unique(batch_of):
        batch = np.flatnonzero(batch_of == number)
        rivals = [groups.rows[groups.codes[row]] for row in explained[batch]]
        documents = taken_rows(X, np.repeat(explained[batch], sizes[batch]))
        margins = ranker.explain(documents, taken_rows(X, np.concatenate(rivals)), **options)
        starts = np.cumsum(sizes[batch]) - sizes[batch]
        parts[batch] = np.add.reduceat(margins, starts)  # 0 against itself
    parts /= np.maximum(sizes - 1, 1)[:, None]
    return ExplainedMargins.of(parts, names, _SIDES)


def _checked_rows(rows: ArrayLike, n_documents: int) -> np.ndarray:
    """Return row numbers as integers; refuse masks and numbers out of range."""
    numbers = check_column("rows", rows)
    if np.asarray(rows).dtype == bool or not np.isin(numbers, np.arange(n_documents)).all():
        raise ValueError(f"rows must be numbers of {n_documents} documents; got {quote(rows)}.")
    return numbers.astype(np.int64)
