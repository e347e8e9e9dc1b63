"""Result lists: what users are shown, once documents have scores.

``diversify`` picks documents that are good and unlike each other, ``sample_lists`` draws lists that
explore, with the probability of each place, and ``fuse`` joins the lists of several systems.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
