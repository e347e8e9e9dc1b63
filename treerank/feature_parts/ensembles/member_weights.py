"""Member weights: what each part of an ensemble counts for, fitted to the objective itself."""

import numpy as np
from scipy.optimize import nnls

from treerank.objectives.base import Objective, as_objective

#: Penalty on the squares of the weights, as a share of the curvature at the start.
_ALPHA = 0.0003
_STEPS = 50


def fit_member_weights(scores: np.ndarray, objective: Objective) -> np.ndarray:
    r"""Fit weights that are not negative to an objective, by Newton's method.

    A step goes towards the least of the quadratic :math:`g'(w - v) + (w - v)'H(w - v)/2` in
    :math:`w \ge 0`, where g and H are gradient and hessian at the present weights v. So only
    derivatives are needed, like those that trees are fitted to, and pairs may weigh by the present
    ranks. Step t covers :math:`2/(t + 2)` of the way: late steps are averaged, which evens out
    ranks that jump or are drawn at random. An objective of several outputs is replaced by its
    convex form.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_parts)
        Scores of the parts, of documents that they were not fitted to.
    objective : Objective
        Objective of the weighted sum.

    Returns
    -------
    weight : ndarray of shape (n_parts,)
        The weights; zeros if no part lowers the objective.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0, 1, 0], qid=[0, 0, 1, 1])
    >>> scores = np.array([[1.0, 0.2], [0.0, 0.3], [0.2, 0.0], [0.0, 0.1]])
    >>> (fit_member_weights(scores, objective) > 0).tolist()
    [True, False]
    """
    if objective.n_outputs > 1:
        objective = as_objective(objective).convex_or_itself()
    weight = np.zeros(scores.shape[1])
    penalty = 0.0
    for step in range(_STEPS):
        gradient, hessian = objective.derivatives(_sums(scores, weight), iteration=step)
        # einsum, not `@`: a threaded BLAS sums in an order that depends on the number of threads.
        slope = np.einsum("ij,i->j", scores, gradient)
        curvature = np.einsum("ij,i,ik->jk", scores, hessian, scores)
        penalty = penalty or _ALPHA * np.trace(curvature) / len(weight)
        if penalty == 0:  # nothing to weigh, or no pair to weigh it by
            break
        weight = weight + 2 / (step + 2) * (_least(slope, curvature, weight, penalty) - weight)
    return weight


def _sums(scores, weight):
    return np.einsum("ij,j->i", scores, weight)


def _least(slope, curvature, weight, penalty):
    """Return the weights of at least 0 with the least penalized quadratic."""
    root = np.linalg.cholesky(curvature + penalty * np.eye(len(weight))).T
    goal = np.linalg.solve(root.T, curvature @ weight - slope)
    return nnls(root, goal)[0]
