"""Evaluation: rankers on the same splits, and tests of which differences are significant."""

from treerank.evaluation.data_splits import Split
from treerank.evaluation.joining import join
from treerank.evaluation.ranker_comparison import Comparison, Failure
from treerank.evaluation.refreshing import Refreshed, refresh
from treerank.evaluation.running import compare
from treerank.evaluation.summary import Difference, ResultTable, Summary

__all__ = [
    "Comparison",
    "Difference",
    "Failure",
    "Refreshed",
    "ResultTable",
    "Split",
    "Summary",
    "compare",
    "join",
    "refresh",
]
