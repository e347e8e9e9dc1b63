r"""Head fitting: the weight w of a linear head, by convex optimization with a penalty.

To add a penalty, write a minimizer like ``_minimize_l2``, and list it in ``PENALTIES`` and its
usual strength in ``USUAL_ALPHA``.
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from treerank.checks import check_choice, check_number, warn_user
from treerank.objectives.base import Objective
from treerank.parameters import Rule


def fit_head(
    features: Any,
    objective: Objective,
    *,
    penalty: str = "l2",
    alpha: float | None = None,
    tolerance: float = 1e-5,
    max_iter: int = 1000,
) -> np.ndarray:
    r"""Fit the weight of a linear head.

    Minimizes L(F v / c) / L(0) plus alpha |v|^2 / 2 or alpha \|v\|_1 and returns w = v / c. L is
    the value of the objective, F are the features and c is one number, the root mean square of
    the features' standard deviations. So alpha has no unit: the same alpha means the same for ten
    queries or a million, and for features in any unit. All columns share one scale because a tree
    that moves few documents a little *should* pay more for its influence, as in RuleFit [1]_.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n_documents, n_outputs)
        Outputs of a feature part.
    objective : Objective
        Convex in the scores and with a gradient everywhere, such as the logistic pair loss
        with weights that do not depend on the scores.
    penalty : {"l2", "l1"}, default="l2"
        Penalty on the weight. "l1" makes some entries exactly zero, which prunes outputs.
    alpha : float, default=None
        Strength of the penalty; None is 10 under "l2" and 0.1 under "l1", which suits single
        trees and leaves.
    tolerance : float, default=1e-5
        Largest violation of the condition of optimality that any entry may have.
    max_iter : int, default=1000
        Largest number of iterations. A ConvergenceWarning says that they were too few.

    Returns
    -------
    weight : ndarray of shape (n_outputs,)
        The weight w; zeros if all outputs are constant or no pair counts.

    References
    ----------
    .. [1] Friedman and Popescu (2008). Predictive learning via rule ensembles. Annals of Applied
       Statistics 2.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> features = np.array([[1.0, 0.1], [0.0, 0.0], [0.5, 0.9], [0.2, 1.0]])
    >>> objective = make_objective([1, 0, 1, 0], qid=[0, 0, 1, 1])
    >>> fit_head(features, objective, penalty="l1", alpha=0.1).round(2)
    array([5.19, 0.  ])
    """
    check_choice("penalty", penalty, PENALTIES)
    alpha = USUAL_ALPHA[penalty] if alpha is None else alpha
    check_number("alpha", alpha, at_least=0)
    scale = _common_scale(features)
    start_value = objective(np.zeros(features.shape[0]))[0]
    if scale == 0 or start_value == 0:  # nothing to weigh, or no pair to weigh it by
        return np.zeros(features.shape[1])

    def relative_value(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = objective(_scores_of(features, v / scale))
        slope = _column_sums(features, gradient) / (scale * start_value)
        return value / start_value, slope

    return PENALTIES[penalty](relative_value, features.shape[1], alpha, tolerance, max_iter) / scale


def _minimize_l2(relative_value, n_outputs, alpha, tolerance, max_iter):
    def penalized(v):
        value, slope = relative_value(v)
        return value + 0.5 * alpha * (v @ v), slope + alpha * v

    return _minimize(penalized, np.zeros(n_outputs), None, tolerance, max_iter)


def _minimize_l1(relative_value, n_outputs, alpha, tolerance, max_iter):
    # v = up - down with both >= 0: smooth under bounds, and zeros are exact at the bounds.
    def penalized(parts):
        value, slope = relative_value(parts[:n_outputs] - parts[n_outputs:])
        return value + alpha * parts.sum(), np.concatenate([alpha + slope, alpha - slope])

    parts = _minimize(penalized, np.zeros(2 * n_outputs), 0, tolerance, max_iter)
    return parts[:n_outputs] - parts[n_outputs:]


#: Minimizers by penalty: the smooth part, the number of weights, alpha, tolerance and iterations.
PENALTIES: dict[str, Callable[..., np.ndarray]] = {"l2": _minimize_l2, "l1": _minimize_l1}
#: Name of a penalty.
HeadPenalty = Annotated[str, Rule.one_of(PENALTIES)]

#: Strengths of the penalties where none is given.
USUAL_ALPHA = {"l2": 10.0, "l1": 0.1}


def _minimize(function, start, lowest, tolerance, max_iter):
    """Minimize a smooth function over numbers from ``lowest``; warn if it stops far from there."""
    bounds = None if lowest is None else optimize.Bounds(lowest, np.inf)
    options = {"gtol": tolerance, "ftol": 0.0, "maxiter": max_iter, "maxfun": 2 * max_iter}
    found = optimize.minimize(
        function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    violation = _largest_violation(found.x, found.jac, bounds)
    if violation > 10 * tolerance:  # closer than this, an abnormal line search is only rounding
        stopped = f"The head stopped {violation:.1e} from optimal after {found.nit} iterations"
        warn_user(f"{stopped}; raise head_alpha.", ConvergenceWarning)
    return found.x


def _largest_violation(x, slope, bounds):
    """Return the largest slope along which the point could still move."""
    projected = slope if bounds is None else np.where(x > 0, slope, np.minimum(slope, 0))
    return np.abs(projected).max()


def _common_scale(features):
    """Return the root mean square of the standard deviations of the columns."""
    if sparse.issparse(features):
        mean_of_squares = np.asarray(features.multiply(features).mean(axis=0)).ravel()
        variance = mean_of_squares - np.asarray(features.mean(axis=0)).ravel() ** 2
    else:
        variance = features.var(axis=0)
    return float(np.sqrt(np.maximum(variance, 0).mean()))


def _scores_of(features, weight):
    # einsum, not `@`: a threaded BLAS sums in an order that depends on the number of threads.
    return features @ weight if sparse.issparse(features) else np.einsum("ij,j", features, weight)


def _column_sums(features, gradient):
    is_sparse = sparse.issparse(features)
    return features.T @ gradient if is_sparse else np.einsum("ij,i", features, gradient)
