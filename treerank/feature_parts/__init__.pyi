from treerank.feature_parts.chain import Chain as Chain
from treerank.feature_parts.engines.boosting import BoostedTrees as BoostedTrees
from treerank.feature_parts.engines.lightgbm import LightGBMTrees as LightGBMTrees
from treerank.feature_parts.engines.xgboost import XGBoostTrees as XGBoostTrees
from treerank.feature_parts.ensemble import Ensemble as Ensemble
from treerank.feature_parts.given_trees import GivenTrees as GivenTrees
from treerank.feature_parts.histogram.streaming import StreamingTrees as StreamingTrees
from treerank.feature_parts.histogram.trees import HistogramTrees as HistogramTrees
from treerank.feature_parts.line import Line as Line
from treerank.feature_parts.networks.mlp import MLP as MLP  # torch
from treerank.feature_parts.networks.network_part import NetworkPart as NetworkPart  # torch
from treerank.feature_parts.networks.polynomial import LinearNetwork as LinearNetwork  # torch
from treerank.feature_parts.networks.polynomial import Polynomial as Polynomial  # torch
from treerank.feature_parts.networks.soft_tree_part import SoftTrees as SoftTrees  # torch
