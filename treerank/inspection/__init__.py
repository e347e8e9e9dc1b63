"""Inspection: why a ranker ranks as it does, where it fails, and what is in its data."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
