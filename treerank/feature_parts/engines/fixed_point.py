"""Fixed-point derivatives: gradients whose sums are exact, whoever adds them up.

A tree is grown from sums of gradients, and a sum of floats depends on the order of its terms,
hence on the number of threads. So derivatives are rounded to multiples of 2^-24 of a power of
two just above the largest of them. Each is then an integer of at most 24 bits times that step: a
float32 holds it exactly, and so does a float64 every sum of up to 2^29 of them. Trees come out the
same, bit for bit, for any number of threads; the rounding is no coarser than float32's own for
the largest derivatives.
"""

from math import frexp, ldexp

import numpy as np

from treerank.numerics.compiling import njit

_MANTISSA_BITS = 24
_SMALLEST_EXPONENT = -126  # of a normal float32


class FixedPointDerivatives:
    """What an engine calls for derivatives: checks, rounds, counts the iterations.

    Parameters
    ----------
    objective : Objective
        Asked for ``derivatives(scores, iteration=...)``.
    n_documents : int
        Rows that the derivatives must have.
    start : int, default=0
        Iterations that an earlier fit has done.

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

    def __init__(self, objective, n_documents, start=0):
        self.objective = objective
        self.n_outputs = objective.n_outputs
        self.shape = (n_documents,) if self.n_outputs == 1 else (n_documents, self.n_outputs)
        self.iteration = start

    def __call__(self, scores):
        """Return gradient and hessian as float32, fit for exact sums."""
        # A copy: engines lend one buffer that the next iteration overwrites.
        scores = np.array(scores, dtype=np.float64, order="C").reshape(self.shape)
        derivatives = self.objective.derivatives(scores, iteration=self.iteration)
        gradient, hessian = map(self._checked, ("gradient", "hessian"), derivatives)
        (steepest, _), (strongest, weakest) = extremes(gradient), extremes(hessian)
        if not np.isfinite(steepest):
            raise ValueError(f"gradient must be finite; got {_first_infinite(gradient)!r}.")
        if not np.isfinite(strongest):
            raise ValueError(f"hessian must be finite; got {_first_infinite(hessian)!r}.")
        if weakest < 0 or (strongest == 0 and steepest > 0):
            raise ValueError(
                "hessian must be non-negative, and positive somewhere if the gradient is not zero; "
                f"got a smallest one of {weakest!r} and a largest one of {strongest!r}."
            )
        self.iteration += 1
        return rounded(gradient, steepest), rounded(hessian, strongest)

    def _checked(self, name, values):
        values = np.ascontiguousarray(values, dtype=np.float64)
        if values.shape != self.shape:
            raise ValueError(
                f"{name} must have shape {self.shape}, one entry per score; got {values.shape}."
            )
        return values


def extremes(values):
    """Return the largest magnitude (infinite if anything is not finite) and the smallest value."""
    return _extremes(values.reshape(-1))


def rounded(values, largest):
    """Round to multiples of 2^-24 of the power of two above ``largest``."""
    step = ldexp(1.0, max(frexp(largest)[1] - _MANTISSA_BITS, _SMALLEST_EXPONENT))
    return _rounded(values.reshape(-1), step).reshape(values.shape)


@njit
def _extremes(values):
    largest, smallest, finite = 0.0, np.inf, True
    for value in values:
        finite &= np.isfinite(value)
        largest = max(largest, abs(value))
        smallest = min(smallest, value)
    return (largest if finite else np.inf), smallest


@njit
def _rounded(values, step):
    result = np.empty(len(values), dtype=np.float32)
    for i in range(len(values)):
        result[i] = np.rint(values[i] / step) * step
    return result


def _first_infinite(values):
    return float(values[~np.isfinite(values)][0])
