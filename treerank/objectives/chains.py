r"""Target probabilities of pairs that do not contradict each other.

Burges et al. (2005), section 3.1: with :math:`P_{ij} = 1 / (1 + e^{-o_{ij}})`, log odds of
consistent probabilities add up, :math:`o_{ik} = o_{ij} + o_{jk}`. So one probability for each two
neighbors of an order, whatever they are, determines the probabilities of all pairs.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from treerank.checks import check_column, quote
from treerank.parameters import check_arguments


@check_arguments
def chained_probabilities(neighbors: ArrayLike) -> np.ndarray:
    r"""Return the probabilities of all pairs that follow from the probabilities of neighbors.

    They are targets for the fourth column of ``given_pairs`` that a model can reach, whatever the
    probabilities of neighbors are (the theorem of section 3.1 of the RankNet paper [1]_). Two
    of them in a row combine, by its equation 5, to

    .. math:: P_{ik} = \frac{P_{ij} P_{jk}}{1 + 2 P_{ij} P_{jk} - P_{ij} - P_{jk}}.

    Parameters
    ----------
    neighbors : array-like of shape (n_documents - 1,)
        Probability that document i is above document i + 1, for documents in any order. It may be
        certain, 0 or 1, but not both of them in one chain.

    Returns
    -------
    ndarray of shape (n_documents, n_documents)
        Probability that the row's document is above the column's; 1/2 on the diagonal.

    References
    ----------
    .. [1] Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank
       using gradient descent. ICML.

    Examples
    --------
    >>> chained_probabilities([0.6, 0.6]).round(3)
    array([[0.5  , 0.6  , 0.692],
           [0.4  , 0.5  , 0.6  ],
           [0.308, 0.4  , 0.5  ]])
    """
    neighbors = check_column("neighbors", neighbors)
    wrong = neighbors[(neighbors < 0) | (neighbors > 1)]
    if len(wrong):
        raise ValueError(f"neighbors must be probabilities from 0 to 1; got {wrong[0]:g}.")
    certain = (neighbors == 1).astype(int) - (neighbors == 0)
    if len(set(certain) - {0}) > 1:
        raise ValueError(
            "neighbors must not be certain of both orders, since 0 and 1 in one chain have no "
            f"sum of log odds; got {quote(neighbors.tolist())}. Write 0.01 and 0.99, for example."
        )
    odds = _between(logit(np.where(certain == 0, neighbors, 0.5)))
    certain = _between(certain)
    return expit(np.where(certain == 0, odds, np.copysign(np.inf, certain)))


def _between(steps):
    """Return a matrix: the sum of the steps from each row's document to each column's.

    ``steps[i]`` is the step from document i to document i + 1; backward steps count negatively.
    """
    reached = np.append(np.zeros(1, steps.dtype), np.cumsum(steps))
    return reached - reached[:, None]
