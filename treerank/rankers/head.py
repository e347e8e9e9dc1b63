r"""The head: r(a, b) = tau(<w, f(a) - f(b)>), the comparison of two documents.

A head has no bias and its tau is odd and keeps the sign, so whatever the feature part f is,
the relation "a is at least as good as b", r(a, b) >= 0, is reflexive, total and transitive.
To add a tau, list its positive half in ``TAUS``: the negative half is its mirror image, which
makes r(b, a) = -r(a, b) hold bit for bit.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning


def identity(margin):
    """tau(m) = m: r is the difference of two scores."""
    return margin


def softsign(margin):
    """tau(m) = m / (1 + |m|), nearly 1 only for very large margins."""
    return margin / (1 + np.abs(margin))


def arctan(margin):
    """tau(m) = 2/pi arctan(m)."""
    return (2 / np.pi) * np.arctan(margin)


#: Odd functions that keep the sign; only their values at margins >= 0 are used.
TAUS: dict[str, Callable] = {
    "identity": identity,
    "tanh": np.tanh,
    "softsign": softsign,
    "arctan": arctan,
}


@dataclass(frozen=True, eq=False)
class AntisymmetricHead:
    """One output neuron without bias over the difference of two documents.

    Parameters
    ----------
    weight : ndarray of shape (n_outputs,)
        Weight of each output of the feature part.
    tau : {"identity", "tanh", "softsign", "arctan"}, default="identity"
        What squashes the margin; it changes no ranking.

    Examples
    --------
    >>> head = AntisymmetricHead(np.array([1.0, 2.0]), tau="softsign")
    >>> better, worse = np.array([[1.0, 1.0]]), np.array([[0.0, 0.0]])
    >>> head.compare(better, worse), head.compare(worse, better)
    (array([0.75]), array([-0.75]))
    """

    weight: np.ndarray
    tau: str = "identity"

    def __post_init__(self):
        if self.tau not in TAUS:
            raise ValueError(f"head must be one of {sorted(TAUS)}; got {self.tau!r}.")

    def score(self, features):
        """Return <w, f(x)> of each row; a single output of weight 1 is the score itself."""
        if features.ndim == 1:
            features = features[:, None]
        if len(self.weight) == 1 and self.weight[0] == 1:
            return features[:, 0]
        if sparse.issparse(features):
            return features @ self.weight
        # Not `@`: BLAS lets the last bits of a row depend on how many rows come with it.
        return (np.ascontiguousarray(features) * self.weight).sum(axis=1)

    def compare(self, features_a, features_b):
        """Return r(a, b), row by row."""
        return self.compare_scores(self.score(features_a), self.score(features_b))

    def compare_scores(self, scores_a, scores_b):
        """Return r(a, b) of documents whose scores are known."""
        margin = np.asarray(scores_a) - np.asarray(scores_b)
        return np.copysign(TAUS[self.tau](np.abs(margin)), margin)


def fit_head(features, objective, *, penalty="l2", alpha=None, tolerance=1e-5, max_iter=1000):
    r"""Fit the weight of a linear head convexly.

    Minimizes L(F v / c) / L(0) plus alpha |v|^2 / 2 or alpha \|v\|_1 and returns w = v / c,
    where L is the value of the objective and c, one number, the root mean square of the
    features' standard deviations. So alpha has no unit: the same alpha means the same for ten
    queries or a million, and for features in any unit. There is one scale for all columns
    rather than one for each since a tree that moves few documents a little *should* pay more
    for its influence, as in RuleFit (Friedman and Popescu 2008).

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n_documents, n_outputs)
        Outputs of a feature part.
    objective : Objective
        Convex in the scores and with a gradient everywhere, such as the logistic pair loss
        with weights that do not depend on the scores.
    penalty : {"l2", "l1"}, default="l2"
        "l1" makes weights exactly zero: it prunes.
    alpha : float, default=None
        Strength of the penalty; ``None`` is 10 under "l2" and 0.1 under "l1", which suits single
        trees and leaves (``bench_vector_outputs.py``).
    tolerance : float, default=1e-5
        Largest violation allowed of the condition of optimality, by any weight.
    max_iter : int, default=1000
        Largest number of iterations; a ConvergenceWarning says when they were too few.

    Returns
    -------
    weight : ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> features = np.array([[1.0, 0.1], [0.0, 0.0], [0.5, 0.9], [0.2, 1.0]])
    >>> objective = make_objective([1, 0, 1, 0], qid=[0, 0, 1, 1])
    >>> fit_head(features, objective, penalty="l1", alpha=0.1).round(2)
    array([5.19, 0.  ])
    """
    check_penalty(penalty, alpha)
    alpha = USUAL_ALPHA[penalty] if alpha is None else alpha
    scale = _common_scale(features)
    start_value = objective(np.zeros(features.shape[0]))[0]
    if scale == 0 or start_value == 0:  # nothing to weigh, or no pair to weigh it by
        return np.zeros(features.shape[1])

    def relative_value(v):
        value, gradient, _ = objective(_scores_of(features, v / scale))
        slope = _column_sums(features, gradient) / (scale * start_value)
        return value / start_value, slope

    return PENALTIES[penalty](relative_value, features.shape[1], alpha, tolerance, max_iter) / scale


def check_penalty(penalty, alpha):
    """Refuse an unknown penalty or a negative strength; ``None`` is the usual one."""
    if penalty not in PENALTIES:
        raise ValueError(f"head_penalty must be one of {sorted(PENALTIES)}; got {penalty!r}.")
    if alpha is not None and not alpha >= 0:
        raise ValueError(f"head_alpha must be None or non-negative; got {alpha!r}.")


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

    bounds = optimize.Bounds(0, np.inf)
    parts = _minimize(penalized, np.zeros(2 * n_outputs), bounds, tolerance, max_iter)
    return parts[:n_outputs] - parts[n_outputs:]


PENALTIES = {"l2": _minimize_l2, "l1": _minimize_l1}

#: Under "l2" no worse than the plain sum, over trees and over leaves, on each of four data sets
#: within its error, where 1e-3 lost .01 to .09 of NDCG@10; under "l1" 0.1 to
#: 0.2 kept 8 to 35 of 100 trees on two of them.
USUAL_ALPHA = {"l2": 10.0, "l1": 0.1}


def _minimize(function, start, bounds, tolerance, max_iter):
    options = {"gtol": tolerance, "ftol": 0.0, "maxiter": max_iter, "maxfun": 2 * max_iter}
    found = optimize.minimize(
        function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    violation = _largest_violation(found.x, found.jac, bounds)
    if violation > 10 * tolerance:  # an abnormal line search this close is rounding, not trouble
        warnings.warn(
            f"The head stopped {violation:.1e} from optimal after {found.nit} iterations; raise "
            "head_alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found.x


def _largest_violation(x, slope, bounds):
    projected = slope if bounds is None else np.where(x > 0, slope, np.minimum(slope, 0))
    return np.abs(projected).max()


def _common_scale(features):
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
    if sparse.issparse(features):
        return features.T @ gradient
    return np.einsum("ij,i", features, gradient)
