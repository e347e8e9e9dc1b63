"""Fusion: one score for each document from the scores of several systems."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from treerank.checks import check_instance
from treerank.datasets.qrels import pairs_of
from treerank.datasets.trec import TrecRun
from treerank.inputs.grouping import ByRow, QueryGroups
from treerank.parameters import Positive, Rule, check_arguments
from treerank.statistics.paired import check_values

_METHODS = ("reciprocal_rank", "z_score")


@check_arguments
def fuse(
    runs: Mapping[str, ArrayLike],
    qid: ByRow = None,
    *,
    method: Annotated[str, Rule.one_of(_METHODS)] = "reciprocal_rank",
    k: Positive = 60.0,
) -> np.ndarray:
    """Return the sum over systems of what each says of a document.

    Parameters
    ----------
    runs : dict from str to array-like of shape (n_documents,)
        Scores by system; NaN where a system has not found the document, which adds nothing.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    method : {"reciprocal_rank", "z_score"}, default="reciprocal_rank"
        What is added: ``1 / (k + rank)`` within the query [1]_, with the mean rank of equal scores;
        or the score less the mean of its list, over the standard deviation. With "z_score" a
        document that was not found has the lowest score of the list.
    k : float, default=60.0
        How little ranks near the top differ, for "reciprocal_rank".

    Returns
    -------
    ndarray of shape (n_documents,)

    References
    ----------
    .. [1] Cormack et al. (2009). Reciprocal rank fusion outperforms Condorcet and individual rank
       learning methods.

    Examples
    --------
    >>> fuse({"words": [3.0, 2.0, np.nan], "vectors": [np.nan, 0.9, 0.8]}).round(4)
    array([0.0164, 0.0325, 0.0161])
    """
    if not runs:
        raise ValueError("runs must hold the scores of some system; got none.")
    columns = {name: check_values(f"runs[{name!r}]", values) for name, values in runs.items()}
    n = len(next(iter(columns.values())))
    groups, total = QueryGroups.from_qid(qid, n), np.zeros(n)
    for name, scores in columns.items():
        if len(scores) != n:
            raise ValueError(f"runs[{name!r}] must have {n} entries; got {len(scores)}.")
        for rows in groups.rows:
            found = rows[~np.isnan(scores[rows])]
            if method == "z_score":
                total[rows] += _standardized(scores[rows])
            elif len(found):
                total[found] += 1 / (k + rankdata(-scores[found]))  # equal ones: the mean
    return total


@check_arguments
def runs_as_features(
    runs: Mapping[str, TrecRun], qid: ArrayLike, doc_ids: ArrayLike
) -> dict[str, np.ndarray]:
    """Return a column of scores for each run, NaN where it lacks the document.

    Parameters
    ----------
    runs : dict from str to TrecRun
        Runs by name, as :func:`treerank.datasets.read_trec_run` returns them.
    qid, doc_ids : array-like of shape (n_documents,)
        Query and id of each document.

    Returns
    -------
    dict from str to ndarray of shape (n_documents,)
        Features, for a data frame or for :func:`fuse`.

    Examples
    --------
    >>> run = TrecRun(np.array(["q"]), np.array(["a"]), np.array([0.5]))
    >>> runs_as_features({"words": run}, ["q", "q"], ["a", "b"])
    {'words': array([0.5, nan])}
    """
    pairs, columns = pairs_of(qid, doc_ids), {}
    for name, run in runs.items():
        check_instance(f"runs[{name!r}]", run, [TrecRun])
        known = dict(zip(pairs_of(run.qid, run.doc_ids), run.scores, strict=True))
        if len(known) < len(run.scores):
            raise ValueError(f"runs[{name!r}] must have each document of a query once; got more.")
        columns[name] = np.array([known.get(pair, np.nan) for pair in pairs])
    return columns


def _standardized(scores: np.ndarray) -> np.ndarray:
    """Return z-scores of a list, the lowest for documents that are not in it."""
    known = scores[~np.isnan(scores)]
    if len(known) == 0 or known.std() == 0:
        return np.zeros(len(scores))
    return (np.nan_to_num(scores, nan=known.min()) - known.mean()) / known.std()
