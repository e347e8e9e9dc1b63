from treerank.datasets.feature_logs import FeatureLog as FeatureLog  # pyarrow
from treerank.datasets.feature_logs import read_feature_log as read_feature_log  # pyarrow
from treerank.datasets.formats import read_batches as read_batches
from treerank.datasets.judgments import read_judgments as read_judgments
from treerank.datasets.letor import read_letor as read_letor
from treerank.datasets.letor import write_letor as write_letor
from treerank.datasets.parquet import read_csv as read_csv  # pyarrow
from treerank.datasets.parquet import read_parquet as read_parquet  # pyarrow
from treerank.datasets.parquet import write_parquet as write_parquet  # pyarrow
from treerank.datasets.qrels import Qrels as Qrels
from treerank.datasets.ranking_data import Batches as Batches
from treerank.datasets.trec import read_trec_qrels as read_trec_qrels
from treerank.datasets.trec import read_trec_run as read_trec_run
from treerank.datasets.trec import write_trec_qrels as write_trec_qrels
from treerank.datasets.trec import write_trec_run as write_trec_run
from treerank.datasets.web_search import make_web_search as make_web_search
