"""Synthetic data: every generator under one roof.

Each ``make_*`` function returns ``X, y, qid``, checks its arguments, and depends on nothing but
its ``random_state``. To add one, write its module and list it here.
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
