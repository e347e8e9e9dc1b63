"""Data sets: files and folders of ranking data, and a generator of synthetic data."""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names

if TYPE_CHECKING:
    from treerank.datasets.feature_logs import FeatureLog as FeatureLog
    from treerank.datasets.feature_logs import read_feature_log as read_feature_log
    from treerank.datasets.formats import read_batches as read_batches
    from treerank.datasets.judgments import read_judgments as read_judgments
    from treerank.datasets.letor import read_letor as read_letor
    from treerank.datasets.letor import write_letor as write_letor
    from treerank.datasets.parquet import read_csv as read_csv
    from treerank.datasets.parquet import read_parquet as read_parquet
    from treerank.datasets.parquet import write_parquet as write_parquet
    from treerank.datasets.qrels import Qrels as Qrels
    from treerank.datasets.ranking_data import Batches as Batches
    from treerank.datasets.trec import read_trec_qrels as read_trec_qrels
    from treerank.datasets.trec import read_trec_run as read_trec_run
    from treerank.datasets.trec import write_trec_qrels as write_trec_qrels
    from treerank.datasets.trec import write_trec_run as write_trec_run
    from treerank.datasets.web_search import make_web_search as make_web_search

_EXPORTS = {
    "Batches": "treerank.datasets.ranking_data:Batches",
    "FeatureLog": "treerank.datasets.feature_logs:FeatureLog [pyarrow]",
    "Qrels": "treerank.datasets.qrels:Qrels",
    "make_web_search": "treerank.datasets.web_search:make_web_search",
    "read_batches": "treerank.datasets.formats:read_batches",
    "read_csv": "treerank.datasets.parquet:read_csv [pyarrow]",
    "read_feature_log": "treerank.datasets.feature_logs:read_feature_log [pyarrow]",
    "read_judgments": "treerank.datasets.judgments:read_judgments",
    "read_letor": "treerank.datasets.letor:read_letor",
    "read_parquet": "treerank.datasets.parquet:read_parquet [pyarrow]",
    "read_trec_qrels": "treerank.datasets.trec:read_trec_qrels",
    "read_trec_run": "treerank.datasets.trec:read_trec_run",
    "write_letor": "treerank.datasets.letor:write_letor",
    "write_parquet": "treerank.datasets.parquet:write_parquet [pyarrow]",
    "write_trec_qrels": "treerank.datasets.trec:write_trec_qrels",
    "write_trec_run": "treerank.datasets.trec:write_trec_run",
}

if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
