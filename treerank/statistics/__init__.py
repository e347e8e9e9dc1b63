"""Statistics: tests of whether one ranker is better than another, and confidence intervals."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
