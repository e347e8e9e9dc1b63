"""Head fitting: the weight w of a linear head, by convex optimization with an L2 penalty."""

from typing import Any

import numpy as np
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from treerank.checks import check_number, warn_user
from treerank.objectives.base import Objective


def fit_head(
    features: np.ndarray,
    objective: Objective,
    *,
    alpha: float = 10.0,
    positive: bool = False,
    scale: float | None = None,
    tolerance: float = 1e-5,
    max_iter: int = 1000,
) -> np.ndarray:
    r"""Fit the weight of a linear head.

    Minimizes L(F v / c) / u plus alpha |v|^2 / 2 and returns w = v / c. L is the value of the
    objective, F are the features and c is one number, the root mean square of the features'
    standard deviations. The unit u is L(0), the loss of equal scores. Any constant may be part of
    the value of a user-defined objective, so its unit comes from the derivatives at equal scores:
    n |g|^2 / (2 sum h), which is L(0) for half the squared error. So alpha has no unit: the same
    alpha means the same for ten queries or a million, and for features in any unit. All columns
    share one scale because an output that moves few documents a little *should* pay more for its
    influence, as in RuleFit [1]_.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_outputs)
        Outputs of a feature part.
    objective : Objective
        Convex in the scores and with a gradient everywhere, such as the logistic pair loss
        with weights that do not depend on the scores.
    alpha : float, default=10.0
        Strength of the penalty.
    positive : bool, default=False
        Whether no weight may be negative.
    scale : float, default=None
        The number c; None measures it.
    tolerance : float, default=1e-5
        Largest slope that any entry may have at the optimum.
    max_iter : int, default=1000
        Largest number of iterations. A ConvergenceWarning says that they were too few.

    Returns
    -------
    weight : ndarray of shape (n_outputs,)
        The weight w; zeros if all outputs are constant or the gradient at equal scores is zero.

    References
    ----------
    .. [1] Friedman and Popescu (2008). Predictive learning via rule ensembles. Annals of Applied
       Statistics 2.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> features = np.array([[1.0, 0.1], [0.0, 0.0], [0.5, 0.9], [0.2, 1.0]])
    >>> objective = make_objective([1, 0, 1, 0], qid=[0, 0, 1, 1])
    >>> fit_head(features, objective, alpha=0.1).round(1)
    array([ 3.8, -0.8])
    """
    check_number("alpha", alpha, at_least=0)
    if scale is None:
        with np.errstate(under="ignore"):
            scale = float(np.sqrt(np.maximum(features.var(axis=0), 0).mean()))
    unit = _unit(objective, len(features))
    if scale == 0 or unit == 0:  # nothing to weigh, or no pair to weigh it by
        return np.zeros(features.shape[1])

    # einsum, not `@`: a threaded BLAS sums in an order that depends on the number of threads.
    def penalized(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = objective(np.einsum("ij,j", features, v / scale))
        slope = np.einsum("ij,i", features, gradient) / (scale * unit)
        return value / unit + 0.5 * alpha * (v @ v), slope + alpha * v

    with np.errstate(under="ignore"):  # no decorator, whose frame a warning would point at
        return _minimum(penalized, features.shape[1], positive, tolerance, max_iter) / scale


def _unit(objective: Objective, n_documents: int) -> float:
    """Return the unit of the value of an objective; 0 if equal scores cannot be improved.

    Refuses a value or derivatives that are not finite, and a hessian that is nowhere positive.
    """
    value, gradient, hessian = objective(np.zeros(n_documents))
    if not np.any(gradient):
        return 0.0
    if objective.is_nonnegative:
        return float(value)
    if not all(np.isfinite(numbers).all() for numbers in (value, gradient, hessian)):
        raise ValueError(
            "value, gradient and hessian must be finite for equal scores; got others from "
            f"{objective.name}."
        )
    curvature = float(np.sum(hessian))
    if curvature <= 0:
        raise ValueError(
            f"hessian must be positive for some document; got none from {objective.name}. Return "
            "ones to take the gradient as it is."
        )
    return float(n_documents * np.square(gradient).sum() / (2 * curvature))


def _minimum(
    function: Any, n_outputs: int, positive: bool, tolerance: float, max_iter: int
) -> np.ndarray:
    """Return the minimum of a smooth function by L-BFGS-B; warn if the search stops far from it.

    ``function(weights)`` returns value and gradient. ``positive`` bounds all weights by 0.
    """
    options = {"gtol": tolerance, "ftol": 0.0, "maxiter": max_iter, "maxfun": 2 * max_iter}
    start = np.zeros(n_outputs)
    bounds = [(0, None)] * n_outputs if positive else None
    result = optimize.minimize(
        function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    at_bound = positive & (result.x <= 0) & (result.jac > 0)  # where it would fall below
    slope = np.abs(np.where(at_bound, 0, result.jac)).max()
    if slope > 10 * tolerance:  # closer than this, an abnormal line search is only rounding
        stopped = f"The weights stopped {slope:.1e} from optimal after {result.nit} iterations"
        warn_user(f"{stopped}; penalize them more: raise head_alpha.", ConvergenceWarning)
    return np.asarray(result.x)
