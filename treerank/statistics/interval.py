"""Interval: an estimate with its lower and upper bound."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """An estimate between two bounds.

    Parameters
    ----------
    estimate, low, high : float
        The mean and its bounds.
    level : float
        Share of such intervals that hold the true mean.

    Examples
    --------
    >>> print(Interval(0.5, 0.45, 0.55, level=0.95))
    0.5000 (95 %: 0.4500 to 0.5500)
    """

    estimate: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        """Return the estimate, the level and the bounds in one line."""
        return f"{self.estimate:.4f} ({100 * self.level:g} %: {self.low:.4f} to {self.high:.4f})"
