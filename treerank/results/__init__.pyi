from treerank.results.diversification import diversify as diversify
from treerank.results.fusion import fuse as fuse
from treerank.results.normalization import normalize_scores as normalize_scores
from treerank.results.sampling import SampledLists as SampledLists
from treerank.results.sampling import sample_lists as sample_lists
