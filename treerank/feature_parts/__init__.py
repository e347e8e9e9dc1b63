"""Feature parts: functions from a document to one or more numbers, of any kind.

To write a part that is a torch network, derive it from :class:`NetworkPart`; trees of LightGBM, of
XGBoost and of this package share :class:`BoostedTrees`.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.feature_parts.engines.boosting import BoostedTrees as BoostedTrees
    from treerank.feature_parts.engines.lightgbm import LightGBMTrees as LightGBMTrees
    from treerank.feature_parts.engines.xgboost import XGBoostTrees as XGBoostTrees
    from treerank.feature_parts.ensembles.chain import Chain as Chain
    from treerank.feature_parts.ensembles.ensemble import Ensemble as Ensemble
    from treerank.feature_parts.given_trees import GivenTrees as GivenTrees
    from treerank.feature_parts.histogram.streaming import StreamingTrees as StreamingTrees
    from treerank.feature_parts.histogram.trees import HistogramTrees as HistogramTrees
    from treerank.feature_parts.line import Line as Line
    from treerank.feature_parts.networks.mlp import MLP as MLP
    from treerank.feature_parts.networks.network_part import NetworkPart as NetworkPart
    from treerank.feature_parts.networks.polynomial import LinearNetwork as LinearNetwork
    from treerank.feature_parts.networks.polynomial import Polynomial as Polynomial
    from treerank.feature_parts.soft_trees.part import SoftTrees as SoftTrees

_EXPORTS = {
    "BoostedTrees": "treerank.feature_parts.engines.boosting:BoostedTrees",
    "Chain": "treerank.feature_parts.ensembles.chain:Chain",
    "Ensemble": "treerank.feature_parts.ensembles.ensemble:Ensemble",
    "GivenTrees": "treerank.feature_parts.given_trees:GivenTrees",
    "HistogramTrees": "treerank.feature_parts.histogram.trees:HistogramTrees",
    "LightGBMTrees": "treerank.feature_parts.engines.lightgbm:LightGBMTrees",
    "Line": "treerank.feature_parts.line:Line",
    "LinearNetwork": "treerank.feature_parts.networks.polynomial:LinearNetwork [torch]",
    "MLP": "treerank.feature_parts.networks.mlp:MLP [torch]",
    "NetworkPart": "treerank.feature_parts.networks.network_part:NetworkPart [torch]",
    "Polynomial": "treerank.feature_parts.networks.polynomial:Polynomial [torch]",
    "SoftTrees": "treerank.feature_parts.soft_trees.part:SoftTrees [torch]",
    "StreamingTrees": "treerank.feature_parts.histogram.streaming:StreamingTrees",
    "XGBoostTrees": "treerank.feature_parts.engines.xgboost:XGBoostTrees",
}

if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
