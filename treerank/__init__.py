"""Learning to rank by comparing two documents at a time, with any function approximator.

Start with :class:`TreeDirectRanker`. The rankers of the literature are in
:mod:`treerank.baselines`, other rankers in :mod:`treerank.rankers`, trees, networks and other
feature parts in :mod:`treerank.feature_parts`, metrics in :mod:`treerank.metrics`, readers and
synthetic data in :mod:`treerank.datasets`, losses and weights in :mod:`treerank.objectives`,
comparisons in :mod:`treerank.evaluation`, statistical tests in :mod:`treerank.statistics`, plots in
:mod:`treerank.plots`, explanations and failures in :mod:`treerank.inspection`, pages that show them
in :mod:`treerank.reports`, files for other programs in :mod:`treerank.exports`, their models in
:mod:`treerank.imports`, fits by several processes in :mod:`treerank.distributed`, learning from
clicks in :mod:`treerank.clicks`, and result lists that are diverse or explore in
:mod:`treerank.results`.

What a package exports is public. Modules are imported when a name is asked for, so torch and
xgboost are loaded by those who use them.
"""

from typing import TYPE_CHECKING

from treerank.lazy import lazy_names
from treerank.numerics.waiting import spin_briefly

if TYPE_CHECKING:
    from treerank.datasets.feature_logs import read_feature_log as read_feature_log
    from treerank.datasets.formats import read_batches as read_batches
    from treerank.datasets.judgments import read_judgments as read_judgments
    from treerank.datasets.letor import read_letor as read_letor
    from treerank.datasets.parquet import read_csv as read_csv
    from treerank.datasets.parquet import read_parquet as read_parquet
    from treerank.datasets.web_search import make_web_search as make_web_search
    from treerank.evaluation.running import compare as compare
    from treerank.exports.exporting import export as export
    from treerank.feature_parts.engines.lightgbm import LightGBMTrees as LightGBMTrees
    from treerank.feature_parts.engines.xgboost import XGBoostTrees as XGBoostTrees
    from treerank.feature_parts.ensembles.ensemble import Ensemble as Ensemble
    from treerank.feature_parts.histogram.trees import HistogramTrees as HistogramTrees
    from treerank.feature_parts.networks.mlp import MLP as MLP
    from treerank.feature_parts.soft_trees.part import SoftTrees as SoftTrees
    from treerank.files.checkpoint import checkpointing as checkpointing
    from treerank.imports.reading import read_forest as read_forest
    from treerank.metrics.graded_metrics import NDCG as NDCG
    from treerank.metrics.registry import get_metric as get_metric
    from treerank.model_selection import QueryKFold as QueryKFold
    from treerank.model_selection import QueryShuffleSplit as QueryShuffleSplit
    from treerank.model_selection import QueryTimeSplit as QueryTimeSplit
    from treerank.objectives.factory import make_objective as make_objective
    from treerank.progress_bar import show_progress as show_progress
    from treerank.rankers.tree_direct_ranker import TreeDirectRanker as TreeDirectRanker
    from treerank.registry import load as load
    from treerank.reports.reporting import report as report

_EXPORTS = {
    "Ensemble": "treerank.feature_parts.ensembles.ensemble:Ensemble",
    "HistogramTrees": "treerank.feature_parts.histogram.trees:HistogramTrees",
    "LightGBMTrees": "treerank.feature_parts.engines.lightgbm:LightGBMTrees",
    "MLP": "treerank.feature_parts.networks.mlp:MLP [torch]",
    "NDCG": "treerank.metrics.graded_metrics:NDCG",
    "QueryKFold": "treerank.model_selection:QueryKFold",
    "QueryShuffleSplit": "treerank.model_selection:QueryShuffleSplit",
    "QueryTimeSplit": "treerank.model_selection:QueryTimeSplit",
    "SoftTrees": "treerank.feature_parts.soft_trees.part:SoftTrees [torch]",
    "TreeDirectRanker": "treerank.rankers.tree_direct_ranker:TreeDirectRanker",
    "XGBoostTrees": "treerank.feature_parts.engines.xgboost:XGBoostTrees",
    "checkpointing": "treerank.files.checkpoint:checkpointing",
    "compare": "treerank.evaluation.running:compare",
    "export": "treerank.exports.exporting:export",
    "get_metric": "treerank.metrics.registry:get_metric",
    "load": "treerank.registry:load",
    "make_objective": "treerank.objectives.factory:make_objective",
    "make_web_search": "treerank.datasets.web_search:make_web_search",
    "read_batches": "treerank.datasets.formats:read_batches",
    "read_csv": "treerank.datasets.parquet:read_csv [pyarrow]",
    "read_feature_log": "treerank.datasets.feature_logs:read_feature_log [pyarrow]",
    "read_forest": "treerank.imports.reading:read_forest",
    "read_judgments": "treerank.datasets.judgments:read_judgments",
    "read_letor": "treerank.datasets.letor:read_letor",
    "read_parquet": "treerank.datasets.parquet:read_parquet [pyarrow]",
    "report": "treerank.reports.reporting:report",
    "show_progress": "treerank.progress_bar:show_progress",
}

spin_briefly()  # before anything loads a runtime of threads
__version__ = "0.1.0"
if not TYPE_CHECKING:  # type checkers would take any name for one that __getattr__ knows
    __getattr__, __dir__ = lazy_names(__name__, _EXPORTS)
    __all__ = __dir__()
