"""Laws of ``score``: its value is NDCG@10, and GridSearchCV passes it the queries."""

import numpy as np
import sklearn
from law_tools import fit, require, require_same_scores, seeded
from sklearn.model_selection import GridSearchCV

from treerank.metrics.graded_metrics import NDCG
from treerank.model_selection import QueryKFold

#: Some engines compute NDCG in single precision.
TOLERANCE = 1e-5


def score_in_unit_interval(ranker, data):
    """The score is between 0 and 1."""
    fitted = fit(ranker, data)
    for what, y in (("the labels", data.y), ("the labels reversed", data.y.max() - data.y)):
        value = fitted.score(data.X, y, qid=data.qid)
        require(0 <= value <= 1, f"With {what}, score is {value}.")


def score_is_ndcg(ranker, data):
    """Without tied scores and empty queries, the score is the mean NDCG@10."""
    fitted = fit(ranker, data)
    plain = data.taking(_rows_without_ties(fitted, data))
    value = fitted.score(plain.X, plain.y, qid=plain.qid)
    expected = NDCG(k=10)(plain.y, fitted.predict(plain.X), plain.qid)
    require(
        abs(value - expected) <= TOLERANCE,
        f"score is {value:.6f}; treerank.metrics.NDCG(k=10) is {expected:.6f}.",
    )


def ties(ranker, data):
    """The score does not depend on the order of rows with tied scores."""
    fitted = fit(ranker, data)
    tied = data.having(X=data.X[np.unique(data.qid, return_index=True)[1]][data.codes])
    best_first = np.lexsort((-data.y, data.qid))
    best_last = np.lexsort((data.y, data.qid))
    high, low = (
        fitted.score(tied.X[rows], tied.y[rows], qid=tied.qid[rows])
        for rows in (best_first, best_last)
    )
    require(
        abs(high - low) <= TOLERANCE,
        f"If all scores of a query are tied, score is {high:.4f} if the relevant rows come first "
        f"and {low:.4f} if they come last; it should be the same.",
    )


def grid_search(ranker, data):
    """GridSearchCV passes qid to the splitter, to fit and to score."""
    cv = QueryKFold(2)
    by_hand = [
        _score(fit(ranker, data.taking(train)), data.taking(test))
        for train, test in cv.split(data.X, qid=data.qid)
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(seeded(ranker), {}, cv=cv, error_score="raise")
        given = data.copy()
        search.fit(given.X, given.y, qid=given.qid)
    require(
        abs(search.best_score_ - np.mean(by_hand)) <= TOLERANCE,
        f"GridSearchCV found {search.best_score_:.6f}; fit and score of the same folds without it "
        f"gave {np.mean(by_hand):.6f}. Does the ranker request qid in fit and in score?",
    )
    expected = fit(ranker, data).predict(data.X)
    require_same_scores(search.predict(data.X), expected, "After the last fit of GridSearchCV")


def _score(fitted, data):
    return fitted.score(data.X, data.y, qid=data.qid)


def _rows_without_ties(fitted, data):
    """Return one row for each score of each query: the most relevant one."""
    scores = np.asarray(fitted.predict(data.X))
    kept = []
    for rows in data.rows_by_query:
        best_first = rows[np.argsort(-data.y[rows], kind="stable")]
        kept.append(best_first[np.unique(scores[best_first], return_index=True)[1]])
    return np.sort(np.concatenate(kept))
