"""Boundaries: classes of documents, found from the scores of a ranker.

To add a way to cut a list into classes, see :mod:`treerank.boundaries.neighbors`.
"""

from treerank.boundaries.classifier import RankClassifier
from treerank.boundaries.distance import RankDistance
from treerank.boundaries.neighbors import (
    Boundaries,
    compare_neighbors,
    discover_classes,
    find_boundaries,
)

__all__ = [
    "Boundaries",
    "RankClassifier",
    "RankDistance",
    "compare_neighbors",
    "discover_classes",
    "find_boundaries",
]
