"""Data sets: files and folders of ranking data, and a generator of synthetic data."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
