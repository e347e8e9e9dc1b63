"""Does ``refresh`` ship a model that is worse? Drawn drifts, judged by queries that it never saw.

In each drift the new queries differ from the old ones: features are scaled or get lost, or labels
are turned around or drawn anew, for a drawn share of them. A ranker of the old queries is refreshed
by the new ones, and both are compared on other new queries.
"""

import argparse

import numpy as np
from timing import say_versions

from treerank import NDCG, HistogramTrees, TreeDirectRanker, make_web_search
from treerank.rankers import refresh
from treerank.statistics.randomization import bootstrap_interval

KINDS = ("scaled features", "lost features", "turned labels", "labels drawn anew")


def drifted(X, y, kind, share, rng):
    """Return documents and labels after a drift."""
    X, y = X.copy(), y.copy()
    columns, rows = rng.random(X.shape[1]) < share, rng.random(len(y)) < share
    if kind == "scaled features":
        X[:, columns] *= rng.uniform(0.2, 5)
    elif kind == "lost features":
        X[:, columns] = np.nan
    elif kind == "turned labels":
        y[rows] = y.max() - y[rows]
    else:
        y[rows] = rng.permutation(y[rows])
    return X, y


def one_drift(seed, n_new):
    """Return the kind of a drift, whether the new model is shipped, and its gain on others."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    X, y, qid = make_web_search(500, documents_per_query=12, n_features=20, random_state=seed)
    old = qid < 100
    ranker = TreeDirectRanker(HistogramTrees(30, n_jobs=1), random_state=0)
    ranker.fit(X[old], y[old], qid[old])
    X, y = drifted(X, y, kind, rng.uniform(0, 0.6), rng)
    new, fresh = (qid >= 100) & (qid < 100 + n_new), qid >= 300
    way = ("leaves", "trees")[seed // len(KINDS) % 2]
    found = refresh(ranker, X[new], y[new], qid[new], learn=way)
    values = [
        NDCG(k=10).per_query(y[fresh], each.predict(X[fresh]), qid[fresh])
        for each in (found.candidate, ranker)
    ]
    return kind, found.accepted, bootstrap_interval(values[0] - values[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drifts", type=int, default=200)
    parser.add_argument("--queries", type=int, default=100, help="new queries to learn from")
    arguments = parser.parse_args()
    say_versions("numba")
    drifts = [one_drift(seed, arguments.queries) for seed in range(arguments.drifts)]
    for kind in (*KINDS, "all"):
        own = [each for each in drifts if kind in (each[0], "all")]
        shipped = [gain for _, accepted, gain in own if accepted]
        kept = [gain for _, accepted, gain in own if not accepted]
        print(
            f"{kind:18} {len(shipped):3} of {len(own):3} shipped, "
            f"{sum(gain.high < 0 for gain in shipped)} significantly worse on other queries; "
            f"{sum(gain.high < 0 for gain in kept)} of those kept back were, "
            f"{sum(gain.low > 0 for gain in kept)} were better"
        )


if __name__ == "__main__":
    main()
