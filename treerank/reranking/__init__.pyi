from treerank.reranking.diversification import diversify as diversify
from treerank.reranking.fusion import fuse as fuse
from treerank.reranking.normalization import normalize_scores as normalize_scores
from treerank.reranking.sampling import sample_lists as sample_lists
