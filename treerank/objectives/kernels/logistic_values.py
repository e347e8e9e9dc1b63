r"""Logistic values: the value of the logistic loss alone, with few logarithms.

The losses of a document's pairs, :math:`\log(1 + e^{-m})`, have equal weights if the problem is
separable and no document has a weight of its own. Their sum is the logarithm of a product. With
one exponential per document, a factor of the product costs one multiplication and one addition.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import prange

from treerank.numerics.compiling import njit
from treerank.objectives.kernels import exact_pairs
from treerank.objectives.losses import logistic

if TYPE_CHECKING:
    from treerank.objectives.pair_problem import PairProblem

#: Logarithm that a product must not exceed.
_LARGEST_LOGARITHM = 700.0


def can_sum(problem: "PairProblem") -> bool:
    """Tell whether the loss is logistic and the pairs of a document have equal weights."""
    is_even = problem.is_separable and problem.is_unweighted
    return is_even and problem.loss.of_margin is logistic


def values(problem: "PairProblem", x: np.ndarray) -> np.ndarray:
    """Return the sum of the losses of each query."""
    found = np.empty(problem.groups.n_queries)
    _over_runs(x, problem.shift, problem.labels, problem.weights.gain, found)
    if np.isfinite(found).all():
        return found
    exact = exact_pairs.sums(problem, x, 0).values
    assert exact is not None
    return exact


@njit(parallel=True, error_model="numpy")
def _over_runs(x, shift, labels, gain, found):
    """Fill in the sum of each query, or infinity where scores range too far."""
    for q in prange(len(labels.indptr) - 1):
        a, b = labels.indptr[q], labels.indptr[q + 1]
        found[q] = 0.0
        if a == b:
            continue
        middle = (x[a:b].min() + x[a:b].max()) / 2
        half = x[a:b].max() - middle + abs(shift)
        if not half < _LARGEST_LOGARITHM / 4:
            found[q] = np.inf
            continue
        e = np.exp(x[a:b] - middle)
        n_factors = int(_LARGEST_LOGARITHM / (2 * half + 1))  # each is below exp(2 half) + 1
        for i in range(a, b):
            inverse, total = np.exp(middle - x[i] - shift), 0.0
            for start in range(labels.low[i], labels.high[i], n_factors):
                product = 1.0
                for j in range(start, min(start + n_factors, labels.high[i])):
                    product *= 1 + e[j] * inverse
                total += np.log(product)
            found[q] += gain[i] * total
