"""Reranking: data frames of results, in the columns of PyTerrier, in the order of a ranker."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treerank.checks import shown
from treerank.parameters import check_arguments
from treerank.rankers.scored import Scored

if TYPE_CHECKING:
    from pandas import DataFrame


@check_arguments
def rerank(
    ranker: Scored, results: "DataFrame", features: str | Sequence[str] = "features"
) -> "DataFrame":
    """Return results with the scores and the ranks of a ranker, best first in each query.

    In a pipeline of PyTerrier it is ``pt.apply.generic(lambda found: rerank(ranker, found))``.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    results : pandas.DataFrame
        One row per document. The column ``qid`` has its query. All columns are kept, but ``score``
        and ``rank`` are replaced; ranks are from 0.
    features : str or sequence of str, default="features"
        A column with an array of features in each row, or the names of the columns that are
        features.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from treerank.baselines import RankSVM
    >>> ranker = RankSVM().fit([[1.0], [2.0]], [0, 1])
    >>> found = pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "features": [[1.0], [2.0]]})
    >>> rerank(ranker, found)[["docno", "rank"]].values.tolist()
    [['b', 0], ['a', 1]]
    """
    names = [features] if isinstance(features, str) else list(features)
    missing = [name for name in ("qid", *names) if name not in results.columns]
    if missing:
        raise ValueError(f"results must have the column {missing[0]!r}; got {shown([*results])}.")
    if not len(results):
        return results.assign(score=np.zeros(0), rank=np.zeros(0, dtype=np.int64))
    X = np.stack(list(results[features])) if isinstance(features, str) else results[names]
    scores, qid = ranker.predict(X), results["qid"].to_numpy()
    ranks = ranker.rank(X, qid) - 1
    return results.assign(score=scores, rank=ranks).iloc[np.lexsort((ranks, qid))]
