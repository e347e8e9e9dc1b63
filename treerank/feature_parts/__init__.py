"""Feature parts: models of any kind that map a document to one or more numbers.

Any object with the methods of :class:`FeaturePart` is a feature part, and :class:`PartTraits` lists
its optional members. :class:`NewtonBoosting` turns a scikit-learn regressor into a feature part,
:class:`TransformerPart` a transformer, and :class:`TorchModule` a torch module. treerank's networks
derive from :class:`NetworkPart`, and its trees from :class:`BoostedTrees`.
"""

from treerank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
