"""Classes: what the comparisons of a ranker say about groups of documents."""

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
