"""Fixed-point derivatives: gradients and hessians whose sums are exact in any order.

A tree is grown from sums of derivatives. A sum of floats depends on the order of its terms, and
so on the number of threads. Therefore derivatives are rounded to multiples of a step: 2^-24 of
the power of two just above the largest of them. Each is then the step times an integer of at
most 24 bits, which float32 holds exactly, and float64 holds the sum of up to 2^29 of them
exactly. So trees are the same, bit for bit, for any number of threads. For the largest
derivatives the rounding is no coarser than in float32 itself.
"""

from collections.abc import Callable
from itertools import repeat
from math import frexp, inf, isfinite, ldexp

import numpy as np

from treerank.checks import quote
from treerank.numerics.bits import bits_of
from treerank.numerics.compiling import for_kernel, njit
from treerank.objectives.base import Objective, as_objective, check_derivative

#: Largest number in single precision, which engines read.
LARGEST = float(np.finfo(np.float32).max)
_MANTISSA_BITS = 24
_SMALLEST_EXPONENT = -126  # of a normal float32
#: Half way from 2^52 to 2^53, between which the numbers of double precision are all integers.
_STEPS_OF_SHIFT = 1.5 * 2.0**52


class FixedPointDerivatives:
    """The derivatives of an objective as an engine reads them: checked and rounded.

    Parameters
    ----------
    objective : Objective
        The objective.
    n_documents : int
        Number of its documents.
    start : int, default=0
        Number of iterations of an earlier fit.
    most : float
        Largest magnitude of a derivative with which the engine can compute.
    largest : callable
        Returns the maxima over all workers of an array of numbers.

    Attributes
    ----------
    magnitudes : tuple of ndarray
        Of the derivatives that were returned last: the number of documents of this worker and the
        sums of the magnitudes of gradients and of hessians, and the largest magnitudes of both over
        all workers.

    Examples
    --------
    >>> class HalfSquare:
    ...     n_outputs = 1
    ...
    ...     def derivatives(self, scores, *, iteration=0):
    ...         return scores - 1.0, np.ones_like(scores)
    >>> FixedPointDerivatives(HalfSquare(), 2)(np.array([1.0, 3.0]))
    (array([0., 2.], dtype=float32), array([1., 1.], dtype=float32))
    """

    def __init__(
        self,
        objective: Objective,
        n_documents: int,
        start: int = 0,
        most: float = LARGEST,
        largest: Callable[[np.ndarray], np.ndarray] = np.asarray,
    ):
        self.largest = largest
        self.objective, self.most = as_objective(objective), most
        self.n_outputs = objective.n_outputs
        self.shape = (n_documents,) if self.n_outputs == 1 else (n_documents, self.n_outputs)
        self.iteration = start
        self.largest_gradient = 0.0
        self.magnitudes = np.zeros(3), np.zeros(2)

    def __call__(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(gradient, hessian)`` as float32, rounded so that their sums are exact.

        The scores may be of any shape that has one entry per document and output. Refuses negative
        hessians and values too large to be rounded so.
        """
        # A copy, because engines reuse the buffer of the scores in the next iteration.
        scores = np.array(scores, dtype=np.float64, order="C").reshape(self.shape)
        derivatives = self.objective.derivatives(scores, iteration=self.iteration)
        gradient, hessian = map(
            check_derivative, ("gradient", "hessian"), derivatives, repeat(self.shape)
        )
        (largest_gradient, _), (largest, negative) = extremes(gradient), extremes(hessian)
        extreme = self.largest(np.array([largest_gradient, largest, -negative]))
        largest_gradient, largest, below_zero = extreme.tolist()
        self._refuse_too_large("gradient", gradient, largest_gradient)
        self._refuse_too_large("hessian", hessian, largest)
        if below_zero > 0 or (largest == 0 and largest_gradient > 0):
            raise ValueError(
                "hessian must be non-negative, and positive somewhere if the gradient is not zero; "
                f"got a smallest one of {quote(-below_zero)} and a largest one of {quote(largest)}."
            )
        self.iteration += 1
        self.largest_gradient = max(self.largest_gradient, largest_gradient)
        gradient, *of_gradient = rounded(gradient, largest_gradient)
        hessian, *of_hessian = rounded(hessian, largest)
        sums, maxima = zip(of_gradient, of_hessian, strict=True)
        self.magnitudes = np.array([len(scores), *sums]), np.array(maxima)
        return gradient, hessian

    def _refuse_too_large(self, name: str, values: np.ndarray, largest: float) -> None:
        """Refuse derivatives that are not finite, or above ``most`` in size."""
        if largest <= self.most:
            return
        too_large = values[~(np.abs(values) <= self.most)]  # may all be on another worker
        hint = " Lower learning_rate?" if self.iteration > 0 else " Lower weights?"
        raise ValueError(
            f"{name} must be finite and at most {self.most:.3g} in size; got "
            f"{quote(float(too_large[0]) if len(too_large) else largest)} from "
            f"{self.objective.name} in iteration {self.iteration}.{hint}"
        )


def extremes(values: np.ndarray) -> tuple[float, float]:
    """Return ``(largest magnitude, most negative value)``.

    The magnitude is infinite if any value is not finite; the second number is 0 without negative
    values.

    Examples
    --------
    >>> extremes(np.array([1.0, -3.0])), extremes(np.array([2.0]))
    ((3.0, -3.0), (2.0, 0.0))
    """
    most, least = float(values.max(initial=0.0)), float(values.min(initial=0.0))
    largest = max(most, -least)  # both are NaN if any value is
    return (largest if isfinite(largest) else inf), 0.0 + least


def rounded(values: np.ndarray, largest: float) -> tuple[np.ndarray, float, float]:
    """Return ``(values, total, largest)``: float32 values, the sum of magnitudes, and ``largest``.

    All are rounded to 2^-24 of the power of two above ``largest``, the largest magnitude of these
    values and of those of other workers.

    Examples
    --------
    >>> rounded(np.array([0.5, -0.1]), 0.5)
    (array([ 0.5       , -0.10000002], dtype=float32), 0.6000000238418579, 0.5)
    """
    step = ldexp(1.0, max(frexp(largest)[1] - _MANTISSA_BITS, _SMALLEST_EXPONENT))
    singles, shift = np.empty(values.shape, np.float32), _STEPS_OF_SHIFT * step
    n_steps = _round(for_kernel(values.reshape(-1)), shift, singles.reshape(-1))
    return singles, n_steps * step, largest + shift - shift


@njit(error_model="numpy", nogil=True)
def _round(values, shift, rounded):
    """Round values to multiples of a step; return the sum of their magnitudes, in steps.

    ``shift`` is so large that numbers of its size are multiples of the step: an addition to it
    rounds, and leaves the number of steps in the last bits.
    """
    n_steps, bits_of_zero = np.int64(0), bits_of(shift)
    for i in range(np.uint64(len(values))):  # unsigned: not counted from the end
        shifted = values[i] + shift
        rounded[i] = shifted - shift
        n = bits_of(shifted) - bits_of_zero
        n_steps += n if n > 0 else -n
    return n_steps
