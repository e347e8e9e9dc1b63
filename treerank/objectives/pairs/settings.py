"""Settings of losses over pairs: where each is named, typed and checked.

Rankers have them as parameters. From there on they travel as one :class:`PairSettings`. To add a
setting, add a field here, a parameter to
:class:`~treerank.rankers.tree_direct_ranker.TreeDirectRanker`, and read it in one function.
"""

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from treerank.checks import quote
from treerank.documents.gains import check_gain
from treerank.objectives.pairs.rules import GivenPairs, PairRule, Pairs, get_pairs
from treerank.objectives.pairs.weights import NORMALIZATIONS, PairWeight, Weight, get_pair_weight
from treerank.parameters import (
    Finite,
    NotNegative,
    PlainSignature,
    Positive,
    Rule,
    Size,
    check_parameters,
)
from treerank.spelling import spelled

#: Gain of a label, as in metrics, which objectives do not know.
Gain = Annotated[Any, Rule(lambda _, gain: check_gain(gain))]
Normalization = Annotated[str | None, Rule.one_of(NORMALIZATIONS)]


@dataclass(frozen=True, kw_only=True)
class PairSettings:
    r"""Settings that pair losses read, and no others.

    Parameters
    ----------
    weight : str or PairWeight, default=None
        Weight of a pair, see :mod:`treerank.objectives.pairs.weights`; None is "uniform".
    pairs : str or Pairs, default=None
        Which pairs count, see :mod:`treerank.objectives.pairs.rules`; None is "all".
    sigma : float, default=1.0
        Scale of the scores: the margin is :math:`\sigma (s_i - s_j)`.
    k : int, default=None
        Cutoff rank of the metric in ``weight``.
    gain : {"exponential", "linear"} or array-like, default="exponential"
        Gain of a label for NDCG and ERR weights.
    threshold : float, default=1.0
        Smallest label that is relevant for MAP and MRR weights.
    smoothing : float, default=0.0
        Scale of Gumbel noise on the scores that ranks come from, drawn anew in every iteration.
    query_normalization : {None, "equal", "log"}, default=None
        None leaves the pair weights unchanged; "equal" scales each query's pair weights to the same
        sum, "log" to log2(1 + their sum).

    Examples
    --------
    >>> import numpy as np
    >>> PairSettings(weight="ndcg", gain=np.array([0, 1, 10])).gain
    (0.0, 1.0, 10.0)
    """

    __signature__ = PlainSignature()

    weight: Weight | None = None
    pairs: PairRule | None = None
    sigma: Positive = 1.0
    k: Size | None = None
    gain: Gain = "exponential"
    threshold: Finite = 1.0
    smoothing: NotNegative = 0.0
    query_normalization: Normalization = None

    def __post_init__(self) -> None:
        """Check the settings; a table of gains becomes a tuple, which can be compared."""
        check_parameters(self)
        object.__setattr__(self, "gain", check_gain(self.gain))

    @property
    def pair_weight(self) -> PairWeight:
        """The weight that ``weight`` names."""
        return get_pair_weight("uniform" if self.weight is None else self.weight)

    @property
    def pair_rule(self) -> Pairs:
        """The rule that ``pairs`` names."""
        return get_pairs("all" if self.pairs is None else self.pairs)

    def as_read(self) -> "PairSettings":
        """Return the settings with the defaults of those that ``weight`` and ``pairs`` do not read.

        Weights that scores do not change read neither ``k`` nor, for all pairs, ``smoothing``. Your
        own weight may read ``k``.

        Examples
        --------
        >>> read = PairSettings(weight="label", k=3, smoothing=1.0).as_read()
        >>> read.k, read.smoothing
        (None, 0.0)
        """
        if not self.pair_weight.is_fixed:
            return self
        k = self.k if isinstance(self.weight, PairWeight) else None
        return replace(self, k=k, smoothing=self.smoothing if self.pair_rule.top else 0.0)

    def convex(self) -> "PairSettings":
        """Return the settings of the convex form of an objective, which no scores change.

        A weight that depends on ranks becomes "query", and pairs near the top become "all".
        """
        weight = self.weight if self.pair_weight.is_fixed else "query"
        pairs = self.pairs if self.pair_rule.top is None else "all"
        return replace(self, weight=weight, pairs=pairs).as_read()

    def refuse_for(self, loss: Any) -> None:
        """Refuse settings other than the defaults for a loss that would ignore them."""
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if value is field.default or (np.ndim(value) == 0 and value == field.default):
                continue
            if isinstance(value, GivenPairs):
                name, value = "given_pairs", len(value.i)
            default = repr(field.default) if spelled(name) == name else "left out"
            rule = f"must be {default} for {spelled('loss', loss)}, which does not read it"
            raise ValueError(f"{spelled(name)} {rule}; got {quote(value)}.")
