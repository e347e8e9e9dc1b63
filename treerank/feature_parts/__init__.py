"""Feature parts: functions from a document to one or more numbers, of any kind.

To write a part that is a torch network, derive it from :class:`NetworkPart`; trees of LightGBM, of
XGBoost and of this package share :class:`BoostedTrees`.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
