"""Rankers: estimators that learn to rank, and the parts that they consist of.

To write a ranker of your own, derive it from :class:`Ranker`, or from :class:`DirectRanker` if it
fits a feature part to an objective.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
