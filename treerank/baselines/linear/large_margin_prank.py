"""Large-margin PRank: the mean of many perceptrons, each of which sees some of the documents.

The mean is inside the set of weights that make no error rather than at its edge, as for the Bayes
point machine (OAP-BPM, online aggregate PRank).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from treerank.baselines.linear.prank import PRank
from treerank.checks import check_count
from treerank.parameters import Rule, Share


@dataclass(eq=False, repr=False)
class LargeMarginPRank(PRank):
    """The mean of many PRanks (OAP-BPM) [1]_; the defaults are those of [2]_.

    ``fit`` refuses weights of any kind.

    All other parameters, and the attributes, are those of
    :class:`~treerank.baselines.linear.prank.PRank`.

    Parameters
    ----------
    n_perceptrons : int, default=100
        Number of perceptrons.
    share : float, default=0.3
        Probability that a document is shown to a perceptron, drawn again in every epoch.

    References
    ----------
    .. [1] Harrington (2003). Online ranking/collaborative filtering using the perceptron
       algorithm. ICML.
    .. [2] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
       using gradient descent. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.digitize(X[:, 0] - X[:, 1], [-1.0, 1.0])
    >>> ranker = LargeMarginPRank(random_state=0).fit(X, y)
    >>> bool((ranker.predict_level(X) == y).mean() > 0.9)
    True
    """

    _: KW_ONLY
    n_perceptrons: Annotated[int, Rule(check_count, at_most=2**16)] = 100
    share: Share = 0.3
