"""Evaluation: rankers on the same splits, with what is significant and what is not."""

from treerank.evaluation.comparison import Comparison, Failure, join
from treerank.evaluation.running import compare
from treerank.evaluation.splits import Split
from treerank.evaluation.summary import Summary
from treerank.evaluation.table import ResultTable

__all__ = ["Comparison", "Failure", "ResultTable", "Split", "Summary", "compare", "join"]
