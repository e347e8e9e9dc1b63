from treerank.datasets.folds import Split as Split
from treerank.evaluation.ranker_comparison import Comparison as Comparison
from treerank.evaluation.ranker_comparison import Failure as Failure
from treerank.evaluation.refreshing import Refreshed as Refreshed
from treerank.evaluation.refreshing import refresh as refresh
from treerank.evaluation.running import compare as compare
from treerank.evaluation.summary import Difference as Difference
from treerank.evaluation.summary import Summary as Summary
