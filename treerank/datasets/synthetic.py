"""Synthetic data: all generators.

Each ``make_*`` function returns ``X, y, qid``. The same arguments and ``random_state`` give the
same data. To add a generator, write its module and list it here.
"""

from treerank.datasets.gaussian_classes import GaussianClasses, make_gaussian_classes
from treerank.datasets.random_functions import make_random_network, make_random_polynomial
from treerank.datasets.web_search import make_web_search, web_search_feature_names

__all__ = [
    "GaussianClasses",
    "make_gaussian_classes",
    "make_random_network",
    "make_random_polynomial",
    "make_web_search",
    "web_search_feature_names",
]
