from treerank.results.diversification import diversify as diversify
from treerank.results.fusion import fuse as fuse
from treerank.results.fusion import runs_as_features as runs_as_features
from treerank.results.sampling import SampledLists as SampledLists
from treerank.results.sampling import sample_lists as sample_lists
