__version__: str

from treerank.datasets.formats import read_batches as read_batches
from treerank.datasets.letor import read_letor as read_letor
from treerank.datasets.parquet import read_csv as read_csv
from treerank.datasets.parquet import read_parquet as read_parquet
from treerank.datasets.web_search import make_web_search as make_web_search
from treerank.evaluation.given_scores import compare_scores as compare_scores
from treerank.evaluation.running import compare as compare
from treerank.exports.exporting import export as export
from treerank.feature_parts.ensemble import Ensemble as Ensemble
from treerank.feature_parts.histogram.trees import HistogramTrees as HistogramTrees
from treerank.feature_parts.networks.mlp import MLP as MLP  # torch
from treerank.feature_parts.networks.soft_tree_part import SoftTrees as SoftTrees  # torch
from treerank.feature_parts.trees.lightgbm import LightGBMTrees as LightGBMTrees
from treerank.feature_parts.trees.xgboost import XGBoostTrees as XGBoostTrees  # xgboost
from treerank.files.checkpoint import checkpointing as checkpointing
from treerank.forests.reading import read_forest as read_forest
from treerank.metrics.graded_metrics import NDCG as NDCG
from treerank.metrics.registry import get_metric as get_metric
from treerank.model_selection import QueryKFold as QueryKFold
from treerank.model_selection import QueryShuffleSplit as QueryShuffleSplit
from treerank.model_selection import QueryTimeSplit as QueryTimeSplit
from treerank.objectives.factory import make_objective as make_objective
from treerank.progress_bar import show_progress as show_progress
from treerank.rankers.tree_direct_ranker import TreeDirectRanker as TreeDirectRanker
from treerank.registry import load as load
from treerank.reports.reporting import report as report
from treerank.search_engines.feature_logs import read_feature_log as read_feature_log
from treerank.search_engines.judgments import read_judgments as read_judgments
from treerank.search_engines.runs import read_runs as read_runs
