"""Laws of learning: data with little or nothing to learn, and shifts of the scores."""

import numpy as np
from law_tools import fit, require, require_finite_scores


def equal_labels(ranker, data):
    """If all labels are equal, the scores are finite."""
    for label in (0, 1):
        same = data.having(y=np.full_like(data.y, label))
        require_finite_scores(fit(ranker, same), data.X, f"After a fit to labels all {label}")


def single_document_queries(ranker, data):
    """Some queries may have one document only."""
    qid = data.qid.copy()
    first_rows = [rows[0] for rows in data.rows_by_query]
    qid[first_rows] = qid.max() + 1 + np.arange(len(first_rows))
    given = data.having(qid=qid).taking(np.argsort(qid, kind="stable"))
    done = "After a fit to data with some queries of one document"
    require_finite_scores(fit(ranker, given), data.X, done)


def single_documents_only(ranker, data):
    """If every query has one document only, the scores are finite."""
    given = data.having(qid=np.arange(len(data.qid)))
    done = "After a fit to data with one document per query"
    require_finite_scores(fit(ranker, given), data.X, done)


def queries_without_relevance(ranker, data):
    """In fit and in score, a query may have no relevant document."""
    without_relevance = np.concatenate(data.rows_by_query[::2])
    y = data.y.copy()
    y[without_relevance] = 0
    fitted = fit(ranker, data.having(y=y))
    require_finite_scores(fitted, data.X, "After a fit with queries without relevance")
    value = fitted.score(data.X, y, qid=data.qid)
    require(0 <= value <= 1, f"With queries without a relevant document, score is {value}.")


def shifted_scores(ranker, data):
    """Adding a number to all scores of a query does not change the gradient of the objective."""
    objective = ranker.make_objective(data.y, data.qid)
    rng = np.random.default_rng(4)
    scores = rng.integers(-32, 33, size=(len(data.y), objective.n_outputs)) / 16.0
    of_query = rng.integers(-8, 9, size=(data.codes.max() + 1, 1)).astype(np.float64)
    shift = of_query[data.codes]
    if objective.n_outputs == 1:
        scores, shift = scores[:, 0], shift[:, 0]
    before, after = objective.derivatives(scores), objective.derivatives(scores + shift)
    for name, old, new in zip(("gradient", "hessian"), before, after, strict=True):
        change, scale = np.abs(new - old).max(), np.abs(old).max()
        require(
            change <= 1e-6 * scale,
            f"After the scores of each query were shifted by up to 8, the {name} changed by up to "
            f"{change:.3g}, and its largest value is {scale:.3g}; it should not change.",
        )
