"""Laws of learning: data with little or nothing to learn, and what the objective may depend on."""

import inspect
from unittest import SkipTest

import numpy as np

from treerank.objectives.factory import make_objective
from treerank.testing.requirements import (
    fit,
    require,
    require_finite_scores,
    scores_by_query,
)


def equal_labels(ranker, data):
    """Labels that are all the same give finite scores."""
    for label in (0, 1):
        same = data.having(y=np.full_like(data.y, label))
        require_finite_scores(fit(ranker, same), data.X, f"After a fit to labels all {label}")


def single_document_queries(ranker, data):
    """Some queries may have a single document."""
    lonely = data.qid.copy()
    first_rows = [rows[0] for rows in data.rows_by_query]
    lonely[first_rows] = lonely.max() + 1 + np.arange(len(first_rows))
    given = data.having(qid=lonely).taking(np.argsort(lonely, kind="stable"))
    done = "After a fit with some queries of a single document"
    require_finite_scores(fit(ranker, given), data.X, done)


def single_documents_only(ranker, data):
    """Where every query has a single document, there is nothing to learn; scores are finite."""
    given = data.having(qid=np.arange(len(data.qid)))
    done = "After a fit with only queries of a single document"
    require_finite_scores(fit(ranker, given), data.X, done)


def queries_without_relevance(ranker, data):
    """A query may have no relevant document, in fit and in score."""
    barren = np.concatenate(data.rows_by_query[::2])
    y = data.y.copy()
    y[barren] = 0
    fitted = fit(ranker, data.having(y=y))
    require_finite_scores(fitted, data.X, "After a fit with queries that have no relevant document")
    if scores_by_query(fitted):
        value = fitted.score(data.X, y, qid=data.qid)
        require(
            0 <= value <= 1,
            f"With queries that have no relevant document, score is {value}; it should lie "
            "between 0 and 1.",
        )


def shifted_scores(ranker, data):
    """Adding a number to all scores of a query changes no gradient of the objective."""
    objective = _objective_of(ranker, data)
    rng = np.random.default_rng(4)
    scores = rng.integers(-32, 33, size=(len(data.y), objective.n_outputs)) / 16.0
    of_query = rng.integers(-8, 9, size=(data.codes.max() + 1, 1)).astype(np.float64)
    shift = of_query[data.codes]
    if objective.n_outputs == 1:
        scores, shift = scores[:, 0], shift[:, 0]
    before, after = objective.derivatives(scores), objective.derivatives(scores + shift)
    for name, old, new in zip(("gradient", "hessian"), before, after, strict=True):
        moved, scale = np.abs(new - old).max(), np.abs(old).max()
        require(
            moved <= 1e-6 * scale,
            f"After each query's scores were shifted by up to 8, the {name} moved by up to "
            f"{moved:.3g} where it reaches {scale:.3g}; it should not move.",
        )


def _objective_of(ranker, data):
    """Ask the ranker for its objective, or make the one that its parameters describe."""
    if hasattr(ranker, "make_objective"):
        return ranker.make_objective(data.y, data.qid)
    parameters = ranker.get_params(deep=False)
    if not {"loss", "weight", "pairs"} <= parameters.keys():
        raise SkipTest("it shows no objective")
    known = inspect.signature(make_objective).parameters.keys() & parameters.keys()
    settings = {name: parameters[name] for name in known - {"random_state"}}
    return make_objective(data.y, data.qid, **settings)
