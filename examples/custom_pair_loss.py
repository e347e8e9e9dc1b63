"""
A pair loss of your own
=======================

A pair loss is the price of a margin: of how far the more relevant document of a pair stands above
the other. Any jitted function of the margin will do, with any weight, any pairs and any trees.
"""

# %%
# The loss
# --------
# Huber's hinge is smooth where the hinge has its kink: zero above 1, a parabola between 0 and 1,
# a line below. It returns value, gradient and curvature with respect to the margin. The curvature
# of the line is 0, of which no tree can be grown, so there it is that of a majorising parabola.

from numba import njit

from treerank import QueryKFold, TreeDirectRanker, make_objective
from treerank.datasets.synthetic import make_web_search


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
# An objective makes one function of all scores from it. Its gradient should be what small steps
# of the scores say.

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
