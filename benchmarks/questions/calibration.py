"""Calibration: whether probabilities of relevance are right on test queries.

``TreeDirectRanker()`` learns from training parts, ``calibrate`` from validation parts, and test
parts are measured. The expected calibration error is the mean distance, over documents, between
the mean probability and the share of relevant documents in ten bins of equally many documents.
That of queries drawn with replacement, less the error that drawing itself makes, gives its
interval. The log loss is beside that of isotonic regression, clipped at 0 and 1.
"""

import functools

import numpy as np

from benchmarks import data
from benchmarks.drawing import intervals, ndcg, signed, table
from benchmarks.measurements import Measurement
from benchmarks.page import Section
from treerank import LightGBMTrees, TreeDirectRanker
from treerank.documents import QueryGroups

TITLE = "Are probabilities of relevance calibrated?"
IS_TIMING = False
SETS = ("MQ2008", "OHSUMED", "ClueWeb09", "MSRD", "synthetic, 300 queries")
#: Labels from which documents are relevant.
LEVELS = {name: (1,) if name == "MSRD" else (1, 2) for name in (*SETS, data.TINY)}


def calibration_error(likely, won):
    """Return the expected calibration error."""
    order = np.argsort(likely, kind="stable")
    gaps = np.cumsum(np.append(0, (likely - won)[order]))
    ends = np.linspace(0, len(won), 11).astype(int)
    return np.abs(np.diff(gaps[ends])).sum() / len(won)


def log_loss(likely, won):
    """Return the mean log loss."""
    return -np.log(np.where(won, likely, 1 - likely)).mean()


def of_fold(train, validation, test, at_least):
    """Return probabilities, those of isotonic regression, outcomes and queries of the test part."""
    from sklearn.isotonic import IsotonicRegression

    ranker = TreeDirectRanker(LightGBMTrees(n_jobs=1), random_state=0).fit(*train)
    ranker.calibrate(*validation)
    scores, won = ranker.predict(validation[0]), validation[1] >= at_least
    isotonic, edge = IsotonicRegression(out_of_bounds="clip").fit(scores, won), 1 / (len(won) + 2)
    likely = ranker.predict_relevance(test[0], at_least=at_least)
    others = np.clip(isotonic.predict(ranker.predict(test[0])), edge, 1 - edge)
    return likely, others, test[1] >= at_least, test[2]


def measured(options, name, at_least, n_draws):
    """Return calibration error and log losses with their intervals."""
    folds = data.folds(options, name, validation=True)
    found = [of_fold(*fold, at_least) for fold in folds]
    likely, others, won = (np.concatenate([fold[i] for fold in found]) for i in range(3))
    qid = np.concatenate([[f"{n}-{q}" for q in fold[3]] for n, fold in enumerate(found)])
    groups = QueryGroups.from_qid(qid)
    rows, rng = np.split(groups.order, groups.indptr[1:-1]), np.random.default_rng(0)
    error = calibration_error(likely, won)
    chosen = rng.integers(len(rows), size=(n_draws, len(rows)))
    draws = [np.concatenate([rows[q] for q in some]) for some in chosen]
    errors = np.array([calibration_error(likely[drawn], won[drawn]) for drawn in draws])
    gaps = np.array([log_loss(likely[d], won[d]) - log_loss(others[d], won[d]) for d in draws])
    low, high = np.quantile(errors, [0.025, 0.975]) - (errors.mean() - error)
    less, more = np.quantile(gaps, [0.025, 0.975])
    return {
        "share": won.mean(),
        "error": error,
        "low": max(low, 0),
        "high": high,
        "log loss": log_loss(likely, won),
        "isotonic": log_loss(others, won),
        "gap low": less,
        "gap high": more,
    }


def measurements(options):
    """Yield the calibration error by data set and label."""
    for name in (data.TINY,) if options.quick else SETS:
        for at_least in LEVELS[name]:
            measure = functools.partial(
                measured, options, name, at_least, 20 if options.quick else 500
            )
            yield Measurement({"data": name, "at least": at_least}, measure)


def section(rows):
    """Return the calibration errors."""
    cells = [(row["conditions"], row["values"]) for row in rows]
    groups = {
        f"{c['data']}, from {c['at least']}": {"error": (v["error"], v["low"], v["high"])}
        for c, v in cells
    }
    ahead = sum(v["log loss"] < v["isotonic"] for _, v in cells)
    worst = max(v["error"] for _, v in cells)
    answer = (
        "On test queries, the probabilities from `calibrate` have an expected calibration error "
        f"of at most {ndcg(worst)}. In {'all' if ahead == len(cells) else f'{ahead} of'} "
        f"{len(cells)} cases, the log loss of these probabilities is lower than that of isotonic "
        "regression. A case is a combination of a data set and the lowest label that counts as "
        "relevant."
    )
    chart = intervals(answer, groups, "expected calibration error, with its 95 % interval")
    head = ["data set", "relevant from", "share relevant", "error", "log loss", "isotonic", "gap"]
    body = [
        [
            c["data"],
            c["at least"],
            ndcg(v["share"]),
            ndcg(v["error"]),
            ndcg(v["log loss"]),
            ndcg(v["isotonic"]),
            signed(v["log loss"] - v["isotonic"]),
        ]
        for c, v in cells
    ]
    notes = (
        "In the table, the error is the expected calibration error: the mean absolute difference "
        "between the mean probability and the share of relevant documents in ten bins with equal "
        "numbers of documents. The gap is the log loss of `calibrate` minus that of isotonic "
        "regression. A negative gap is in favor of `calibrate`. Probabilities of isotonic "
        "regression that are close to 0 or 1 are clipped, because otherwise its log loss could be "
        "infinite."
    )
    return Section(answer, [chart], [("Errors and log losses", table(head, body))], notes)
