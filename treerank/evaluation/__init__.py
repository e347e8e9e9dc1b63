"""Evaluation: comparisons of rankers on the same splits, with significance tests."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
