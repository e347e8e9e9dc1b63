"""Learning to rank by comparing two documents at a time, with any function approximator."""

from treerank import kernel_cache as kernel_cache
from treerank.grouping import QueryGroups
from treerank.head import AntisymmetricHead
from treerank.metrics import make_ranking_scorer, ndcg_score
from treerank.model_selection import QueryKFold
from treerank.objectives import make_objective
from treerank.progress_bar import show_progress
from treerank.rankers import load
from treerank.tree_direct_ranker import TreeDirectRanker

__all__ = [
    "AntisymmetricHead",
    "QueryGroups",
    "QueryKFold",
    "TreeDirectRanker",
    "load",
    "make_objective",
    "make_ranking_scorer",
    "ndcg_score",
    "show_progress",
]
