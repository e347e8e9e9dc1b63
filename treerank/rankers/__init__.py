"""Rankers: estimators that learn to rank, and the parts that they consist of.

To write a ranker of your own, derive it from :class:`Ranker`, or from :class:`DirectRanker` if it
fits a feature part to an objective.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.rankers.direct_ranker import DirectRanker as DirectRanker
    from treerank.rankers.forest_ranker import ForestRanker as ForestRanker
    from treerank.rankers.head import AntisymmetricHead as AntisymmetricHead
    from treerank.rankers.nested_ranker import NestedRanker as NestedRanker
    from treerank.rankers.ranker import Ranker as Ranker
    from treerank.rankers.reranking import rerank as rerank
    from treerank.rankers.streaming_ranker import StreamingRanker as StreamingRanker

_EXPORTS = {
    "AntisymmetricHead": "treerank.rankers.head:AntisymmetricHead",
    "DirectRanker": "treerank.rankers.direct_ranker:DirectRanker",
    "ForestRanker": "treerank.rankers.forest_ranker:ForestRanker",
    "NestedRanker": "treerank.rankers.nested_ranker:NestedRanker",
    "Ranker": "treerank.rankers.ranker:Ranker",
    "StreamingRanker": "treerank.rankers.streaming_ranker:StreamingRanker",
    "rerank": "treerank.rankers.reranking:rerank",
}

if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
