"""The one way to make an objective, by names or by parts of the user's own."""

import numbers
from dataclasses import replace

import numpy as np

from treerank.checks import check_column, check_number
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.relevance import check_gain
from treerank.objectives.listwise import LISTWISE
from treerank.objectives.losses import PAIR_LOSSES, get_pair_loss
from treerank.objectives.normalization import NORMALIZATIONS
from treerank.objectives.pairs import GivenPairs, get_pairs
from treerank.objectives.pairwise import PairwiseObjective
from treerank.objectives.per_level import PerLevelObjective
from treerank.objectives.weights import WeightOptions, get_pair_weight

MARGINS = ("unit", "label_gap")
#: Listwise losses that draw.
SEEDED = ("xendcg",)
#: Each level more is an output more of every tree.
MAX_LEVELS = 32


def make_objective(
    y,
    qid=None,
    *,
    loss="logistic",
    weight=None,
    pairs=None,
    sigma=1.0,
    margin="unit",
    k=None,
    gain="exponential",
    threshold=1.0,
    smoothing=0.0,
    query_normalization=None,
    sample_weight=None,
    query_weight=None,
    given_pairs=None,
    per_level=False,
    random_state=0,
):
    r"""Make an objective: scores in; value, gradient and hessian out, one entry per row.

    It serves every feature part, and plain ``lightgbm.train`` or ``xgboost.train`` as well.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels; any finite numbers for pair losses, whose order is all that counts, unless a
        weight or gain asks for more.
    qid : array-like of shape (n_documents,) or QueryGroups, default=None
        Query of each row, of any dtype and in any order; None is a single query.
    loss : str, jitted function or PairLoss, default="logistic"
        A pair loss, see :mod:`treerank.objectives.losses`, or a listwise one, see
        :mod:`treerank.objectives.listwise`.
    weight : str or PairWeight, default=None
        Weight of a pair, see :mod:`treerank.objectives.weights`; None is "uniform". Pair losses only,
        like all that follows up to ``query_normalization``.
    pairs : str or Pairs, default=None
        Which pairs count, see :mod:`treerank.objectives.pairs`; None is "all".
    sigma : float, default=1.0
        Scale of the scores: the margin is :math:`\sigma (s_i - s_j)`.
    margin : {"unit", "label_gap"}, default="unit"
        Whether losses that ask for a margin of 1 ask for the gap of the labels instead.
    k : int, default=None
        Truncation of the metric behind ``weight``.
    gain : {"exponential", "linear"} or array-like, default="exponential"
        Gain of a label for NDCG and ERR weights.
    threshold : float, default=1.0
        Labels from here on are relevant for MAP and MRR weights.
    smoothing : float, default=0.0
        Scale of Gumbel noise on the scores that ranks come from, drawn anew every iteration.
    query_normalization : {None, "equal", "log"}, default=None
        Scale the pair weights of each query: not, to the same sum, or to a dampened one.
    sample_weight : array-like of shape (n_documents,), default=None
        A weight of 2 counts as if the row were there twice.
    query_weight : array-like of shape (n_documents,), default=None
        Weight of each row's query, the same for all rows of a query.
    given_pairs : array-like of shape (n_pairs, 2 to 4), default=None
        The user's own pairs, instead of ``pairs``: columns i, j, weight and the probability
        that i is to stand above j; the last two default to 1.
    per_level : bool, default=False
        One column of scores per threshold between neighboring labels, each with the pairs of
        that threshold, see :mod:`treerank.objectives.per_level`.
    random_state : int, default=0
        Seed of whatever is drawn.

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
    y = check_column("y", y)
    groups = qid if isinstance(qid, QueryGroups) else QueryGroups.from_qid(qid, len(y))
    common = {
        "groups": groups,
        "sample_weight": _check_weights(sample_weight, "sample_weight", len(y)),
        "query_weight": _of_queries(_check_weights(query_weight, "query_weight", len(y)), groups),
    }
    if isinstance(loss, str) and loss in LISTWISE:
        _refuse_pair_options(loss, weight, pairs, given_pairs, per_level)
        seeded = {"seed": int(random_state)} if loss in SEEDED else {}
        return LISTWISE[loss].from_labels(y, **common, **seeded)
    if isinstance(loss, str) and loss not in PAIR_LOSSES:
        known = sorted([*PAIR_LOSSES, *LISTWISE])
        raise ValueError(f"loss must be callable or one of {known}; got {loss!r}.")
    _check_options(sigma, margin, smoothing, query_normalization, k, threshold)
    weight = get_pair_weight("uniform" if weight is None else weight)
    pairs = _which_pairs(pairs, given_pairs, groups)
    _refuse_weightless(weight, pairs)
    settings = {
        "loss": get_pair_loss(loss),
        "weight": weight,
        "pairs": pairs,
        "sigma": float(sigma),
        "margin": margin,
        "smoothing": float(smoothing),
        "normalization": query_normalization or ("equal" if weight.normalized else None),
        "seed": int(random_state),
        "keys": np.arange(len(y)),
        "typical_size": groups.n_documents / groups.n_queries,
    }
    options = WeightOptions(k, check_gain(gain), threshold, float(y.max()))
    if per_level:
        return _per_level(y, options, **common, **settings)
    return PairwiseObjective(y=y, options=options, **common, **settings).checked()


def _per_level(y, options, **parts):
    """Make an objective per threshold, for which a document reaches the level or does not."""
    levels = np.unique(y)
    if not 2 <= len(levels) <= MAX_LEVELS:
        raise ValueError(
            f"y must have 2 to {MAX_LEVELS} different labels when per_level=True; "
            f"got {len(levels)}."
        )
    options = replace(options, gain="linear", threshold=1.0, largest_label=1.0)
    return PerLevelObjective(
        tuple(
            PairwiseObjective(y=(y >= level).astype(float), options=options, **parts).checked()
            for level in levels[1:]
        )
    )


def _which_pairs(pairs, given_pairs, groups):
    if given_pairs is None:
        return get_pairs("all" if pairs is None else pairs)
    if pairs not in (None, "all"):
        raise ValueError(f"pairs must be None or 'all' when given_pairs lists them; got {pairs!r}.")
    return GivenPairs.from_table(given_pairs, groups)


def _refuse_weightless(weight, pairs):
    if pairs.ties and not weight.separates:
        raise ValueError(
            "weight must be one of ['label', 'query', 'uniform'] for pairs of equal labels, which "
            f"weigh nothing under the others; got {pairs!r}."
        )


def _refuse_pair_options(loss, weight, pairs, given_pairs, per_level):
    options = {
        "weight": weight,
        "pairs": None if pairs == "all" else pairs,
        "given_pairs": given_pairs,
    }
    for name, value in options.items():
        if value is not None:
            raise ValueError(
                f"{name} must be None for the listwise loss {loss!r}, which has no pairs; "
                f"got {value!r}."
            )
    if per_level:
        raise ValueError(f"per_level must be False for the listwise loss {loss!r}; got True.")


def _check_options(sigma, margin, smoothing, query_normalization, k, threshold):
    for name, value in {"sigma": sigma, "smoothing": smoothing, "threshold": threshold}.items():
        check_number(name, value)
    if sigma <= 0:
        raise ValueError(f"sigma must be positive; got {sigma!r}.")
    if smoothing < 0:
        raise ValueError(f"smoothing must not be negative; got {smoothing!r}.")
    if margin not in MARGINS:
        raise ValueError(f"margin must be one of {list(MARGINS)}; got {margin!r}.")
    if query_normalization not in NORMALIZATIONS:
        raise ValueError(
            f"query_normalization must be one of {list(NORMALIZATIONS)}; "
            f"got {query_normalization!r}."
        )
    if k is not None and (not isinstance(k, numbers.Integral) or k < 1):
        raise ValueError(f"k must be a positive integer or None; got {k!r}.")


def _check_weights(values, name, n_documents):
    """Return one weight per row; refuse NaN and negative ones."""
    if values is None:
        return np.ones(n_documents)
    values = check_column(name, values, n_documents)
    if values.min() < 0:
        row = int(np.argmin(values))
        raise ValueError(f"{name} must not be negative; got {values[row]} in row {row}.")
    return values


def _of_queries(query_weight, groups):
    """Return one weight per query; refuse one that changes within a query."""
    by_query = query_weight[groups.order]
    first = by_query[groups.indptr[:-1]]
    if (by_query != first.repeat(groups.sizes)).any():
        row = int(groups.order[np.argmax(by_query != first.repeat(groups.sizes))])
        raise ValueError(
            "query_weight must be the same for all rows of a query; "
            f"got {query_weight[row]} in row {row} of a query that began otherwise."
        )
    return first
