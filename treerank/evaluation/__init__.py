"""Evaluation: rankers on the same splits, and tests of which differences are significant."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
