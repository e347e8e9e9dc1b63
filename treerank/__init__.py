"""Learning to rank by comparing two documents at a time, with any function approximator."""

from treerank.inputs.grouping import QueryGroups
from treerank.metrics import NDCG, make_ranking_scorer
from treerank.model_selection import QueryKFold
from treerank.objectives import make_objective
from treerank.progress_bar import show_progress
from treerank.rankers.head import AntisymmetricHead
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.registry import load

__all__ = [
    "NDCG",
    "AntisymmetricHead",
    "QueryGroups",
    "QueryKFold",
    "TreeDirectRanker",
    "load",
    "make_objective",
    "make_ranking_scorer",
    "show_progress",
]
