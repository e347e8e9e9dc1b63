from treerank.feature_parts.any_model.modules import TorchModule as TorchModule  # torch
from treerank.feature_parts.any_model.regressors import NewtonBoosting as NewtonBoosting
from treerank.feature_parts.any_model.transformers import TransformerPart as TransformerPart
from treerank.feature_parts.base import FeaturePart as FeaturePart
from treerank.feature_parts.base import PartTraits as PartTraits
from treerank.feature_parts.ensemble import Ensemble as Ensemble
from treerank.feature_parts.histogram.streaming import StreamingTrees as StreamingTrees
from treerank.feature_parts.histogram.trees import HistogramTrees as HistogramTrees
from treerank.feature_parts.linear import LinearModel as LinearModel
from treerank.feature_parts.networks.mlp import MLP as MLP  # torch
from treerank.feature_parts.networks.network_part import NetworkPart as NetworkPart  # torch
from treerank.feature_parts.networks.polynomial import Polynomial as Polynomial  # torch
from treerank.feature_parts.networks.soft_tree_part import SoftTrees as SoftTrees  # torch
from treerank.feature_parts.refit import RefitTrees as RefitTrees
from treerank.feature_parts.stages import Stages as Stages
from treerank.feature_parts.trees.boosting import BoostedTrees as BoostedTrees
from treerank.feature_parts.trees.lightgbm import LightGBMTrees as LightGBMTrees
from treerank.feature_parts.trees.xgboost import XGBoostTrees as XGBoostTrees  # xgboost
