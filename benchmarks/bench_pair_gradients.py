"""How fast are pair gradients? Ours against a plain double loop, and LightGBM's lambdarank.

The double loop is numba's, parallel over queries and with fastmath. The time of LightGBM's
objective is the time of a lambdarank fit minus the time of a fit of as many trees with constant
gradients, divided by the number of trees; on a few columns only, so that growing trees takes little
of the time. By default lambdarank visits only pairs with one of the first 30 documents
(``lambdarank_truncation_level``); ours visits all pairs, so lambdarank is timed over all pairs,
too.
"""

import argparse

import lightgbm
import numba
import numpy as np
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank.datasets.synthetic import make_web_search
from treerank.objectives import make_objective

COLUMNS = 8


@numba.njit(parallel=True, fastmath=True)
def double_loop(scores, y, indptr, gradient, hessian):
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
    params |= {"objective": objective, "num_leaves": 63, "verbosity": -1, "metric": "none"}
    lightgbm.train(params, data, num_boost_round=n_trees)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, random_state=0)
    scores = np.random.default_rng(0).normal(size=len(y))
    uniform, ndcg = make_objective(y, qid), make_objective(y, qid, weight="ndcg")
    indptr, out = ndcg.groups.indptr, np.empty((2, len(y)))
    constant = [array.astype(np.float32) for array in ndcg.derivatives(scores)]
    data = lightgbm.Dataset(X[:, :COLUMNS], y, group=np.diff(indptr)).construct()
    say_versions("numba", "lightgbm")
    print(f"{len(y)} documents, {uniform.n_pairs / 1e6:.1f} M pairs")
    kernels = {
        "double loop": lambda: double_loop(scores, y, indptr, *out),
        "logistic": lambda: uniform.derivatives(scores),
        "logistic x delta NDCG": lambda: ndcg.derivatives(scores),
    }
    times = time_in_turn(kernels, 3 * arguments.repetitions)
    fits = {
        "lambdarank fit": lambda: fit_lightgbm(data, "lambdarank", arguments.trees),
        "lambdarank fit, all pairs": lambda: fit_lightgbm(
            data, "lambdarank", arguments.trees, lambdarank_truncation_level=len(y)
        ),
        "constant fit": lambda: fit_lightgbm(data, lambda *_: constant, arguments.trees),
    }
    times |= time_in_turn(fits, arguments.repetitions)
    for objective in ("lambdarank", "lambdarank, all pairs"):
        fit = objective.replace("lambdarank", "lambdarank fit")
        times[objective] = (times[fit] - times["constant fit"]) / arguments.trees
    say_times(times)
    say_ratio("against the double loop", times, "logistic", "double loop", ">= 15")
    for objective in ("lambdarank", "lambdarank, all pairs"):
        say_ratio(f"against {objective}", times, "logistic x delta NDCG", objective, ">= 5")


if __name__ == "__main__":
    main()
