"""Pair weights: how much a pair of documents of one query matters.

A weight multiplies the loss of a pair. Some depend on labels only, some on how much a metric
would change if the two documents swapped in the present ranking; any pair loss times such
a weight gives a lambda gradient. Two documents ``i`` (more relevant) and ``j`` have

* ``gain``: a number that their labels fix once, such as ``2^y - 1`` over the ideal DCG;
* ``above``, ``below`` and ``within``: numbers that the present ranks fix, see
  :mod:`treerank.objectives.pairs.position_values`.

To add one, write its functions and list it in ``PAIR_WEIGHTS``.

A query counts as much as the sum of its pair weights, unless they are scaled. To add a rule for
that, list its function of the sum in ``NORMALIZATIONS``.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Annotated, Any

import numba
import numpy as np

from treerank.checks import by_name, numba_reason, quote
from treerank.documents.gains import is_relevant, label_gains
from treerank.numerics.compiling import register_jitable
from treerank.objectives.pairs.position_values import VALUES
from treerank.parameters import Rule

#: Largest number below 1 in single precision.
BELOW_ONE = 1 - 2.0**-24


@register_jitable
def _upper(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied):
    return gain_i


@register_jitable
def _gap(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied):
    return gain_i - gain_j


@register_jitable
def _ndcg_change(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied):
    # Different blocks have different mean discounts, unless both are beyond the truncation, where
    # ``within`` is 0 too. So ``tied`` is not needed.
    gap = abs(above_i - above_j)
    return (gain_i - gain_j) * (gap if gap > 0 else within)


@register_jitable
def _swap_change(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied):
    # Both cases are computed and a product keeps one: a branch would stop vectorization.
    change = max(above_i - above_j, below_j - below_i, within - within)
    return (gain_i - gain_j) * (tied * within + (not tied) * change)


@register_jitable
def _err_change(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied):
    change = max(below_i * (above_i - above_j), below_j * (above_j - above_i))
    return (gain_i - gain_j) * (within * max(below_i, below_j) if tied else change)


def _all_ones(y, groups, options):
    return np.ones(len(y))


def _labels(y, groups, options):
    if y.min() < 0:
        raise ValueError(f"y must not be negative for weight='label'; got {y.min()}.")
    return y


def _label_steps(y, groups, options):
    return y


def _over_ideal_dcg(y, groups, options):
    """Return the gain of each label divided by the largest DCG@k of its query, or 0 if that is 0.

    ``y`` ascends within each query. ``options`` is a ``PairProblem``.
    """
    gains = label_gains(y, options.settings.gain)
    ranks = groups.sizes.repeat(groups.sizes) - 1 - groups.positions  # best label first
    ideal = np.add.reduceat(
        gains * options.discounts("ndcg", groups.sizes.max())[ranks], groups.indptr[:-1]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(gains / ideal.repeat(groups.sizes), posinf=0.0)


def _over_relevant(y, groups, options):
    relevant = is_relevant(y, options.settings.threshold)
    counts = np.add.reduceat(relevant, groups.indptr[:-1])
    return relevant / np.maximum(counts, 1).repeat(groups.sizes)


def _relevant(y, groups, options):
    return is_relevant(y, options.settings.threshold)


def _stop_probability(y, groups, options):
    """Return the probability that a document satisfies the user: gain / (largest gain + 1).

    It is kept below 1 in single precision.
    """
    largest = label_gains([options.largest_label], options.settings.gain)
    return np.minimum(label_gains(y, options.settings.gain) / (largest + 1), BELOW_ONE)


@dataclass(frozen=True)
class PairWeight:
    """A pair weight and its properties.

    Attributes
    ----------
    gains : callable
        ``(y, groups, options) -> ndarray``, for labels that ascend within each query.
        ``options`` is a :class:`~treerank.objectives.pairs.problem.PairProblem`, whose ``settings``
        are a :class:`~treerank.objectives.PairSettings`.
    of_pair : callable
        ``(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied) -> weight``; numba
        compiles it.
    values : callable or None, default=None
        Fills in ``above``, ``below`` and ``within`` of a query; None if ranks do not matter. Where
        ``k`` truncates, pairs of two documents beyond it are not visited.
    discount : {"ndcg", "reciprocal"}, default="reciprocal"
        Discount of a rank.
    normalized : bool, default=False
        Whether the weights of every query have the same sum.
    two_sided : bool, default=True
        Whether ``of_pair`` uses ``below`` or ``tied``, which are filled in only then.
    separates : bool, default=False
        Whether the weight is the gain of the upper document alone.
    takes_gain : bool, default=False
        Whether it reads the setting ``gain``.

    Examples
    --------
    >>> PAIR_WEIGHTS["label"].is_fixed, PAIR_WEIGHTS["ndcg"].is_fixed
    (True, False)
    """

    gains: Callable[..., Any]
    of_pair: Callable[..., Any]
    values: Callable[..., Any] | None = None
    discount: str = "reciprocal"
    normalized: bool = False
    two_sided: bool = True
    separates: bool = False
    takes_gain: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether the weight does not depend on the scores."""
        return self.values is None


PAIR_WEIGHTS = {
    "uniform": PairWeight(_all_ones, _upper, separates=True),
    "query": PairWeight(_all_ones, _upper, normalized=True, separates=True),
    "label": PairWeight(_labels, _upper, separates=True),
    "label_gap": PairWeight(_label_steps, _gap),
    "ndcg": PairWeight(
        _over_ideal_dcg, _ndcg_change, VALUES["ndcg"], "ndcg", two_sided=False, takes_gain=True
    ),
    "map": PairWeight(_over_relevant, _swap_change, VALUES["map"]),
    "mrr": PairWeight(_relevant, _swap_change, VALUES["mrr"]),
    "err": PairWeight(_stop_probability, _err_change, VALUES["err"], takes_gain=True),
}


def get_pair_weight(weight: str | PairWeight) -> PairWeight:
    """Return the pair weight of a name, or a ``PairWeight`` with its ``of_pair`` compiled."""
    resolved: PairWeight = by_name("weight", weight, PAIR_WEIGHTS, PairWeight)
    is_builtin = any(resolved.of_pair is ours.of_pair for ours in PAIR_WEIGHTS.values())
    return resolved if is_builtin else replace(resolved, of_pair=_compiled(resolved.of_pair))


@functools.cache
def _compiled(of_pair: Any) -> Any:
    """Return a user's weight of a pair compiled; refuse what numba does not compile to a number."""
    try:
        compiled: Any = numba.njit(of_pair) if isinstance(of_pair, FunctionType) else of_pair
        float(compiled(1.0, 0.0, 1.0, 0.5, 0.5, 1.0, 0.5, False))
    except (numba.errors.NumbaError, TypeError, ValueError) as error:
        raise ValueError(
            "weight must have of_pair, a function of (gain_i, gain_j, above_i, above_j, below_i, "
            "below_j, within, tied) that numba compiles and that returns a number; got "
            f"{quote(of_pair)}: {numba_reason(error)}"
        ) from error
    return compiled


#: A pair weight, or its name.
Weight = Annotated[str | PairWeight, Rule(lambda _, weight: get_pair_weight(weight))]


#: ``(sum of weights, documents of a typical query) -> factor``: unscaled; the same sum for every
#: query; or the logarithm of the sum, as LightGBM's ``lambdarank_norm`` does.
NORMALIZATIONS: dict[str | None, Any] = {
    None: None,
    "equal": lambda total_weight, typical_size: typical_size / total_weight,
    "log": lambda total_weight, typical_size: np.log2(1 + total_weight) / total_weight,
}
