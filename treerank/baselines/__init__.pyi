from treerank.baselines.boosted import MART as MART
from treerank.baselines.boosted import LambdaMART as LambdaMART
from treerank.baselines.linear.adarank import AdaRank as AdaRank
from treerank.baselines.linear.coordinate_ascent import CoordinateAscent as CoordinateAscent
from treerank.baselines.linear.es_rank import ESRank as ESRank
from treerank.baselines.linear.es_rank import IESRRank as IESRRank
from treerank.baselines.linear.es_rank import IESVMRank as IESVMRank
from treerank.baselines.linear.prank import LargeMarginPRank as LargeMarginPRank
from treerank.baselines.linear.prank import PRank as PRank
from treerank.baselines.linear.prank import QuadraticPRank as QuadraticPRank
from treerank.baselines.linear.ranksvm import RankSVM as RankSVM
from treerank.baselines.neural.listnet import ListNet as ListNet
from treerank.baselines.neural.listnet import ListNetStar as ListNetStar
from treerank.baselines.neural.ranknet import LambdaRank as LambdaRank
from treerank.baselines.neural.ranknet import RankNet as RankNet
from treerank.baselines.neural.ranknet import RankNetStar as RankNetStar
from treerank.baselines.neural.rankprop import RankProp as RankProp
from treerank.baselines.neural.sortnet import SortNet as SortNet
from treerank.baselines.stump_ranker import FRank as FRank
from treerank.baselines.stump_ranker import RankBoost as RankBoost

BASELINES: dict[str, str]
