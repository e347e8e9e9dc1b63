"""Positions: where documents were shown in a ranking, from 1, and their clicks."""

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import check_column, refuse_where

#: Largest position: there are sums for each query and position.
LAST_POSITION = 1000


def check_positions(position: ArrayLike | None, y: np.ndarray) -> np.ndarray | None:
    """Return the position of each document as a whole number; ``None`` stays ``None``.

    Where positions are given, ``y`` are clicks. Anything else than 0 and 1 is refused.

    Examples
    --------
    >>> check_positions([1, 2], np.array([0.0, 1.0]))
    array([1, 2])
    >>> check_positions([0, 1], np.array([0.0, 1.0]))
    Traceback (most recent call last):
    ...
    ValueError: position must be a whole number from 1 to 1000; got 0.0 in row 0. Add 1 to \
positions from 0.
    """
    if position is None:
        return None
    positions = check_whole_positions(position, len(y))
    refuse_where((y != 0) & (y != 1), y, "y must be a click, 0 or 1, if position is given")
    return positions


def check_whole_positions(position: ArrayLike, n_rows: int | None = None) -> np.ndarray:
    """Return positions as whole numbers; refuse fractions and numbers out of range.

    Examples
    --------
    >>> check_whole_positions([1, 2.5])
    Traceback (most recent call last):
    ...
    ValueError: position must be a whole number from 1 to 1000; got 2.5 in row 1.
    """
    positions = check_column("position", position, n_rows)
    wrong = (positions != np.floor(positions)) | (positions < 1) | (positions > LAST_POSITION)
    advice = " Add 1 to positions from 0." if positions.min(initial=1) == 0 else ""
    rule = f"position must be a whole number from 1 to {LAST_POSITION}"
    refuse_where(wrong, positions, rule, advice)
    return positions.astype(np.int64)


def check_any_click(name: str, clicks: np.ndarray) -> None:
    """Refuse clicks, or sums of them, that are all 0: nothing can be learned from them.

    Examples
    --------
    >>> check_any_click("click", np.zeros(3))
    Traceback (most recent call last):
    ...
    ValueError: click must be 1 in some row; got none.
    """
    if not clicks.any():
        raise ValueError(f"{name} must be 1 in some row; got none.")
