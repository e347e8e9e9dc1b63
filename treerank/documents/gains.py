"""Gains: the relevance of a document to a metric, as a function of its label.

NDCG and ERR take the gain of a label; MAP, MRR and precision take 1 if the label reaches a
threshold, else 0. To add a gain by name, list it in ``GAINS``.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, quote, warn_user

#: Largest label of the exponential gain, and largest gain: the sum over a query is no overflow.
MAX_LABEL, MAX_GAIN = 1000, 2.0**1000


def exponential_gain(y: np.ndarray) -> np.ndarray:
    """Return 2^y - 1; refuse labels above 1000."""
    top = y.max()
    if top > MAX_LABEL:
        raise ValueError(f"y must be at most {MAX_LABEL} for gain='exponential'; got {top}.")
    # A table has the same bits on every machine; a vectorized exp2 has not.
    gains, is_index = _look_up(y, np.ldexp(1.0, np.arange(int(top) + 1)) - 1)
    return gains if is_index.all() else np.exp2(y) - 1


#: Gains by name: 2^y - 1, and y itself.
GAINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exponential": exponential_gain,
    "linear": np.copy,
}


def label_gains(y: ArrayLike, gain: str | Sequence[float] = "exponential") -> np.ndarray:
    """Return the gain of each label.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels, not negative. Fractional labels need a gain by name.
    gain : {"exponential", "linear"} or sequence of float, default="exponential"
        2^y - 1, or y, or the gain of each label 0, 1, 2, ...

    Returns
    -------
    ndarray of shape (n_documents,)

    Examples
    --------
    >>> label_gains([0, 1, 2, 4])
    array([ 0.,  1.,  3., 15.])
    >>> label_gains([0, 1, 2], gain=[0, 1, 10])
    array([ 0.,  1., 10.])
    """
    y = check_column("y", y, or_table=True)
    if y.min() < 0:
        raise ValueError(
            f"y must not be negative where it has a gain, as in NDCG; got {y.min()}. Add a number "
            "to all labels, or take weight='uniform' and a metric without gains, such as 'map'."
        )
    gains = GAINS[gain](y) if isinstance(gain, str) else _listed_gains(y, np.asarray(gain, float))
    if gains.max() > MAX_GAIN:
        raise ValueError(f"y must have gains below {MAX_GAIN:.3g}; got {gains.max()}.")
    return gains


def _listed_gains(y: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return ``table[y]``, the gain of each label; refuse labels that are no index of the table."""
    gains, is_index = _look_up(y, table)
    if not is_index.all():
        wrong = y[np.argmin(is_index)]
        raise ValueError(
            f"y must be integers below {len(table)}, the number of gains; got {wrong}."
        )
    return gains


def _look_up(y, table):
    """Return ``(table[y], is_index)``: NaN and False for labels that are no index of the table.

    >>> _look_up(np.array([1.0, 0.5, 2.0]), np.array([0.0, 7.0]))
    (array([ 7., nan, nan]), array([ True, False, False]))
    """
    is_index = (y >= 0) & (y < len(table)) & (y == np.floor(y))
    indices = np.where(is_index, y, len(table)).astype(np.int64)
    return np.append(table, np.nan)[indices], is_index


def check_gain(gain: str | Sequence[float]) -> str | tuple[float, ...]:
    """Return the name of a gain, or its table as a tuple, which can be compared and hashed."""
    if isinstance(gain, str):
        if gain not in GAINS:
            allowed = f"an array or one of {sorted(GAINS)}"
            raise ValueError(f"gain must be {allowed}; got {quote(gain)}.")
        return gain
    table = check_column("gain", gain)
    if table.min() < 0:
        raise ValueError(f"gain must not be negative; got {table.min()}.")
    return tuple(table.tolist())


def is_relevant(y: np.ndarray, threshold: float) -> np.ndarray:
    """Return 1.0 for labels that reach the threshold and 0.0 for the others.

    Of labels that are no grades, such as the quality of an answer from 0 to 1, most may lie below
    the default threshold, 1; then a warning says so.

    Examples
    --------
    >>> is_relevant(np.array([0.0, 2.0, 1.0]), threshold=1)
    array([0., 1., 1.])
    """
    relevant = y >= threshold
    below = y[(y > 0) & ~relevant]
    n_reach = np.count_nonzero(relevant)
    if threshold == 1 and len(below) > n_reach and (below != np.floor(below)).any():
        reach = f"Only {n_reach} of {len(below) + n_reach} labels above 0 reach"
        warn_user(
            f"{reach if n_reach else 'No label reaches'} threshold=1, so "
            f"{'few documents are' if n_reach else 'nothing is'} relevant. For labels from 0 to 1, "
            "write threshold=0.5, as in 'map(threshold=0.5)'."
        )
    return relevant.astype(np.float64)


def are_shares(y: np.ndarray) -> bool:
    """Tell whether labels are no grades but numbers from 0 to 1, such as qualities of answers.

    Examples
    --------
    >>> are_shares(np.array([0.0, 0.35, 1.0])), are_shares(np.array([0.0, 1.0]))
    (True, False)
    """
    return bool(len(y) and y.min() >= 0 and y.max() <= 1 and (y != np.floor(y)).any())


def count_relevant(gains: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the number of documents of each query with a positive gain.

    Query ``q`` has the gains ``gains[indptr[q]:indptr[q + 1]]``.
    """
    return np.diff(np.append(0, np.cumsum(gains > 0))[indptr])
