"""
Quickstart
==========

Learn to rank the pages of a web search, and look at what was learned.
"""

# %%
# Data
# ----
# Every row is a document. ``qid`` says which query it belongs to: any type, in any order. The
# labels say how relevant a document is to its query, from 0 to 4.
#
# Your own LETOR files are read by ``treerank.datasets.letor.read_letor``.

import numpy as np

from treerank import NDCG, QueryKFold, TreeDirectRanker
from treerank.datasets.synthetic import make_web_search

X, y, qid = make_web_search(n_queries=80, documents_per_query=30, n_features=40, random_state=0)
train, test = next(QueryKFold(4).split(X, y, qid))
print(f"{len(train)} documents to learn from, {len(test)} of other queries to be measured on")

# %%
# Fit
# ---
# The default is LightGBM's trees under a logistic pair loss, each pair weighed by how much NDCG
# would change if its two documents swapped places.

ranker = TreeDirectRanker(random_state=0).fit(X[train], y[train], qid[train])

# %%
# Rank
# ----
# ``predict`` scores documents, ``rank`` gives positions within queries and ``top_k`` the rows of
# the result lists.

scores = ranker.predict(X[test])
ranks = ranker.rank(X[test], qid[test])
top = ranker.top_k(X[test], qid[test], k=3)
query = qid[test][0]
print(f"labels of the top 3 of query {query}:", y[test][top][qid[test][top] == query])

# %%
# Measure
# -------
# ``score`` is the mean NDCG@10 over queries; a random order is the yardstick.

found = ranker.score(X[test], y[test], qid[test])
by_chance = NDCG(k=10)(y[test], np.zeros(len(test)), qid[test])  # ties: the mean of all orders
print(f"NDCG@10 {found:.3f}; of a random order {by_chance:.3f}")

assert found == NDCG(k=10)(y[test], scores, qid[test])
assert found > by_chance + 0.1
assert (ranks[top].reshape(-1, 3) == [1, 2, 3]).all()
