"""Feature parts by name; the module of an engine is imported only when its part is asked for.

To add one, write a function that imports and returns its class and list it, under its short
name and its class's name.
"""

from sklearn.base import clone
from sklearn.utils import get_tags


def _lightgbm_trees():
    from treerank.feature_parts.engines.lightgbm import LightGBMTrees

    return LightGBMTrees


def _xgboost_trees():
    from treerank.feature_parts.engines.xgboost import XGBoostTrees

    return XGBoostTrees


def _histogram_trees():
    from treerank.feature_parts.histogram.trees import HistogramTrees

    return HistogramTrees


def _streaming_trees():
    from treerank.feature_parts.histogram.streaming import StreamingTrees

    return StreamingTrees


def _mlp():
    from treerank.feature_parts.networks.mlp import MLP

    return MLP


def _linear():
    from treerank.feature_parts.networks.linear import Linear

    return Linear


def _polynomial():
    from treerank.feature_parts.networks.polynomial import Polynomial

    return Polynomial


def _soft_trees():
    from treerank.feature_parts.soft_trees.part import SoftTrees

    return SoftTrees


FEATURE_PARTS = {
    "lightgbm": _lightgbm_trees,
    "xgboost": _xgboost_trees,
    "histogram": _histogram_trees,
    "streaming": _streaming_trees,
    "mlp": _mlp,
    "linear": _linear,
    "polynomial": _polynomial,
    "soft_trees": _soft_trees,
}

#: The same by class, for model files.
FEATURE_PART_CLASSES = {
    "LightGBMTrees": _lightgbm_trees,
    "XGBoostTrees": _xgboost_trees,
    "HistogramTrees": _histogram_trees,
    "StreamingTrees": _streaming_trees,
    "MLP": _mlp,
    "Linear": _linear,
    "Polynomial": _polynomial,
    "SoftTrees": _soft_trees,
}


def make_feature_part(feature_part):
    """Return a new feature part of a name; an instance is copied, unfitted.

    Examples
    --------
    >>> make_feature_part("lightgbm")
    LightGBMTrees()
    """
    if isinstance(feature_part, str) and feature_part in FEATURE_PARTS:
        return FEATURE_PARTS[feature_part]()()
    if isinstance(feature_part, str) or not hasattr(feature_part, "transform"):
        raise ValueError(
            "feature_part must have fit and transform or be one of "
            f"{sorted(FEATURE_PARTS)}; got {feature_part!r}."
        )
    return clone(feature_part)


def reads_sparse(part):
    """Tell whether a feature part reads sparse matrices, as its tag ``input_tags.sparse`` says.

    Examples
    --------
    >>> reads_sparse(make_feature_part("lightgbm")), reads_sparse(make_feature_part("histogram"))
    (True, False)
    """
    return hasattr(part, "__sklearn_tags__") and get_tags(part).input_tags.sparse
