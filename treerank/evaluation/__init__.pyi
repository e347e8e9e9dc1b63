from treerank.datasets.folds import Split as Split
from treerank.evaluation.given_scores import compare_scores as compare_scores
from treerank.evaluation.running import compare as compare
