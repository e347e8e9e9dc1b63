r"""Chained probabilities: those of neighbors in an order fix those of all pairs.

Burges et al. (2005), section 3: with :math:`P_{ij} = 1 / (1 + e^{-o_{ij}})`, log odds of consistent
probabilities add up, :math:`o_{ik} = o_{ij} + o_{jk}`. So m - 1 arbitrary probabilities, one for
each two neighbors of an order of m documents, determine all others uniquely.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from treerank.checks import check_column


def chained_probabilities(neighbors: ArrayLike) -> np.ndarray:
    """Return the probability of every pair that follows from those of neighbors.

    They are targets for the fourth column of ``given_pairs``. Certainty and complete uncertainty
    carry over; confidence of one direction grows along the chain.

    Parameters
    ----------
    neighbors : array-like of shape (n_documents - 1,)
        Probability that document i is above document i + 1. Certainties, 0 and 1, must not
        contradict each other.

    Returns
    -------
    ndarray of shape (n_documents, n_documents)
        Probability that the row's document is above the column's; 1/2 on the diagonal.

    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender (2005). Learning to rank using
    gradient descent. ICML.

    Examples
    --------
    >>> chained_probabilities([0.6, 0.6]).round(3)
    array([[0.5  , 0.6  , 0.692],
           [0.4  , 0.5  , 0.6  ],
           [0.308, 0.4  , 0.5  ]])
    """
    neighbors = check_column("neighbors", neighbors)
    low, high = neighbors.min(), neighbors.max()
    if low < 0 or high > 1:
        raise ValueError(f"neighbors must be between 0 and 1; got {low} to {high}.")
    if low == 0 and high == 1:
        raise ValueError("neighbors must not be certain of both orders; got 0 and 1 among them.")
    certain = _between((neighbors == 1).astype(float) - (neighbors == 0))
    odds = _between(logit(np.where((neighbors == 0) | (neighbors == 1), 0.5, neighbors)))
    return expit(np.where(certain == 0, odds, np.copysign(np.inf, certain)))


def _between(steps):
    """Return the sum of the steps from each document to each other."""
    reached = np.append(0.0, np.cumsum(steps))
    return reached - reached[:, None]
