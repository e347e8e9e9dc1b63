"""Baselines: the rankers of the literature, and the base classes that they derive from.

To add a ranker, write its module and list it in ``__init__.pyi``. A module is imported only when
its ranker is asked for.
"""

from treerank.lazy import exported, lazy_names

#: No rankers by themselves.
BASE_CLASSES = {"BoostedRanker", "LinearRanker", "NeuralRanker", "StumpRanker"}
BASELINES = {name: path for name, path in exported(__name__).items() if name not in BASE_CLASSES}
__all__, __getattr__, __dir__ = lazy_names(__name__)
