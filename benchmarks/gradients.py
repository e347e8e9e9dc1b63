"""Pair gradients alone: ours beside a plain double loop and LightGBM's lambdarank.

The double loop is numba's, parallel over queries and with fastmath. The time of LightGBM's
objective is that of a lambdarank fit less that of a fit of as many trees with constant gradients
in the same turn, by trees; on a few columns and with small trees, so that growing them takes little
of the time. Ours gets the scores that lambdarank had before each tree. By default lambdarank visits
only pairs with one of the first 30 documents; ours visits all pairs, so lambdarank is timed over
all pairs, too.
"""

import functools

import numba
import numpy as np

from treerank import make_objective, make_web_search

from . import timing
from .measurements import Measurement

COLUMNS, LEAVES = 8, 15
LABELS = [0.52, 0.32, 0.13, 0.02, 0.01]
#: Losses whose gradients of all pairs of a query take linear time.
LINEAR = ("half_squared", "exponential", "hinge", "squared_hinge")


@numba.njit(parallel=True, fastmath=True)
def double_loop(scores, y, indptr, gradient, hessian):
    """Sum the logistic gradients of all pairs."""
    for q in numba.prange(len(indptr) - 1):
        a, b = indptr[q], indptr[q + 1]
        gradient[a:b] = 0
        hessian[a:b] = 0
        for i in range(a, b):
            for j in range(a, b):
                if y[i] > y[j]:
                    p = 1 / (1 + np.exp(scores[i] - scores[j]))
                    gradient[i] -= p
                    gradient[j] += p
                    hessian[i] += p * (1 - p)
                    hessian[j] += p * (1 - p)


def fit_lightgbm(data, objective, n_trees, **params):
    """Fit LightGBM with an objective."""
    import lightgbm

    params |= {"objective": objective, "verbosity": -1, "metric": "none", "num_leaves": LEAVES}
    return lightgbm.train(params, data, num_boost_round=n_trees)


@functools.cache
def times_of(n_queries, n_documents, n_trees, n_turns, k):
    """Return the times of one gradient of each kind, by name."""
    import lightgbm

    X, y, qid = make_web_search(n_queries, documents_per_query=n_documents, random_state=0)
    X = X[:, :COLUMNS]
    made = {
        "logistic": make_objective(y, qid),
        "logistic by NDCG": make_objective(y, qid, weight="ndcg", k=k),
        "logistic by NDCG, smoothed": make_objective(y, qid, weight="ndcg", k=k, smoothing=1.0),
    }
    groups = made["logistic"].groups
    data = lightgbm.Dataset(X, y, group=groups.sizes, free_raw_data=False).construct()
    booster = fit_lightgbm(data, "lambdarank", n_trees)
    later = [booster.predict(X, raw_score=True, num_iteration=t) for t in range(1, n_trees)]
    scores = [np.zeros(len(X)), *later]
    constant = [part.astype(np.float32) for part in made["logistic"].derivatives(scores[-1])]
    loop = data.get_label(), groups.indptr, *np.empty((2, len(X)))

    def call(derivatives):
        return lambda: [derivatives(s, iteration=t) for t, s in enumerate(scores)]

    def fit(objective, **params):
        return lambda: fit_lightgbm(data, objective, n_trees, **params)

    calls = {name: call(objective.derivatives) for name, objective in made.items()} | {
        "double loop": lambda: [double_loop(s, *loop) for s in scores],
        "lambdarank": fit("lambdarank"),
        "lambdarank, all pairs": fit("lambdarank", lambdarank_truncation_level=len(X)),
        "constant": fit(lambda *_: constant),
    }
    times = timing.time_turns(calls, n_turns)
    for name in ("lambdarank", "lambdarank, all pairs"):
        times[name] = np.maximum(times[name] - times["constant"], 1e-3)
    return {name: turns / n_trees for name, turns in times.items()}


def huge_query(loss, n, n_turns):
    """Return the milliseconds of the gradients of all pairs of one query."""
    rng = np.random.default_rng(0)
    objective, scores = make_objective(rng.integers(0, 5, n), loss=loss), rng.normal(size=n)
    times = timing.time_turns({"": lambda: objective.derivatives(scores)}, n_turns)
    return timing.median_of(times[""])


def measurements(quick):
    """Yield ratios of gradients, and the time of one huge query."""
    few = (10, 20, 3, 1) if quick else (1500, 120, 30, 9)
    for ours, theirs in (
        ("logistic", "double loop"),
        ("logistic by NDCG", "lambdarank"),
        ("logistic by NDCG", "lambdarank, all pairs"),
        ("logistic by NDCG, smoothed", "lambdarank"),
    ):
        yield Measurement(
            {"gradients": ours, "over": theirs},
            lambda ours=ours, theirs=theirs: timing.ratio_of(times_of(*few, None), ours, theirs),
        )
    for n_documents in () if quick else (1000, 8_000):  # LightGBM takes at most 10,000
        size = 180_000 // n_documents, n_documents, 30, 5, 30
        yield Measurement(
            {"gradients": "logistic by NDCG@30", "over": "lambdarank", "documents": n_documents},
            lambda size=size: timing.ratio_of(times_of(*size), "logistic by NDCG", "lambdarank"),
        )
    n = 1000 if quick else 1_000_000
    for loss in LINEAR:
        measure = functools.partial(huge_query, loss, n, 1 if quick else 7)
        yield Measurement({"gradients": loss, "one query of": n}, measure)
