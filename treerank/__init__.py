"""Learning to rank by comparing two documents at a time, with any function approximator.

Start with :class:`TreeDirectRanker`. The rankers of the literature are in
:mod:`treerank.baselines`, other rankers in :mod:`treerank.rankers`, trees, networks and other
feature parts in :mod:`treerank.feature_parts`, metrics in :mod:`treerank.metrics`, readers and
synthetic data in :mod:`treerank.datasets`, losses and weights in :mod:`treerank.objectives`,
comparisons in :mod:`treerank.evaluation`, statistical tests in :mod:`treerank.statistics`,
explanations and failures in :mod:`treerank.inspection`, pages that show them in
:mod:`treerank.reports`, files for other programs in :mod:`treerank.exports`, their models in
:func:`read_forest`, fits to data frames of Dask and Spark in :mod:`treerank.distributed`,
learning from clicks in :mod:`treerank.clicks`, readers of what search engines log in
:mod:`treerank.search_engines`, and lists that are diverse, fused or sampled in
:mod:`treerank.reranking`.

What a package exports is public. Modules are imported when a name is asked for, so torch and
xgboost are loaded by those who use them.
"""

from treerank.lazy import lazy_names
from treerank.numerics.waiting import spin_briefly
from treerank.renamed import answer_old_modules

spin_briefly()  # before anything loads a runtime of threads
answer_old_modules()
__version__ = "0.1.0"
__all__, __getattr__, __dir__ = lazy_names(__name__)
