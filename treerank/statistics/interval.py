"""Interval: an estimate with its bounds, as a table or a sentence gives it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """An estimate between two bounds.

    Attributes
    ----------
    estimate, low, high : float
        The mean and its bounds.
    level : float
        Share of such intervals that hold the true mean.
    """

    estimate: float
    low: float
    high: float
    level: float

    def __str__(self):
        """Say it in one line."""
        return f"{self.estimate:.4f} ({100 * self.level:g} %: {self.low:.4f} to {self.high:.4f})"


def check_level(level):
    """Refuse what is no share between 0 and 1."""
    if not (isinstance(level, float) and 0 < level < 1):
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
