"""
Comparing two documents
=======================

A ranker compares two documents: r(a, b) is positive if document a is better than b. For any trees,
r is antisymmetric and transitive, so it can be used to sort documents.
"""

# %%
# Fit
# ---
# ``eval_set`` contains queries that are not used to grow the trees. They are used for early
# stopping and to calibrate the pair probabilities.

import numpy as np

from treerank import LightGBMTrees, QueryKFold, TreeDirectRanker, make_web_search

X, y, qid = make_web_search(n_queries=90, documents_per_query=30, n_features=40, random_state=0)
(train, rest), _, _ = QueryKFold(3).split(X, y, qid)
held_out, test = np.array_split(rest, [np.searchsorted(qid[rest], np.median(qid[rest]))])
trees = LightGBMTrees(n_estimators=200, early_stopping_rounds=20)
ranker = TreeDirectRanker(trees, random_state=0).fit(
    X[train], y[train], qid[train], eval_set=(X[held_out], y[held_out], qid[held_out])
)
print(f"{ranker.best_iteration_} trees")

# %%
# The learning curve is the metric on the held-out queries after each tree.

ax = ranker.evals_result_.plot()
ax.axvline(ranker.best_iteration_, color="gray", linestyle=":")

# %%
# Compare
# -------
# ``compare`` compares one document with another, or one document with many.

best, worst = ranker.top_k(X[test], qid[test], k=30)[[0, -1]]
a, b = X[test][[best]], X[test][[worst]]
print("r(a, b) =", ranker.compare(a, b), " r(b, a) =", ranker.compare(b, a))
assert ranker.compare(a, b) == -ranker.compare(b, a)

others = ranker.compare(a, X[test])
print(f"a beats {np.mean(others > 0):.0%} of the documents")

# %%
# Why
# ---
# The explanation says exactly how much each feature contributes to the difference between the two
# scores. The bars of the waterfall plot end at the difference.

parts = ranker.explain(a, b)
print(parts)
parts.plot(most=8)

# %%
# Probability
# -----------
# This is the probability that a is more relevant than b. The probabilities of the two directions
# sum to 1.

pairs = [
    (i, j)
    for query in np.unique(qid[test])
    for i in np.flatnonzero(qid[test] == query)
    for j in np.flatnonzero(qid[test] == query)
    if y[test][i] > y[test][j]
]
i, j = np.transpose(pairs)
probability = ranker.predict_pair_proba(X[test][i], X[test][j])
reverse = ranker.predict_pair_proba(X[test][j], X[test][i])
print(f"{np.mean(probability > 0.5):.0%} of {len(pairs)} pairs are in the right order")
sure = np.maximum(probability, reverse)
for low, high in [(0.5, 0.6), (0.6, 0.7), (0.7, 1.0)]:
    claimed = (sure >= low) & (sure < high)
    right = np.mean(probability[claimed] > 0.5)
    print(f"  where it was {low:.0%} to {high:.0%} sure: {right:.0%}")
np.testing.assert_allclose(probability + reverse, 1)

# %%
# The reliability diagram compares the predicted probabilities with the shares of pairs that are
# really in this order. On the diagonal, both are equal.

from treerank.inspection import calibration_curve

first = np.random.default_rng(0).random(len(i)) < 0.5  # a is the better one in half of the pairs
curve = calibration_curve(np.where(first, probability, reverse), first, qid[test][i])
curve.plot()

# %%
# Distance
# --------
# The absolute value of r is a pseudometric: it is 0 for documents that the model ranks as equal,
# and the triangle inequality holds.

a, b, c = X[test][:10], X[test][10:20], X[test][20:30]
direct, detour = ranker.distance(a, c), ranker.distance(a, b) + ranker.distance(b, c)
assert (direct <= detour + 1e-12).all()
assert (ranker.distance(a, a) == 0).all()
assert np.mean(probability > 0.5) > 0.55
