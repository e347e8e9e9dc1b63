"""Classes: what the comparisons of a ranker say about groups of documents."""

from treerank.classes.classifier import RankClassifier
from treerank.classes.distance import RankDistance
from treerank.classes.neighbours import (
    Boundaries,
    compare_neighbours,
    discover_classes,
    find_boundaries,
)

__all__ = [
    "Boundaries",
    "RankClassifier",
    "RankDistance",
    "compare_neighbours",
    "discover_classes",
    "find_boundaries",
]
