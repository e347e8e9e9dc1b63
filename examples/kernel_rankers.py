r"""
Kernel RankNet and kernel PRank
===============================

The RankNet paper asks whether its ideas can be extended to kernels, and answers with two equations.
Here, they become a custom model with the head of a ranker. The kernel perceptron with which the
paper compares them becomes a scikit-learn pipeline.
"""

# %%
# Data that no linear model ranks
# -------------------------------
# The closer a document is to the center of its query's features, the better it is.

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import TreeDirectRanker, get_metric
from treerank.baselines import PRank

rng = np.random.default_rng(0)
X, qid = rng.normal(size=(900, 4)), np.repeat(np.arange(60), 15)
y = np.digitize(-np.abs(X[:, 0]) - np.abs(X[:, 1]) + 0.3 * rng.normal(size=900), [-2, -1.2, -0.6])
train, test = qid < 40, qid >= 40
ndcg = get_metric("ndcg@10")


def quality(scores):
    return f"NDCG@10 {ndcg(y[test], scores, qid[test]):.3f}"


# %%
# Kernel RankNet
# --------------
# Equation 17 adds the squared norm of f in the space of the kernel to the cost of all pairs:
#
# .. math:: F = \sum_{i,j} C(P_{ij}, \bar P_{ij}) + \lambda \|f\|^2
#
# Its minimum has the form of equation 18, a sum over the training documents:
#
# .. math:: f(x) = \sum_i \alpha_i k(x, x_i)
#
# So a model with ``fit(X, objective)`` and ``transform(X)`` has everything it needs: the kernel
# matrix K, the scores, which are K times alpha, and the derivatives of the cost with respect to the
# scores.


class KernelRankNet(BaseEstimator):
    def __init__(self, gamma=0.2, penalty=1.0):
        self.gamma, self.penalty = gamma, penalty

    def fit(self, X, objective, validation=None):
        K = rbf_kernel(X, gamma=self.gamma)
        root = np.linalg.cholesky(K + 1e-9 * np.eye(len(K)))  # the squared norm of f is |beta|^2

        def cost(beta):
            value, gradient, _ = objective(root @ beta)
            penalty = self.penalty * beta @ beta
            return value + penalty, root.T @ gradient + 2 * self.penalty * beta

        beta = minimize(cost, np.zeros(len(K)), jac=True, method="L-BFGS-B", tol=1e-12).x
        self.alpha_, self.X_ = np.linalg.solve(root.T, beta), X
        return self

    def transform(self, X):
        return rbf_kernel(X, self.X_, gamma=self.gamma) @ self.alpha_[:, None]


settings = {"weight": "uniform", "smoothing": 0.0, "random_state": 0}  # the cost of RankNet
kernel = TreeDirectRanker(KernelRankNet(), **settings).fit(X[train], y[train], qid[train])
line = TreeDirectRanker("linear", **settings).fit(X[train], y[train], qid[train])
print("kernel RankNet:", quality(kernel.predict(X[test])))
print("linear RankNet:", quality(line.predict(X[test])))
assert kernel.score(X[test], y[test], qid[test]) > line.score(X[test], y[test], qid[test]) + 0.1

# %%
# At the minimum, the gradient of equation 17 is 0, so each coefficient is the derivative of the
# cost with respect to the score of its document, divided by minus twice the penalty.

from treerank import make_objective

part = kernel.feature_part_
objective = make_objective(y[train], qid[train], weight="uniform")
pull = -objective(kernel.predict(X[train]))[1] / (2 * part.penalty)
alpha = dict(zip(map(bytes, np.asarray(part.X_)), part.alpha_, strict=True))
found = np.array([alpha[bytes(row)] for row in X[train]])
print(f"largest difference: {np.abs(found - pull).max():.1e} of {np.abs(pull).max():.2f}")
assert np.abs(found - pull).max() < 1e-2 * np.abs(pull).max()

# %%
# The result is a ranker like any other: its comparisons are antisymmetric and transitive, and can
# be explained.

a, b = X[test][:1], X[test][1:2]
assert kernel.compare(a, b) == -kernel.compare(b, a)
print(kernel.explain(a, b))

# %%
# Kernel PRank
# ------------
# PRank adds documents to its weights, so on a kernel map, it is also a sum of kernels: of all
# training documents or, which is faster, of some of them. PRank scales the columns of the map, as
# it scales features.

for n_components in (600, 50):
    kernel_map = Nystroem(gamma=0.2, n_components=n_components, random_state=0)
    prank = make_pipeline(StandardScaler(), kernel_map, PRank(random_state=0))
    prank.fit(X[train], y[train])
    print(f"kernel PRank, {n_components} components:", quality(prank.predict(X[test])))
    assert ndcg(y[test], prank.predict(X[test]), qid[test]) > 0.7
plain = PRank(random_state=0).fit(X[train], y[train])
print("PRank:", quality(plain.predict(X[test])))
