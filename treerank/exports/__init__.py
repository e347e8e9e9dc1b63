"""Exports: model files with which other programs rank documents as the ranker does."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
