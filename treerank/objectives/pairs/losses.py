r"""Pair losses: functions of the margin.

A pair loss is a scalar function of the margin :math:`m = s_i - s_j` between a document ``i``
and a less relevant document ``j`` of the same query. It falls as the margin grows and returns
``(value, gradient, hessian)``, the last two with respect to the margin. The objective scales the
scores (``sigma``).

To add one, write the function and list it in ``PAIR_LOSSES``: objectives, feature parts and tests
find it there. A loss of your own is a ``numba.njit`` function of the margin.

Losses of the sigmoid family need no exponential per pair. Let ``u = 1 / (1 + exp(kappa m))`` be the
probability that the pair is in the wrong order, and ``p = 1 - u``. Gradient and curvature are
polynomials of ``u`` and ``p``, and ``u = e_j / (e_i + e_j)`` needs one exponential per document.
So these losses also name their *shape*: the two polynomials times the weight of the pair, without
constants (a constant would turn single into double precision in the innermost loop).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from treerank.checks import quote
from treerank.numerics.compiling import register_jitable


@register_jitable
def upset_probability(margin: float) -> float:
    """Return the logistic function of ``-margin``, exact at both ends."""
    decay = math.exp(-abs(margin))  # in (0, 1], so nothing below can overflow
    return decay / (1 + decay) if margin > 0 else 1 / (1 + decay)


@register_jitable
def logistic(margin: float) -> tuple[float, float, float]:
    r"""Return ``(value, first, second derivative)`` of RankNet's loss :math:`\log(1 + e^{-m})`.

    m is the margin.
    """
    u = upset_probability(margin)
    value = max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
    return value, -u, u * upset_probability(-margin)


@register_jitable
def _logistic_shape(u, p, w):
    upset = u * w
    return upset, upset * p


@register_jitable
def half_squared_tanh(margin: float) -> tuple[float, float, float]:
    r"""DirectRanker's loss :math:`\frac12 (1 - \tanh m)^2 = 2u^2`, :math:`u = 1 / (1 + e^{2m})`.

    Returns ``(value, gradient, hessian)`` at the margin m. The hessian is the Gauss-Newton
    approximation, which is never negative.
    """
    u = upset_probability(2 * margin)
    p = upset_probability(-2 * margin)
    # Gauss-Newton curvature: the exact one is negative for tanh m < -1/3, which would make a
    # booster climb on exactly the pairs it has most wrong.
    return 2 * u * u, -8 * u * u * p, 16 * (u * p) ** 2


@register_jitable
def squared_sigmoid(margin: float) -> tuple[float, float, float]:
    r"""Return :math:`u^2`, the squared probability :math:`u = 1 / (1 + e^m)` of the wrong order.

    The result is ``(value, gradient, hessian)`` at the margin m; the hessian is a Gauss-Newton
    approximation.
    """
    u = upset_probability(margin)
    p = upset_probability(-margin)
    return u * u, -2 * u * u * p, 2 * (u * p) ** 2


@register_jitable
def _squared_shape(u, p, w):
    return u * u * p * w, u * p * u * p * w


@register_jitable
def fidelity(margin: float) -> tuple[float, float, float]:
    r"""Return FRank's loss :math:`1 - \sqrt p`, where :math:`p = 1 / (1 + e^{-m})`.

    The result is ``(value, gradient, hessian)`` at the margin m; the hessian is a Gauss-Newton
    approximation.
    """
    u = upset_probability(margin)
    p = upset_probability(-margin)
    # 1 - sqrt(p) without cancellation; curvature by Gauss-Newton on the two square roots.
    return u / (1 + math.sqrt(p)), -u * math.sqrt(p) / 2, u * p / 4


@register_jitable
def _fidelity_shape(u, p, w):
    upset = u * w
    return upset * math.sqrt(p), upset * p


@register_jitable
def half_squared(margin: float) -> tuple[float, float, float]:
    r"""Return ``(value, first, second derivative)`` of :math:`\frac12 (1 - m)^2` at the margin m.

    It is the regression of the margin on 1.
    """
    return (1 - margin) * (1 - margin) / 2, margin - 1, 1.0


@register_jitable
def exponential(margin: float) -> tuple[float, float, float]:
    r"""Return ``(value, first, second derivative)`` of RankBoost's loss :math:`e^{-m}`.

    m is the margin. The value is at most e^709, so that it is finite.
    """
    value = math.exp(min(-margin, 709.0))  # the last one that is finite
    return value, -value, value


@register_jitable
def hinge(margin: float) -> tuple[float, float, float]:
    r"""Return RankSVM's loss :math:`\max(0, 1 - m)`, with a hessian of 1 where it is not 0."""
    # The true curvature is 0, which grows no tree: 1 where the loss is active.
    return (1 - margin, -1.0, 1.0) if margin < 1 else (0.0, 0.0, 0.0)


@register_jitable
def squared_hinge(margin: float) -> tuple[float, float, float]:
    r"""Return :math:`\max(0, 1 - m)^2` and its derivatives."""
    short = max(1 - margin, 0.0)
    return short * short, -2 * short, 2.0 if margin < 1 else 0.0


@dataclass(frozen=True)
class Shape:
    """Gradient and hessian of a sigmoid loss without an exponential per pair.

    ``u = 1 / (1 + exp(steepness * margin))`` is the probability that a pair is in the wrong order,
    and ``p = 1 - u``.

    Attributes
    ----------
    of_upset : callable
        ``(u, p, weight) -> (gradient, hessian)``: polynomials of u and p times the weight of the
        pair, without constant factors.
    gradient_factor, hessian_factor : float
        Constant factors of both.
    steepness : float, default=1.0
        Factor on the margin in ``u``.
    """

    of_upset: Callable[..., Any]
    gradient_factor: float
    hessian_factor: float
    steepness: float = 1.0


@dataclass(frozen=True)
class PairLoss:
    """A pair loss and its properties.

    Attributes
    ----------
    of_margin : callable
        ``margin -> (value, gradient, hessian)``, which numba can compile. Where the second
        derivative is negative or zero, the hessian is a positive number instead.
    is_likelihood : bool, default=False
        Whether the loss is minus the log probability of the outcome of a pair, so that the margin
        is its log odds.
    shape : Shape or None, default=None
        The form without exponentials per pair, for the sigmoid family.

    Examples
    --------
    >>> PAIR_LOSSES["hinge"].of_margin(0.25)
    (0.75, -1.0, 1.0)
    """

    of_margin: Callable[..., Any]
    is_likelihood: bool = False
    shape: Shape | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.of_margin, "__name__", quote(self.of_margin)))


PAIR_LOSSES = {
    "logistic": PairLoss(logistic, is_likelihood=True, shape=Shape(_logistic_shape, -1.0, 1.0)),
    "half_squared": PairLoss(half_squared),
    "half_squared_tanh": PairLoss(
        half_squared_tanh, shape=Shape(_squared_shape, -8.0, 16.0, steepness=2.0)
    ),
    "squared_sigmoid": PairLoss(squared_sigmoid, shape=Shape(_squared_shape, -2.0, 2.0)),
    "hinge": PairLoss(hinge),
    "squared_hinge": PairLoss(squared_hinge),
    "exponential": PairLoss(exponential),
    "fidelity": PairLoss(fidelity, shape=Shape(_fidelity_shape, -0.5, 0.25)),
}
