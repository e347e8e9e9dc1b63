"""Objectives: functions that map the scores of all documents to a loss and its derivatives."""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
