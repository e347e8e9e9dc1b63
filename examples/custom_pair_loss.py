"""
A pair loss of your own
=======================

A pair loss is a function of the margin: the score of the more relevant document of a pair minus the
score of the other. You can use any function that numba can compile, and combine it with any weight,
pairs and trees.
"""

# %%
# The loss
# --------
# Huber's hinge is a smooth form of the hinge: it is zero above 1, a parabola between 0 and 1, and a
# straight line below 0. The function returns the value, and the first and second derivatives with
# respect to the margin. On the straight line, the second derivative is 0, and no tree can be grown.
# So the function returns the second derivative of a parabola that lies above the line.

# sphinx_gallery_thumbnail_path = "generated/diagrams/pair.svg"
from numba import njit

from treerank import QueryKFold, TreeDirectRanker, make_objective, make_web_search


@njit
def huber_hinge(margin):
    if margin > 1:
        return 0.0, 0.0, 0.0
    if margin > 0:
        return (1 - margin) ** 2 / 2, margin - 1, 1.0
    return 0.5 - margin, -1.0, 1.0 / (1 - margin)


# %%
# Check the gradient
# ------------------
# An objective sums the loss over all pairs, as a function of all scores. Its gradient should agree
# with the change of the value after a small step.

labels, qid = [2, 1, 0, 1], ["a", "a", "a", "b"]
objective = make_objective(labels, qid, loss=huber_hinge, weight="ndcg")
scores = [0.3, 0.1, 0.2, 5.0]
value, gradient, _ = objective(scores)
moved, _, _ = objective([0.3 + 1e-6, 0.1, 0.2, 5.0])
print("gradient:", gradient)
assert abs((moved - value) / 1e-6 - gradient[0]) < 1e-5
assert gradient[3] == 0  # alone in its query

# %%
# Fit
# ---

X, y, qid = make_web_search(n_queries=60, documents_per_query=30, n_features=40, random_state=0)
train, test = next(QueryKFold(3).split(X, y, qid))
ranker = TreeDirectRanker(loss=huber_hinge, random_state=0).fit(X[train], y[train], qid[train])
learned = ranker.score(X[test], y[test], qid[test])
usual = TreeDirectRanker(random_state=0).fit(X[train], y[train], qid[train])
print(
    f"NDCG@10 {learned:.3f}; with the logistic loss {usual.score(X[test], y[test], qid[test]):.3f}"
)

assert learned > 0.4
