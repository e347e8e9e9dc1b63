"""Objectives from labels and settings: ``make_objective``, and ``bind_loss`` for rankers.

A loss is a pair loss, or an object with a method ``bind(judgments)`` that returns an objective: a
listwise loss, a pointwise loss or a user-defined one. To add a loss by name, list it in the table
of its kind.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Annotated, Any, TypeVar

import numba
import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import (
    check_column,
    check_count,
    check_sequence,
    closest,
    has_methods,
    naming,
    numba_reason,
    quote,
    refuse_where,
    warn_user,
)
from treerank.documents.queries import (
    Queries,
    QueryGroups,
    check_document_weight,
    check_query_weight,
)
from treerank.numerics.random_keys import uniforms
from treerank.objectives.base import Objective, as_objective
from treerank.objectives.judgments import Judgments
from treerank.objectives.lists.losses import LISTWISE, POINTWISE
from treerank.objectives.pairs.losses import PAIR_LOSSES, PairLoss
from treerank.objectives.pairs.objective import PairwiseObjective
from treerank.objectives.pairs.problem import balance_of
from treerank.objectives.pairs.rules import GivenPairs, rule_or_given
from treerank.objectives.pairs.settings import PairSettings as PairSettings  # for feature parts
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.parameters import Rule, bound, check_arguments, shows_options

F = TypeVar("F", bound=Callable[..., Any])

#: Every loss by name.
LOSSES: dict[str, Any] = {**PAIR_LOSSES, **LISTWISE, **POINTWISE}
_LAMBDARANK, _UNIFORM = "loss='logistic', weight='ndcg'", "loss='logistic', weight='uniform'"
#: Settings that stand for the losses of other programs, and a remark, by their names in lower case.
SYNONYMS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("lambdamart", "lambdarank", "rank:ndcg"), (_LAMBDARANK, ", which are the defaults")
    ),
    **dict.fromkeys(
        ("yetirank", "yetirankpairwise"),
        (_LAMBDARANK, ", which are the defaults: smoothing serves as its noise"),
    ),
    **dict.fromkeys(
        ("mse", "queryrmse", "regression", "rmse", "squared_error"),
        ("loss='half_squared_error'", ""),
    ),
    **dict.fromkeys(("pairlogit", "pairlogitpairwise"), (f"{_UNIFORM}, smoothing=0.0", "")),
    **dict.fromkeys(("pairwise", "rank:pairwise"), (_UNIFORM, "")),
    **dict.fromkeys(("querysoftmax", "softmax"), ("loss='listnet'", "")),
    "rank:map": ("loss='logistic', weight='map'", ""),
    "rank_xendcg": ("loss='xendcg'", ""),
    "stochasticrank": ("loss='approx_ndcg'", ", which is a smooth NDCG, too"),
}
#: Margins at which a user-defined loss is tried, symmetric about 0; step of the finite differences,
#: and smallest product of two slopes whose signs are compared.
_MARGINS, _STEP, _FLAT = (-2.3, -1.1, -0.4, 0.3, 0.7, 2.3), 1e-4, 1e-8
#: A label whose exponential gain dominates the gains of lower labels.
DOMINATING_LABEL = 19


@check_arguments
@shows_options(PairSettings)
def make_objective(
    y: ArrayLike,
    qid: Queries = None,
    *,
    loss: Any = "logistic",
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    given_pairs: ArrayLike | None = None,
    random_state: int = 0,
    **settings: Any,
) -> Objective:
    """Return an objective, which maps scores to a value, a gradient and a hessian.

    The gradient and the hessian have one entry per row. You can use the objective with every
    feature part. In plain ``lightgbm.train`` or ``xgboost.train``, pass
    ``lambda scores, _: objective.derivatives(scores)``. You can add objectives over the same
    documents: ``0.7 * a + 0.3 * b`` is an objective, too.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels. Pair losses take any finite numbers and use only their order, unless the weight or
        the gain uses more.
    qid : array-like of shape (n_documents,) or QueryGroups, default=None
        Query of each row, of any dtype and in any order; None is a single query.
    loss : str or object, default="logistic"
        A name of ``LOSSES``; a :class:`~treerank.objectives.pairs.losses.PairLoss` or a function
        of the margin; :class:`~treerank.objectives.ApproxNDCG` of another temperature; or any
        object with a method ``bind(judgments)`` that returns an objective.
    sample_weight : array-like of shape (n_documents,), default=None
        Weight of each document; the weight of a pair is the product.
    query_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, the same for all rows of a query.
    given_pairs : array-like of shape (n_pairs, 2 to 4), default=None
        Your own pairs, instead of ``pairs``. The columns are row i, row j, the weight of the pair
        and the target probability that i ranks above j. The last two default to 1.
    random_state : int, default=0
        Seed of random numbers.
    **settings
        For pair losses only; other losses refuse them: ``weight``, ``pairs`` and the other
        parameters of :class:`~treerank.objectives.PairSettings`.

    Returns
    -------
    Objective
        See :class:`treerank.objectives.base.Objective`.

    Examples
    --------
    >>> objective = make_objective([1, 0, 0], ["a", "a", "b"])
    >>> value, gradient, hessian = objective([0.0, 0.0, 5.0])
    >>> gradient
    array([-0.5,  0.5,  0. ])
    """
    bound("make_objective", inspect.signature(make_objective), (y,), settings)
    y = check_column("y", y, some_unjudged=True, or_table=True)
    advice = " Leave documents out that nobody has judged, here and in the fit: X[~np.isnan(y)]."
    refuse_where(np.isnan(y), y, "y must be finite", advice)
    groups = QueryGroups.from_qid(qid, len(y))
    check_count("random_state", random_state, at_least=0)
    of_query = check_query_weight(query_weight, groups)
    if of_query is not None:
        of_query = groups.first_of(of_query)
    of_document = check_document_weight("sample_weight", sample_weight, groups)
    judgments = Judgments.of(y, groups, of_document, of_query, int(random_state))
    pair_list = None if given_pairs is None else GivenPairs.from_table(given_pairs, groups)
    settings["pairs"] = rule_or_given(settings.get("pairs"), pair_list)
    return bind_loss(loss, judgments, PairSettings(**settings))


def bind_loss(loss: Any, judgments: Judgments, settings: PairSettings) -> Objective:
    """Return the objective of a loss over judged documents.

    ``loss`` is a name or an object, see :func:`make_objective`. ``settings`` are for pair losses;
    other losses refuse settings that are not the defaults. Warns of a gradient with the wrong sign.
    """
    resolved = get_loss(loss)
    if isinstance(resolved, PairLoss):
        return _pairwise(resolved, judgments, settings)
    settings.refuse_for(loss)
    objective = as_objective(resolved.bind(judgments), judgments, resolved)
    if not type(resolved).__module__.startswith("treerank."):
        _warn_of_wrong_sign(objective, len(judgments.y))
    return objective


def _warn_of_wrong_sign(objective: Any, n_documents: int) -> None:
    """Warn if the value of a user-defined objective decreases along its gradient."""
    if not callable(getattr(objective, "objective", objective)):  # trees need derivatives alone
        return
    shape = (n_documents, objective.n_outputs) if objective.n_outputs > 1 else (n_documents,)
    scores = uniforms(0, 0, np.arange(math.prod(shape))).reshape(shape)
    gradient = np.asarray(objective.derivatives(scores)[0])
    if gradient.shape != shape or not (np.isfinite(gradient).all() and gradient.any()):
        return  # training reports what is wrong
    step = _STEP * gradient / np.abs(gradient).max()
    higher, lower = (objective(scores + way * step)[0] for way in (1, -1))
    # The gradient may belong to a smoothed value, so the value itself need not change.
    if higher - lower < -np.sum(gradient * step):
        warn_user(
            f"The value of {objective.name} falls where its gradient says that it rises: negate "
            "the gradient, unless the loss is to be raised."
        )


def get_loss(loss: Any) -> Any:
    """Return the loss of a name, or a loss object, with functions of the margin compiled.

    A function becomes a ``PairLoss``; an object with a method ``bind`` is returned unchanged.
    Refuses anything else.

    Examples
    --------
    >>> get_loss("listnet")
    ListNetLoss()
    """
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]
    elif isinstance(loss, PairLoss):
        is_builtin = any(loss.of_margin is ours.of_margin for ours in PAIR_LOSSES.values())
        return loss if is_builtin else replace(loss, of_margin=_compiled(loss.of_margin))
    elif has_methods(loss, "bind"):
        return loss
    elif callable(loss) and not isinstance(loss, type):
        return PairLoss(_compiled(loss))
    settings, remark = synonym_of(loss) or ("", "")
    advice = f" Write {settings}{remark}." if settings else ""
    raise ValueError(
        "loss must be a function of the margin, have a method bind, or be one of "
        f"{sorted(LOSSES)}; got {quote(loss)}.{advice or closest(loss, LOSSES)}"
    )


def synonym_of(loss: Any) -> tuple[str, str] | None:
    """Return the settings that stand for a loss of another program, and a remark; None if unknown.

    CatBoost's names may have settings of their own, which are left out.

    Examples
    --------
    >>> synonym_of("QuerySoftMax:beta=0.5"), synonym_of("listnet")
    (("loss='listnet'", ''), None)
    """
    name = loss.lower() if isinstance(loss, str) else ""
    return SYNONYMS.get(name) or SYNONYMS.get(name.partition(":")[0])


@functools.cache
def _compiled(loss: Any) -> Any:
    """Return the user's function of the margin, compiled by numba.

    Refuses one that does not compile, does not return value, gradient and hessian, or has a
    gradient of the wrong sign.
    """
    try:
        compiled: Any = numba.njit(loss) if isinstance(loss, FunctionType) else loss
        _value, _gradient, _hessian = map(float, compiled(0.5))
    except (numba.errors.NumbaError, TypeError, ValueError) as error:
        raise ValueError(
            "loss must be a function of the margin that numba compiles and that returns value, "
            f"gradient and hessian; got {quote(loss)}: {numba_reason(error)}"
        ) from error
    _check_slope(loss, compiled)
    return compiled


def _check_slope(loss: Any, compiled: Any) -> None:
    """Refuse a gradient of the wrong sign, and a value that increases with the margin.

    ``compiled`` is the compiled form of the user's ``loss``. Only signs are compared: a gradient
    may be clipped or scaled, or a subgradient.
    """
    tried = [(margin, *map(float, compiled(margin)[:2])) for margin in _MARGINS]
    slopes = [(compiled(m + _STEP)[0] - compiled(m - _STEP)[0]) / (2 * _STEP) for m in _MARGINS]
    signed = [(m, g, s) for (m, _, g), s in zip(tried, slopes, strict=True) if abs(g * s) > _FLAT]
    if signed and all(gradient * slope < 0 for _, gradient, slope in signed):
        margin, gradient, slope = signed[0]
        raise ValueError(
            "loss must return the gradient of its value, by the margin; got "
            f"{gradient:.3g} where the value has the slope {slope:.3g}, at a margin of {margin:g}, "
            f"from {quote(loss)}. Negate the gradient."
        )
    (lowest, low, _), *_, (highest, high, _) = tried
    if low < high:
        raise ValueError(
            "loss must fall as the margin grows, since the margin is that of the better document; "
            f"got {low:.3g} at a margin of {lowest:g} and {high:.3g} at {highest:g} from "
            f"{quote(loss)}. Negate value and gradient."
        )


#: A loss, or its name.
Loss = Annotated[Any, Rule(lambda _, loss: get_loss(loss))]


def _check_pairless(name: str, losses: Any) -> None:
    """Refuse a value that is not a sequence of listwise losses, pointwise losses and None."""
    check_sequence(name, losses)
    for loss in losses:
        with naming(name):
            resolved = None if loss is None else get_loss(loss)
        if resolved is not None and not has_methods(resolved, "bind"):
            allowed = sorted({*LISTWISE, *POINTWISE})
            raise ValueError(
                f"{name} must be listwise or pointwise losses, {allowed}, or None; "
                f"got {quote(loss)}."
            )


#: Listwise or pointwise losses, or their names, or None.
PairlessLosses = Annotated[Sequence[Any], Rule(_check_pairless)]


def _pairwise(loss: PairLoss, judgments: Judgments, settings: PairSettings) -> Objective:
    weight, largest = settings.pair_weight, judgments.totals.largest_label
    _refuse_weightless(settings)
    size = judgments.totals.typical_size
    pairs = settings.pair_rule
    balance = balance_of(judgments, pairs) if pairs.balanced else None
    objective = PairwiseObjective(judgments, loss, settings, size, largest, balance)
    objective.check_labels()
    is_exponential = settings.gain == "exponential"
    if weight.takes_gain and is_exponential and largest >= DOMINATING_LABEL:
        warn_user(
            f"y reaches {largest:g}, of gain 2^{largest:g} - 1: documents of lower labels have "
            "almost no weight. Write gain='linear' if y is an amount, no grade; the order is "
            "X, y, qid."
        )
    return objective


def _refuse_weightless(settings: PairSettings) -> None:
    """Refuse a weight that is 0 for pairs of equal labels if ``pairs`` has them."""
    if settings.pair_rule.ties and not settings.pair_weight.separates:
        allowed = sorted(
            name for name, weight_type in PAIR_WEIGHTS.items() if weight_type.separates
        )
        raise ValueError(
            f"weight must be one of {allowed} for pairs of equal labels, which weigh 0 by all "
            f"others; got weight={quote(settings.weight)} and pairs={quote(settings.pairs)}. Write "
            "weight='uniform', or pairs without ties."
        )
