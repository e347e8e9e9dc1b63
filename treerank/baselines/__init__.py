"""Baselines: rankers from the literature.

To add a ranker, write its module and list it in ``__init__.pyi``. A module is imported only when
its ranker is used.
"""

from treerank.lazy import exported, lazy_names

BASELINES = exported(__name__)
__all__, __getattr__, __dir__ = lazy_names(__name__)
