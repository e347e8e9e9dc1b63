"""Rankers: estimators that learn to rank, and the parts that they consist of.

To write a ranker of your own, derive it from :class:`Ranker`, or from :class:`DirectRanker` if it
fits a feature part to an objective.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.rankers.direct_ranker import DirectRanker as DirectRanker
    from treerank.rankers.ranker import Ranker as Ranker

_EXPORTS = {
    "DirectRanker": "treerank.rankers.direct_ranker:DirectRanker",
    "Ranker": "treerank.rankers.ranker:Ranker",
}

if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
