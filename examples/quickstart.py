"""
Quickstart
==========

Learn to rank the pages of a web search, and measure the result.
"""

# %%
# Data
# ----
# Every row is a document. ``qid`` says which query it belongs to; it may be of any type and in any
# order. The labels say how relevant a document is to its query, from 0 to 4. Here, the data are
# synthetic; ``treerank.read_letor`` reads files in LETOR format, and you can pass data frames
# directly.

import numpy as np

from treerank import NDCG, QueryKFold, TreeDirectRanker, make_web_search

X, y, qid = make_web_search(n_queries=80, documents_per_query=30, n_features=40, random_state=0)
train, test = next(QueryKFold(4).split(X, y, qid))
print(f"{len(train)} documents for training, {len(test)} documents of other queries for testing")

# %%
# Fit
# ---
# By default, LightGBM's trees minimize a logistic loss over pairs of documents. The weight of a
# pair is the change in NDCG if its two documents were swapped.

ranker = TreeDirectRanker(random_state=0).fit(X[train], y[train], qid[train])

# %%
# Rank
# ----
# ``predict`` returns scores, ``rank`` returns positions within queries, and ``top_k`` returns the
# rows of the result lists.

scores = ranker.predict(X[test])
ranks = ranker.rank(X[test], qid[test])
top = ranker.top_k(X[test], qid[test], k=3)
query = qid[test][-1]
print(f"labels of the top 3 of query {query}:", y[test][top][qid[test][top] == query])

# %%
# Measure
# -------
# ``score`` returns the mean ``NDCG@10`` over queries. Compare it with that of a random order.

ndcg = NDCG(k=10)
found = ranker.score(X[test], y[test], qid[test])
by_chance = ndcg(y[test], np.zeros(len(test)), qid[test])  # equal scores: the mean of all orders
print(f"NDCG@10 {found:.3f}; of a random order {by_chance:.3f}")

# %%
# How good is the order further down? This plot shows NDCG@k for each k, for the ranker and for a
# single feature.

import matplotlib.pyplot as plt

ks = range(1, 21)
for name, ordering in {"ranker": scores, "feature 5": X[test, 4]}.items():
    plt.plot(ks, [NDCG(k=k)(y[test], ordering, qid[test]) for k in ks], label=name)
plt.xlabel("k")
plt.ylabel("NDCG@k")
plt.legend()

assert found == ndcg(y[test], scores, qid[test])
assert found > by_chance + 0.1
assert (ranks[top].reshape(-1, 3) == [1, 2, 3]).all()
