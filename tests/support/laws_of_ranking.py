"""Laws of ranking: scores, ranks and result lists agree."""

import numpy as np
from law_tools import fit, require, require_same_scores

K = 3


def one_by_one(ranker, data):
    """The score of a document does not depend on the documents scored with it."""
    fitted = fit(ranker, data)
    scores = np.asarray(fitted.predict(data.X))
    backwards = np.asarray(fitted.predict(data.X[::-1]))[::-1]
    require_same_scores(backwards, scores, "If the rows are scored in reverse order")
    alone = np.concatenate([fitted.predict(data.X[row : row + 1]) for row in range(20)])
    require_same_scores(alone, scores[:20], "If each document is scored alone")


def ranks_are_permutations(ranker, data):
    """Within each query, the ranks are 1, 2, ..., n."""
    ranks = np.asarray(fit(ranker, data).rank(data.X, qid=data.qid))
    require(ranks.shape == data.y.shape, f"rank returned shape {ranks.shape}, not {data.y.shape}.")
    for rows in data.rows_by_query:
        require(
            np.array_equal(np.sort(ranks[rows]), np.arange(1, len(rows) + 1)),
            f"Query {data.qid[rows[0]]} of {len(rows)} documents has ranks {sorted(ranks[rows])}.",
        )


def ranks_agree_with_predict(ranker, data):
    """Within each query, no document is ranked above a document with a higher score."""
    fitted = fit(ranker, data)
    scores, ranks = fitted.predict(data.X), fitted.rank(data.X, qid=data.qid)
    for rows in data.rows_by_query:
        best_first = rows[np.argsort(ranks[rows], kind="stable")]
        rise = np.diff(scores[best_first]).max(initial=-np.inf)
        require(
            rise <= 0,
            f"In query {data.qid[rows[0]]}, a document has a score that is {rise:.3g} higher than "
            "that of the document ranked above it.",
        )


def top_k_agrees_with_rank(ranker, data):
    """top_k returns the rows of the best ranks of each query, best first."""
    fitted = fit(ranker, data)
    ranks = np.asarray(fitted.rank(data.X, qid=data.qid))
    top = np.asarray(fitted.top_k(data.X, qid=data.qid, k=K))
    for rows in data.rows_by_query:
        expected = rows[np.argsort(ranks[rows], kind="stable")][:K].tolist()
        listed = top[np.isin(top, rows)].tolist()
        require(
            listed == expected,
            f"With k={K}, top_k returns rows {listed} of query {data.qid[rows[0]]}; by rank they "
            f"are {expected}.",
        )
