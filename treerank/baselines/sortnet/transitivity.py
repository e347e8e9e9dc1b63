"""Transitivity: how often a comparator contradicts itself on three documents."""

from typing import NamedTuple

import numpy as np

from treerank.baselines.sortnet.comparison_sort import Preference
from treerank.inputs.grouping import QueryGroups


class TransitivityReport(NamedTuple):
    """How often a comparator prefers a to b, b to c, and c to a.

    Attributes
    ----------
    n_triples : int
        Number of triples of documents of one query that were drawn.
    n_violations : int
        Number of those whose three comparisons form a circle.

    Examples
    --------
    >>> TransitivityReport(n_triples=200, n_violations=5).share
    0.025
    """

    n_triples: int
    n_violations: int

    @property
    def share(self) -> float:
        """Share of the triples that form a circle."""
        return self.n_violations / max(1, self.n_triples)


def measure_transitivity(
    groups: QueryGroups, prefer: Preference, n_triples: int, rng: np.random.Generator
) -> TransitivityReport:
    """Compare the documents of random triples; ``prefer(i, j)`` compares rows."""
    i, j, k = draw_triples(groups, n_triples, rng)
    signs = [np.sign(prefer(a, b)) for a, b in ((i, j), (j, k), (k, i))]
    return TransitivityReport(len(i), int((np.abs(sum(signs)) == 3).sum()))


def draw_triples(groups: QueryGroups, n_triples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of three different documents of one query each; large queries more often."""
    sizes = groups.sizes.astype(np.float64)
    n_possible = sizes * (sizes - 1) * (sizes - 2)
    if not n_possible.any():
        return np.zeros((3, 0), np.int64)
    query = rng.choice(groups.n_queries, size=n_triples, p=n_possible / n_possible.sum())
    first, second, third = (rng.integers(groups.sizes[query] - n) for n in range(3))
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    third = third + (third >= high)
    return groups.order[groups.indptr[query] + np.stack([first, second, third])]
