"""Feature parts: functions from a document to one or more numbers, of any kind.

To write a part that is a torch network, derive it from :class:`NetworkPart`; trees of LightGBM, of
XGBoost and of this package share :class:`BoostedTrees`.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.feature_parts.engines.boosting import BoostedTrees as BoostedTrees
    from treerank.feature_parts.given_trees import GivenTrees as GivenTrees
    from treerank.feature_parts.networks.network_part import NetworkPart as NetworkPart

_EXPORTS = {
    "BoostedTrees": "treerank.feature_parts.engines.boosting:BoostedTrees",
    "GivenTrees": "treerank.feature_parts.given_trees:GivenTrees",
    "NetworkPart": "treerank.feature_parts.networks.network_part:NetworkPart [torch]",
}

if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
