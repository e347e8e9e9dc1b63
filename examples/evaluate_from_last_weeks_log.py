"""
Is the new ranker better, from last week's log?
===============================================

This example answers the question before any user sees the new ranker, and shows when not to trust
the answer.
"""

# %%
# Last week, the old ranker sorted by one feature with some noise, so that most documents were shown
# occasionally. The log is a table with a row for each document that was shown. Here, users are
# simulated: they examine position k with probability 1/k.

import warnings

import numpy as np

from treerank import QueryKFold, TreeDirectRanker, make_web_search
from treerank.clicks import ClickLog, Items, evaluate_from_log, simulate_clicks

X, y, qid = make_web_search(150, documents_per_query=20, n_features=40, random_state=0)
train, live = next(QueryKFold(3).split(X, y, qid))
old = X[:, 4]
week = simulate_clicks(
    y[live], qid[live], old[live], n_sessions=200, exploration=1.0, random_state=0
)
table = {
    "session": week.session,
    "query": week.items.query[week.item],
    "document": live[week.items.document[week.item]],
    "position": week.position,
    "click": week.clicked.astype(int),
}
log = ClickLog.from_table(table)
print(log)

# %%
# The new ranker was learned from labels of other queries. It scores every document that it might
# show for the queries of the log, whether or not the log contains the document.

ranker = TreeDirectRanker(random_state=0).fit(X[train], y[train], qid[train])
candidates = Items(qid[live], live)
new = ranker.predict(X[live])

# %%
# Each estimate is the difference in clicks per session, new ranker minus old ranker, with its 95 %
# interval. "ips" is unbiased if the log shows all documents; "self_normalized" has a lower
# variance. If an interval is above 0, the new ranker is significantly better.

found = evaluate_from_log(log, new, baseline=old[live], candidates=candidates, random_state=0)
print("difference in clicks:", found, sep="\n")
better = found.estimates["self_normalized"].low > 0
print("better:", better)

# %%
# The plot shows the same estimates. An interval that includes 0 would be gray.

found.plot()

# %%
# The estimate agrees with what users would do with the new ranker, which is known only because this
# is a simulation.

same = {"n_sessions": 2000, "exploration": 0.0, "random_state": 1}
clicks = [
    simulate_clicks(y[live], qid[live], scores, **same).clicked.sum() for scores in (new, old[live])
]
truth = (clicks[0] - clicks[1]) / (2000 * len(np.unique(qid[live])))
print(f"clicks of a session with the new ranker, less those with the old one: {truth:.3f}")

# %%
# Without exploration, a log cannot answer the question: documents that the old ranker never showed
# have no clicks. A warning says so, and "overlap" is the share of the new ranking that the log
# covers.

fixed = simulate_clicks(y[live], qid[live], old[live], n_sessions=50, exploration=0, random_state=0)
rows = Items(qid[live], np.arange(len(live)))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    alone = evaluate_from_log(
        fixed, new, candidates=rows, propensities=1 / np.arange(1.0, 11.0), random_state=0
    )
print(caught[0].message)
print(f"overlap with exploration {found.overlap:.2f}, without {alone.overlap:.2f}")

assert better
assert truth > 0
assert alone.overlap < 0.9 < found.overlap
