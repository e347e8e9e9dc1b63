import numpy as np
import pytest
from ranking_sample import make_ranking_sample
from scipy.optimize import minimize

from treerank.baselines.linear.ranksvm import RankSVM

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
X, y, qid = make_ranking_sample(n_queries=8, random_state=1)


def listed_pairs(weight, query_weight, normalized):
    """Return i, j and the share in the mean of every pair, by two loops."""
    pairs = []
    for q in np.unique(qid):
        rows = np.flatnonzero(qid == q)
        own = [(i, j, weight[i] * weight[j]) for i in rows for j in rows if y[i] > y[j]]
        mass = sum(w for _, _, w in own) if normalized else 1.0
        pairs += [(i, j, query_weight[i] * w / mass) for i, j, w in own]
    i, j, v = map(np.array, zip(*pairs, strict=True))
    return i, j, v / v.sum()


def minimized(X, C, pairs, weight=None):
    """Return the optimal weights of standard features, and the value, by a general solver."""
    i, j, v = pairs
    gaps = X[i] - X[j]

    def value(w):
        short = np.maximum(0, 1 - gaps @ w)
        return 0.5 * w @ w + C * v @ short**2, w - 2 * C * gaps.T @ (v * short)

    found = minimize(value, np.zeros(X.shape[1]), jac=True, options={"gtol": 1e-10})
    return found.x, found.fun


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_over_explicit_pairs(C, normalized):
    rng = np.random.default_rng(0)
    weight, by_query = 0.5 + rng.random(len(y)), rng.integers(1, 4, size=8).astype(float)[qid]
    ranker = RankSVM(C, normalized=normalized)
    ranker.fit(X, y, qid, sample_weight=weight, query_weight=by_query)
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    Z = (X - mean) / deviation
    expected, value = minimized(Z, C, listed_pairs(weight, by_query, normalized))
    np.testing.assert_allclose(ranker.coef_ * deviation, expected, atol=1e-5)
    assert ranker.objective_ == pytest.approx(value, rel=1e-6)
