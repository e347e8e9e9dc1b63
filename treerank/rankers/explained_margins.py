"""Explained margins: what each feature contributes to the margin of two documents, with names."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

#: Number of features that a sentence names.
_N_NAMED = 3


class ExplainedMargins(np.ndarray):
    """An array of shape (n_pairs, n_features) that knows the names of features.

    Attributes
    ----------
    names : list of str or None
        Name of each feature.

    Examples
    --------
    >>> parts = ExplainedMargins.of(np.array([[2.53, -0.4, 1.31]]), ["bm25", "age", "category"])
    >>> print(parts)
    A is above B because of bm25 +2.53, category +1.31, despite age -0.4.
    >>> parts.by_name()
    [{'bm25': 2.53, 'category': 1.31, 'age': -0.4}]
    """

    names: list[str] | None

    @classmethod
    def of(cls, parts: np.ndarray, names: Iterable[str]) -> Self:
        """Give names to the columns of an array."""
        found = parts.view(cls)
        found.names = list(names)
        return found

    def __array_finalize__(self, other: Any) -> None:
        """Keep the names."""
        self.names = getattr(other, "names", None)

    def by_name(self) -> list[dict[str, float]]:
        """Return the parts of each pair by name, the largest first; those of 0 are left out."""
        rows, names = np.atleast_2d(np.asarray(self)), self.names or []
        orders = np.argsort(-np.abs(rows), axis=1, kind="stable")
        return [
            {names[j]: float(row[j]) for j in order if row[j] != 0}
            for row, order in zip(rows, orders, strict=True)
        ]

    def sentences(self) -> list[str]:
        """Return a sentence for each pair: which document is above, and because of what."""
        return [_sentence(parts) for parts in self.by_name()]

    def __str__(self) -> str:
        is_whole = self.ndim in (1, 2) and self.names and self.shape[-1] == len(self.names)
        return "\n".join(self.sentences()) if is_whole else super().__str__()


def _sentence(parts: dict[str, float]) -> str:
    """Return which of two documents is above, and because of what."""
    margin = sum(parts.values())
    if margin == 0:
        return "A and B have equal scores."
    named = [f"{name} {part:+.3g}" for name, part in parts.items() if part * margin > 0][:_N_NAMED]
    others = [f"{name} {part:+.3g}" for name, part in parts.items() if part * margin < 0][:1]
    despite = "".join(f", despite {other}" for other in others)
    side = "above" if margin > 0 else "below"
    return f"A is {side} B because of {', '.join(named)}{despite}."
