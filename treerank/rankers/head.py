r"""The head: r(a, b) = tau(<w, f(a) - f(b)>), the comparison of two documents.

A head has no bias, and tau is odd and keeps the sign. So for every feature part f the relation "a
is at least as good as b", r(a, b) >= 0, is reflexive, total and transitive. The module
:mod:`treerank.feature_parts.head_fitting` fits w. To add a tau, list it in ``TAUS``. Only its
values at margins of at least 0 are used; the others follow from r(b, a) = -r(a, b), which holds
bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.parameters import Rule, check_parameters


def identity(margin: np.ndarray) -> np.ndarray:
    """Return tau(m) = m: r is the difference of two scores."""
    return margin


def softsign(margin: np.ndarray) -> np.ndarray:
    """Return tau(m) = m / (1 + |m|), which is near 1 only for very large margins."""
    return margin / (1 + np.abs(margin))


def arctan(margin: np.ndarray) -> np.ndarray:
    """Return tau(m) = 2/pi arctan(m)."""
    return (2 / np.pi) * np.arctan(margin)


#: Odd functions that keep the sign; only their values at margins >= 0 are used.
TAUS: dict[str, Callable[..., np.ndarray]] = {
    "identity": identity,
    "tanh": np.tanh,
    "softsign": softsign,
    "arctan": arctan,
}


#: Name of a tau.
Tau = Annotated[str, Rule.one_of(TAUS)]


@dataclass(frozen=True, eq=False)
class AntisymmetricHead:
    """Output neuron without bias: r(a, b) = tau(<w, f(a) - f(b)>) compares two documents.

    Parameters
    ----------
    weight : ndarray of shape (n_outputs,)
        Weight w of each output of the feature part f.
    tau : {"identity", "tanh", "softsign", "arctan"}, default="identity"
        Function of the margin <w, f(a) - f(b)>. It changes no ranking.

    Examples
    --------
    >>> head = AntisymmetricHead(np.array([1.0, 2.0]), tau="softsign")
    >>> better, worse = np.array([[1.0, 1.0]]), np.array([[0.0, 0.0]])
    >>> head.compare(better, worse), head.compare(worse, better)
    (array([0.75]), array([-0.75]))
    """

    weight: np.ndarray
    tau: Tau = "identity"

    def __post_init__(self) -> None:
        check_parameters(self)

    def score(self, features: Any) -> np.ndarray:
        """Return <w, f(x)> of each row of the outputs f(x).

        A single output of weight 1 is the score itself.
        """
        if features.ndim == 1:
            features = features[:, None]
        if len(self.weight) == 1 and self.weight[0] == 1:
            return features[:, 0]
        # Not `@`: BLAS lets the last bits of a row depend on how many rows come with it.
        return (np.ascontiguousarray(features) * self.weight).sum(axis=1)

    def compare(self, features_a: Any, features_b: Any) -> np.ndarray:
        """Return r(a, b), row by row, from the outputs f(a) and f(b)."""
        return self.compare_scores(self.score(features_a), self.score(features_b))

    @np.errstate(under="ignore")
    def compare_scores(self, scores_a: ArrayLike, scores_b: ArrayLike) -> np.ndarray:
        """Return r(a, b), row by row, from the scores of a and b."""
        margin = np.asarray(scores_a) - np.asarray(scores_b)
        return np.copysign(TAUS[self.tau](np.abs(margin)), margin)
