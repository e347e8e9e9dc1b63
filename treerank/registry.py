"""Rankers by name: what model files, searches and the command line may ask for.

To add one, write a function that imports and returns its class and list it here, under the name
of its class; a module is imported only when its ranker is asked for.
"""

from treerank.rankers.model_file import read_model


def _tree_direct_ranker():
    from treerank.rankers.tree_direct_ranker import TreeDirectRanker

    return TreeDirectRanker


def _lambdarank():
    from treerank.baselines.neural.lambdarank import LambdaRank

    return LambdaRank


def _listnet():
    from treerank.baselines.neural.listnet import ListNet

    return ListNet


def _listnet_star():
    from treerank.baselines.neural.listnet_star import ListNetStar

    return ListNetStar


def _ranknet():
    from treerank.baselines.neural.ranknet import RankNet

    return RankNet


def _ranknet_star():
    from treerank.baselines.neural.ranknet_star import RankNetStar

    return RankNetStar


def _adarank():
    from treerank.baselines.linear.adarank import AdaRank

    return AdaRank


def _rankprop():
    from treerank.baselines.neural.rankprop import RankProp

    return RankProp


def _sortnet():
    from treerank.baselines.sortnet.sortnet import SortNet

    return SortNet


def _nested_ranker():
    from treerank.rankers.nested_ranker import NestedRanker

    return NestedRanker


def _ranksvm():
    from treerank.baselines.linear.ranksvm import RankSVM

    return RankSVM


def _rankboost():
    from treerank.baselines.stumps.rankboost import RankBoost

    return RankBoost


def _frank():
    from treerank.baselines.stumps.frank import FRank

    return FRank


def _es_rank():
    from treerank.baselines.linear.es_rank import ESRank

    return ESRank


def _iesr_rank():
    from treerank.baselines.linear.iesr_rank import IESRRank

    return IESRRank


def _iesvm_rank():
    from treerank.baselines.linear.iesvm_rank import IESVMRank

    return IESVMRank


def _coordinate_ascent():
    from treerank.baselines.linear.coordinate_ascent import CoordinateAscent

    return CoordinateAscent


def _prank():
    from treerank.baselines.linear.prank import PRank

    return PRank


def _large_margin_prank():
    from treerank.baselines.linear.large_margin_prank import LargeMarginPRank

    return LargeMarginPRank


def _quadratic_prank():
    from treerank.baselines.linear.quadratic_prank import QuadraticPRank

    return QuadraticPRank


def _lambdamart():
    from treerank.baselines.boosted.lambdamart import LambdaMART

    return LambdaMART


def _mart():
    from treerank.baselines.boosted.mart import MART

    return MART


def _streaming_ranker():
    from treerank.rankers.streaming_ranker import StreamingRanker

    return StreamingRanker


RANKERS = {
    "AdaRank": _adarank,
    "CoordinateAscent": _coordinate_ascent,
    "ESRank": _es_rank,
    "FRank": _frank,
    "IESRRank": _iesr_rank,
    "IESVMRank": _iesvm_rank,
    "LambdaMART": _lambdamart,
    "LambdaRank": _lambdarank,
    "LargeMarginPRank": _large_margin_prank,
    "ListNet": _listnet,
    "ListNetStar": _listnet_star,
    "MART": _mart,
    "NestedRanker": _nested_ranker,
    "PRank": _prank,
    "QuadraticPRank": _quadratic_prank,
    "RankBoost": _rankboost,
    "RankNet": _ranknet,
    "RankNetStar": _ranknet_star,
    "RankProp": _rankprop,
    "RankSVM": _ranksvm,
    "SortNet": _sortnet,
    "StreamingRanker": _streaming_ranker,
    "TreeDirectRanker": _tree_direct_ranker,
}


def load(path, *, parts=None):
    """Read a ranker that ``save`` wrote; no code in the file is ever run.

    Parameters
    ----------
    path : str or path
        The file.
    parts : dict from str to class, default=None
        Your own feature parts by class name, if the model has one.

    Returns
    -------
    TreeDirectRanker
        With equal predictions, bit for bit. A loss or weight of your own is not in the file: the
        ranker predicts without it, but is not to be fitted again before it is set.

    Raises
    ------
    ValueError
        The file is truncated or damaged, no treerank model, or written by a newer version.
    """
    return read_model(path, RANKERS, parts)
