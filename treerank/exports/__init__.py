"""Exports: rankers for other programs, which then rank documents as the rankers do."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
