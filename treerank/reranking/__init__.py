"""Reranking: how scores become the lists that users see.

``diversify`` picks relevant documents that differ from each other, ``sample_lists`` samples lists
for exploration, with the propensity of each position, and ``fuse`` merges the lists of several
systems.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
