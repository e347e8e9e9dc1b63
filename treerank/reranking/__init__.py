"""Reranking: from scores to the lists that users are shown.

``diversify`` picks documents that are relevant and unlike each other, ``sample_lists`` draws lists
for exploration, with the propensity of each position, and ``fuse`` merges the lists of several
systems.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
