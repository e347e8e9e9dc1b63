"""Arguments of the generators of synthetic data: what they may be, and what one may not."""

from numbers import Integral

import numpy as np


def as_generator(random_state):
    """Return a NumPy generator; it never touches NumPy's global state.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        ``None`` draws a new seed from the operating system.

    Returns
    -------
    numpy.random.Generator
        The given generator itself, or a new one.

    Examples
    --------
    >>> from treerank.datasets.arguments import as_generator
    >>> as_generator(0).integers(10) == as_generator(0).integers(10)
    np.True_
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    is_seed = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if is_seed and random_state < 0:
        raise ValueError(f"random_state must be non-negative; got {random_state!r}.")
    if random_state is None or is_seed or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise TypeError(
        f"random_state must be an int, a Generator, a RandomState or None; got {random_state!r}."
    )


def check_shares(name, shares, *, length=None):
    """Return shares of classes as an array that sums to one.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    shares : sequence of float
        Non-negative and of a positive sum.
    length : int or None
        How many there must be, if that is known.

    Returns
    -------
    ndarray of shape (n_shares,)
        The shares divided by their sum.

    Examples
    --------
    >>> from treerank.datasets.arguments import check_shares
    >>> check_shares("label_shares", [3, 1])
    array([0.75, 0.25])
    """
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or (length is not None and len(values) != length):
        wanted = "one or more" if length is None else length
        raise ValueError(f"{name} must be a sequence of {wanted} numbers; got {shares!r}.")
    if not (np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0):
        raise ValueError(f"{name} must be finite, non-negative and not all 0; got {shares!r}.")
    return values / values.sum()
