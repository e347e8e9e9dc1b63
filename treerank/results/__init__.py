"""Result lists: what users are shown, once documents have scores.

``diversify`` picks documents that are good and unlike each other, ``sample_lists`` draws lists that
explore, with the probability of each place, and ``fuse`` joins the lists of several systems.
"""

from treerank.results.diversification import diversify
from treerank.results.fusion import fuse, runs_as_features
from treerank.results.sampling import SampledLists, sample_lists

__all__ = ["SampledLists", "diversify", "fuse", "runs_as_features", "sample_lists"]
