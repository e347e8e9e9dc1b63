"""Arguments of the generators of synthetic data: the random state and the shares of classes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treerank.checks import check_count, is_whole, shown

#: Most numbers of a data set: 32 GB.
MOST_CELLS = 2**32
#: What the generators take as ``random_state``.
RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator; NumPy's global random state is neither read nor changed.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        ``None`` draws a new seed from the operating system.

    Returns
    -------
    numpy.random.Generator
        ``random_state`` itself if it is a generator, else a new one.

    Examples
    --------
    >>> as_generator(0).integers(10) == as_generator(0).integers(10)
    np.True_
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if is_whole(random_state):
        check_count("random_state", random_state, at_least=0)
    elif random_state is not None and not isinstance(random_state, np.random.Generator):
        raise TypeError(
            "random_state must be an int, a Generator, a RandomState or None; "
            f"got {shown(random_state)}."
        )
    return np.random.default_rng(random_state)


def check_cells(**counts: Any) -> None:
    """Refuse what is no count, and counts whose product is beyond any memory.

    Examples
    --------
    >>> check_cells(n_documents=10**9, n_features=70)
    Traceback (most recent call last):
    ...
    ValueError: n_documents times n_features must be at most 4294967296; got 70000000000.
    """
    for name, count in counts.items():
        check_count(name, count)
    n_cells = math.prod(map(int, counts.values()))
    if n_cells > MOST_CELLS:
        names = " times ".join(counts)
        raise ValueError(f"{names} must be at most {MOST_CELLS}; got {shown(n_cells)}.")


def check_shares(name: str, shares: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return shares of classes as an array that sums to one.

    Parameters
    ----------
    name : str
        Name of the argument, for the error message.
    shares : sequence of float
        Numbers that are not negative and not all 0.

    Returns
    -------
    ndarray of shape (n_shares,)
        The shares divided by their sum.

    Examples
    --------
    >>> check_shares("label_shares", [3, 1])
    array([0.75, 0.25])
    """
    try:
        values = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers; got {shown(shares)}.") from error
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a sequence of one or more numbers; got {shown(shares)}.")
    if not (np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0):
        raise ValueError(f"{name} must be finite, non-negative and not all 0; got {shown(shares)}.")
    return values / values.sum()
