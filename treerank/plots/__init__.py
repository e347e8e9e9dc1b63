"""Plots: each takes ``ax=None`` and returns its Axes. They need ``treerank[plots]``."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
