"""Feature parts: functions from a document to one or more numbers, of any kind.

Any object with the methods of :class:`FeaturePart` is one, and :class:`PartTraits` says what else
it may have. :class:`NewtonBoosting` makes one of a regressor of scikit-learn,
:class:`TransformerPart` of a transformer, :class:`TorchModule` of a module of torch. Networks of
this package derive from :class:`NetworkPart`, trees from :class:`BoostedTrees`.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
