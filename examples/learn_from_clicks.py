"""
Learn from clicks
=================

This example leads from the log of an old ranker to a better ranker, without a single relevance
label.
"""

# %%
# A log has a row for each document that was shown, with its session, query, document id, position
# and click. Here, users examine position k with probability 1/k, and the old ranker sorts by one
# feature.

import numpy as np

from treerank import QueryKFold, TreeDirectRanker, make_web_search
from treerank.clicks import count_data, evaluate_from_log, simulate_clicks

X, y, qid = make_web_search(150, documents_per_query=20, n_features=40, random_state=0)
train, test = next(QueryKFold(3).split(X, y, qid))
old, document = X[:, 4], np.arange(len(y))
log = simulate_clicks(y[train], qid[train], old[train], n_sessions=50, random_state=0)
print(log)

# %%
# Every ranker can learn from clicks if you pass the positions at which documents were shown. It
# first estimates how likely users are to examine each position, and then how relevant each document
# is. Finally, it learns from these estimates. ``ClickLog.from_table`` reads a log of your own.

data = count_data(log, (X[train], qid[train], document[: len(train)]))
ranker = TreeDirectRanker(random_state=0).fit(data)
print("propensities:", ranker.propensities_.round(2))

# %%
# The true propensities are 1/k, since this is how the clicks were simulated.

position = np.arange(1, len(ranker.propensities_) + 1)
ax = ranker.propensities_.plot()
ax.plot(position, 1 / position, linestyle="--", color="gray")
ax.set_title("Position bias: estimated (blue) and true (dashed)")

# %%
# Is the new ranker better than the old one? The log of other queries can answer this before any
# user sees the new ranker. For this, the log needs sessions in which the old ranker explores, so
# that every document is shown occasionally.

shown = {"n_sessions": 200, "exploration": 1.0, "random_state": 1}
other = simulate_clicks(y[test], qid[test], old[test], **shown)
rows = test[other.items.document]
found = evaluate_from_log(other, ranker.predict(X[rows]), baseline=old[rows], random_state=0)
print("clicks of a session, against the old ranker:", found, sep="\n")

assert found.estimates["self_normalized"].low > 0
