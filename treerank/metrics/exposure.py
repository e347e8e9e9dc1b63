"""Exposure: how much attention the positions of a ranking give to groups of documents."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_choice, check_column, check_count
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.ndcg import DISCOUNTS


def exposure_by_group(
    group: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = None,
    discount: str = "log2",
) -> dict[Any, float]:
    """Return the mean exposure of the documents of each group, such as those of one seller.

    The exposure of a document is the discount of its position. Documents of equal scores share
    the exposure of their positions.

    Parameters
    ----------
    group : array-like of shape (n_documents,)
        Group of each document.
    scores : array-like of shape (n_documents,)
        Scores; higher is better.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    k : int, default=None
        Positions after ``k`` have no exposure; ``None`` means that all have some.
    discount : {"log2", "delayed_log2"}, default="log2"
        Exposure by position, as in :class:`~treerank.metrics.NDCG`.

    Returns
    -------
    dict
        Mean exposure by group, in ascending order of the groups.

    References
    ----------
    Singh and Joachims (2018), Fairness of exposure in rankings.

    Examples
    --------
    >>> exposure_by_group(["a", "b", "b"], [0.9, 0.5, 0.5])["a"]
    1.0
    """
    scores = check_column("scores", scores)
    check_choice("discount", discount, DISCOUNTS)
    if k is not None:
        check_count("k", k)
    groups = QueryGroups.from_qid(qid, len(scores))
    order = np.lexsort((-scores, groups.codes))
    position = np.arange(len(scores)) - np.repeat(groups.indptr[:-1], groups.sizes)
    exposure = DISCOUNTS[discount](position + 1.0)
    exposure[position >= (len(scores) if k is None else k)] = 0.0
    is_first = (np.diff(scores[order], prepend=np.nan) != 0) | (position == 0)
    block = np.cumsum(is_first) - 1
    exposure = (np.bincount(block, exposure) / np.bincount(block))[block]
    names, of_row = np.unique(np.asarray(group), return_inverse=True)
    if len(of_row) != len(scores):
        raise ValueError(f"group must have {len(scores)} entries; got {len(of_row)}.")
    means = np.bincount(of_row[order], exposure) / np.bincount(of_row)
    return dict(zip(names.tolist(), means.tolist(), strict=True))
