from treerank.rankers.column_ranker import ColumnRanker as ColumnRanker
from treerank.rankers.direct_ranker import DirectRanker as DirectRanker
from treerank.rankers.forest_ranker import ForestRanker as ForestRanker
from treerank.rankers.nested_ranker import NestedRanker as NestedRanker
from treerank.rankers.ranker import Ranker as Ranker
from treerank.rankers.refreshing import refresh as refresh
from treerank.rankers.streaming_ranker import StreamingRanker as StreamingRanker
