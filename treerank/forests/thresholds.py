"""Thresholds: the comparisons of the engines as ``x <= threshold`` in double precision."""

import numpy as np

#: LightGBM reads numbers up to this magnitude as zero.
LIGHTGBM_ZERO = float(np.float32(1e-35))


def below_in_single(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(largest, never)`` for thresholds t: the largest doubles x with float32(x) < t.

    ``never`` is a mask of the thresholds of minus infinity, below which nothing is; ``largest`` is
    infinity there.

    Examples
    --------
    >>> largest, never = below_in_single(np.array([1.0], dtype=np.float32))
    >>> np.float32(largest) < 1, np.float32(np.nextafter(largest, 2)) < 1
    (array([ True]), array([False]))
    """
    never = thresholds == -np.inf
    with np.errstate(all="ignore"):
        before = np.nextafter(thresholds, np.float32(-np.inf)).astype(np.float64)
        # Doubles from the middle to infinity, which is where 2**128 would be, round up.
        after = np.where(thresholds == np.inf, 2.0**128, thresholds.astype(np.float64))
        before = np.where(before == -np.inf, -(2.0**128), before)
        middle = before + (after - before) / 2
        rounds_up = ~(middle.astype(np.float32) < thresholds)
        largest = np.where(rounds_up, np.nextafter(middle, -np.inf), middle)
    return np.where(never, np.inf, largest), never


def up_to_in_single(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest doubles x with float32(x) <= t, for thresholds t.

    Examples
    --------
    >>> largest = up_to_in_single(np.array([1.0], dtype=np.float32))
    >>> np.float32(largest) == 1, np.float32(np.nextafter(largest, 2)) > 1
    (array([ True]), array([ True]))
    """
    single = thresholds.astype(np.float32)
    with np.errstate(all="ignore"):
        above = np.nextafter(single, np.float32(np.inf))
    largest, _ = below_in_single(above)
    return np.where(single == np.inf, np.inf, largest)


def with_lightgbm_zero(thresholds: np.ndarray) -> np.ndarray:
    """Return thresholds that send tiny numbers where LightGBM sends zero.

    Examples
    --------
    >>> with_lightgbm_zero(np.array([0.0, 1.0]))
    array([1.00000002e-35, 1.00000000e+00])
    """
    below = np.nextafter(-LIGHTGBM_ZERO, -np.inf)
    tiny = np.where(thresholds >= 0, LIGHTGBM_ZERO, below)
    return np.where(np.abs(thresholds) <= LIGHTGBM_ZERO, tiny, thresholds)
