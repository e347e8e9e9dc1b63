from treerank.datasets.folds import Split as Split
from treerank.evaluation.given_scores import compare_scores as compare_scores
from treerank.evaluation.ranker_comparison import Comparison as Comparison
from treerank.evaluation.ranker_comparison import Failure as Failure
from treerank.evaluation.running import compare as compare
from treerank.evaluation.summary import Difference as Difference
from treerank.evaluation.summary import Summary as Summary
