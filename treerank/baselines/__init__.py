"""Baselines: the rankers of the literature, and the base classes that they derive from.

To add a ranker, write its module and list it here, in ``BASELINES`` and among the imports for type
checkers; ``[torch]`` says that its module imports torch. A module is imported only when its ranker
is asked for.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.baselines.boosted import MART as MART
    from treerank.baselines.boosted import BoostedRanker as BoostedRanker
    from treerank.baselines.boosted import LambdaMART as LambdaMART
    from treerank.baselines.linear.adarank import AdaRank as AdaRank
    from treerank.baselines.linear.coordinate_ascent import CoordinateAscent as CoordinateAscent
    from treerank.baselines.linear.es_rank import ESRank as ESRank
    from treerank.baselines.linear.es_rank import IESRRank as IESRRank
    from treerank.baselines.linear.es_rank import IESVMRank as IESVMRank
    from treerank.baselines.linear.linear_ranker import LinearRanker as LinearRanker
    from treerank.baselines.linear.prank import LargeMarginPRank as LargeMarginPRank
    from treerank.baselines.linear.prank import PRank as PRank
    from treerank.baselines.linear.prank import QuadraticPRank as QuadraticPRank
    from treerank.baselines.linear.ranksvm import RankSVM as RankSVM
    from treerank.baselines.neural.listnet import ListNet as ListNet
    from treerank.baselines.neural.listnet import ListNetStar as ListNetStar
    from treerank.baselines.neural.neural_ranker import NeuralRanker as NeuralRanker
    from treerank.baselines.neural.ranknet import LambdaRank as LambdaRank
    from treerank.baselines.neural.ranknet import RankNet as RankNet
    from treerank.baselines.neural.ranknet import RankNetStar as RankNetStar
    from treerank.baselines.neural.rankprop import RankProp as RankProp
    from treerank.baselines.sortnet.sortnet import SortNet as SortNet
    from treerank.baselines.stump_ranker import FRank as FRank
    from treerank.baselines.stump_ranker import RankBoost as RankBoost
    from treerank.baselines.stump_ranker import StumpRanker as StumpRanker

BASELINES = {
    "AdaRank": "treerank.baselines.linear.adarank:AdaRank",
    "CoordinateAscent": "treerank.baselines.linear.coordinate_ascent:CoordinateAscent",
    "ESRank": "treerank.baselines.linear.es_rank:ESRank",
    "FRank": "treerank.baselines.stump_ranker:FRank",
    "IESRRank": "treerank.baselines.linear.es_rank:IESRRank",
    "IESVMRank": "treerank.baselines.linear.es_rank:IESVMRank",
    "LambdaMART": "treerank.baselines.boosted:LambdaMART",
    "LambdaRank": "treerank.baselines.neural.ranknet:LambdaRank [torch]",
    "LargeMarginPRank": "treerank.baselines.linear.prank:LargeMarginPRank",
    "ListNet": "treerank.baselines.neural.listnet:ListNet [torch]",
    "ListNetStar": "treerank.baselines.neural.listnet:ListNetStar [torch]",
    "MART": "treerank.baselines.boosted:MART",
    "PRank": "treerank.baselines.linear.prank:PRank",
    "QuadraticPRank": "treerank.baselines.linear.prank:QuadraticPRank",
    "RankBoost": "treerank.baselines.stump_ranker:RankBoost",
    "RankNet": "treerank.baselines.neural.ranknet:RankNet [torch]",
    "RankNetStar": "treerank.baselines.neural.ranknet:RankNetStar [torch]",
    "RankProp": "treerank.baselines.neural.rankprop:RankProp [torch]",
    "RankSVM": "treerank.baselines.linear.ranksvm:RankSVM",
    "SortNet": "treerank.baselines.sortnet.sortnet:SortNet [torch]",
}

#: With the base classes, which are no rankers by themselves.
_EXPORTS = BASELINES | {
    "BoostedRanker": "treerank.baselines.boosted:BoostedRanker",
    "LinearRanker": "treerank.baselines.linear.linear_ranker:LinearRanker",
    "NeuralRanker": "treerank.baselines.neural.neural_ranker:NeuralRanker [torch]",
    "StumpRanker": "treerank.baselines.stump_ranker:StumpRanker",
}

if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
