"""Training on labels of few queries by people, and of all queries by an LLM: which way is best?

NDCG@10 by people's labels of other queries. Each draw takes other queries for people to judge and
other noise of the judge, and of MQ2008 other test queries.
"""

import warnings

import numpy as np

from treerank import NDCG, TreeDirectRanker
from treerank.feature_parts import RefitTrees

from . import llm_data

METRIC = NDCG(k=10)
#: Number of queries that people judge, of test queries, and of queries that the LLM judges.
JUDGED = (30, 100)
SIZES = {"msrd": (2000, 1500), "mq2008": (200, None)}
#: Both scales end at the same gain: MSRD has labels 0 and 1, MQ2008 0 to 2, the LLM 0 to 3.
_SCALE = {"msrd": 3.0, "mq2008": 1.5, "drawn": 1.5}


def stacked(llm, seed):
    """Return an unfitted ranker whose score weighs the LLM's ranker, new trees and a line."""
    kept = RefitTrees(llm.forest(), learning_rate=0.0)
    return TreeDirectRanker([kept, "lightgbm", "linear"], random_state=seed)


def scores_by_way(name, pool, test, grades, judged, llm, seed):
    """Return the scores of the test queries by each way to use both kinds of labels."""
    people = pool.take(judged)
    X, y, qid = people.X, people.y, people.qid
    trees, linear = TreeDirectRanker("lightgbm", random_state=seed), TreeDirectRanker("linear")
    scores = {
        "LLM alone": llm.predict(test.X),
        "people alone": trees.fit(X, y, qid).predict(test.X),
        "people alone, linear model": linear.fit(X, y, qid).predict(test.X),
    }
    both = np.where(judged, _SCALE[name] * pool.y, grades)
    weight = np.where(judged, 1.0, 0.5)
    mixed = trees.fit(pool.X, both, pool.qid, sample_weight=weight)
    scores["one label, the LLM's at half the weight"] = mixed.predict(test.X)
    column = np.column_stack([X, llm.predict(X)])
    chosen = linear if len(np.unique(qid)) <= 50 else trees
    chosen.fit(column, y, qid)
    scores["LLM's ranker as a column"] = chosen.predict(
        np.column_stack([test.X, llm.predict(test.X)])
    )
    scores["stacked"] = stacked(llm, seed).fit(X, y, qid).predict(test.X)
    return scores


def drawn(name, path, draw, sizes=None, counts=JUDGED):
    """Return NDCG@10 by judge, number of judged queries and way, of one draw."""
    data, found = llm_data.read(name, path), {}
    rng = np.random.default_rng(draw)
    n_test, n_pool = sizes or SIZES[name]
    ids = np.unique(data.qid)
    mixed = np.random.default_rng(0).permutation(ids) if n_pool else rng.permutation(ids)
    test, pool = mixed[:n_test], mixed[n_test:][:n_pool]
    tested, pooled = (data.take(np.isin(data.qid, some)) for some in (test, pool))
    for judge in llm_data.JUDGES:
        grades = llm_data.grades(name, judge, pooled, rng)
        llm = TreeDirectRanker(random_state=draw).fit(pooled.X, grades, pooled.qid)
        for n_judged in counts:
            judged = np.isin(pooled.qid, rng.choice(pool, n_judged, replace=False))
            with warnings.catch_warnings(action="ignore"):  # trees learn nothing from few queries
                scores = scores_by_way(name, pooled, tested, grades, judged, llm, draw)
            for way, column in scores.items():
                found[judge, n_judged, way] = METRIC(tested.y, column, tested.qid)
    return found


def gains(kept):
    """Return, by data, judge, judged queries and way, the mean gain over the better source."""
    values = {}
    for row in kept:
        cell = row["data"], row["judge"], row["judged"]
        values.setdefault(cell, {}).setdefault(row["way"], []).append(row["ndcg"])
    found = {}
    for cell, by_way in values.items():
        means = {way: float(np.mean(column)) for way, column in by_way.items()}
        better = max(means["LLM alone"], means["people alone"])
        found |= {(*cell, way): mean - better for way, mean in means.items()}
    return found
