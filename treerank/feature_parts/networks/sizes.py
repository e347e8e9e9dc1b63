"""Sizes: how large a network may be."""

from typing import Annotated, Any

from treerank.checks import check_count, shown
from treerank.parameters import Rule

#: Most units of a layer, and most weights of a network: more would not fit into memory.
MOST_UNITS, MOST_WEIGHTS = 2**16, 10**8
#: Number of units of a layer.
Units = Annotated[int, Rule(check_count, at_most=MOST_UNITS)]


def check_n_weights(name: str, value: Any, n_weights: int) -> None:
    """Refuse a parameter that makes a network too large for any memory.

    Examples
    --------
    >>> check_n_weights("hidden", (30000, 30000), 900_000_000)
    Traceback (most recent call last):
    ...
    ValueError: hidden must give at most 100000000 weights; got (30000, 30000), which gives \
900000000.
    """
    if n_weights > MOST_WEIGHTS:
        raise ValueError(
            f"{name} must give at most {MOST_WEIGHTS} weights; got {shown(value)}, which gives "
            f"{n_weights}."
        )
