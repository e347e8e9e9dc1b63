"""Learning to rank: trees, linear models and networks under one scikit-learn API.

Start with :class:`TreeDirectRanker`. The packages are:

* :mod:`treerank.rankers`: rankers and what they have in common;
* :mod:`treerank.baselines`: rankers from the literature;
* :mod:`treerank.feature_parts`: trees, networks, linear models and other feature parts;
* :mod:`treerank.objectives`: losses and pair weights;
* :mod:`treerank.metrics`: ranking metrics;
* :mod:`treerank.datasets`: readers of files, and synthetic data;
* :mod:`treerank.search_engines`: readers of judgment lists and of the logs of search engines;
* :mod:`treerank.clicks`: learning from clicks;
* :mod:`treerank.evaluation`: comparisons of rankers;
* :mod:`treerank.statistics`: significance tests and confidence intervals;
* :mod:`treerank.inspection`: explanations, importance of features, and errors of rankers;
* :mod:`treerank.reports`: HTML reports;
* :mod:`treerank.exports`: model files for other programs (:func:`read_forest` reads their models);
* :mod:`treerank.distributed`: fits to data frames of Dask and Spark;
* :mod:`treerank.reranking`: diverse, sampled and fused lists.

All names that a package exports are public. A module is imported when one of its names is first
used, so torch and xgboost are loaded only if you use them.
"""

from treerank.lazy import lazy_names
from treerank.numerics.waiting import spin_briefly
from treerank.renamed import answer_old_modules

spin_briefly()  # before anything loads a runtime of threads
answer_old_modules()
__version__ = "0.1.0"
__all__, __getattr__, __dir__ = lazy_names(__name__)
