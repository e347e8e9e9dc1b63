"""Feature parts by name; a module is imported only when its part is asked for.

To add one, list it in ``FEATURE_PARTS`` under its short name.
"""

from inspect import signature
from typing import Any

from sklearn.base import clone
from sklearn.utils import get_tags

from treerank.checks import check_choice, closest, has_methods, quote
from treerank.lazy import load_object

FEATURE_PARTS = {
    "lightgbm": "treerank.feature_parts.trees.lightgbm:LightGBMTrees",
    "xgboost": "treerank.feature_parts.trees.xgboost:XGBoostTrees",
    "histogram": "treerank.feature_parts.histogram.trees:HistogramTrees",
    "streaming": "treerank.feature_parts.histogram.streaming:StreamingTrees",
    "mlp": "treerank.feature_parts.networks.mlp:MLP",
    "linear_network": "treerank.feature_parts.networks.polynomial:LinearNetwork",
    "linear": "treerank.feature_parts.linear:LinearModel",
    "ensemble": "treerank.feature_parts.ensemble:Ensemble",
    "stages": "treerank.feature_parts.stages:Stages",
    "polynomial": "treerank.feature_parts.networks.polynomial:Polynomial",
    "soft_trees": "treerank.feature_parts.networks.soft_tree_part:SoftTrees",
}

#: The same by the name of the class, for model files.
FEATURE_PART_CLASSES = {path.partition(":")[2]: path for path in FEATURE_PARTS.values()} | {
    "RefitTrees": "treerank.feature_parts.refit:RefitTrees",
}


def feature_part_class(name: str) -> type[Any]:
    """Return the class of a feature part.

    Examples
    --------
    >>> feature_part_class("lightgbm").__name__
    'LightGBMTrees'
    """
    check_choice("name", name, FEATURE_PARTS)
    found: type[Any] = load_object(FEATURE_PARTS[name])
    return found


def _is_part(given: Any) -> bool:
    """Tell whether something has the methods of a feature part, and its ``fit`` their arguments."""
    try:
        signature(given.fit).bind("X", "objective", validation=None)
    except (AttributeError, TypeError):
        return False
    return has_methods(given, "transform", "get_params")


def make_feature_part(feature_part: Any) -> Any:
    """Return a new feature part of a name; an instance is copied, unfitted; a list is an ensemble.

    Examples
    --------
    >>> make_feature_part("lightgbm")
    LightGBMTrees()
    """
    if isinstance(feature_part, list | tuple) and feature_part:
        parts = [make_feature_part(part) for part in feature_part]
        return feature_part_class("ensemble")(parts)
    if isinstance(feature_part, str) and feature_part in FEATURE_PARTS:
        return feature_part_class(feature_part)()
    if not _is_part(feature_part):
        raise ValueError(
            "feature_part must have fit(X, objective, validation=None) and transform, or be a list "
            f"of parts or one of {sorted(FEATURE_PARTS)}; got {quote(feature_part)}."
            f"{closest(feature_part, FEATURE_PARTS)}"
        )
    return clone(feature_part)


def reads_sparse(part: Any) -> bool:
    """Tell whether a feature part reads sparse matrices, as its tag ``input_tags.sparse`` says.

    Examples
    --------
    >>> reads_sparse(make_feature_part("lightgbm")), reads_sparse(make_feature_part("mlp"))
    (True, False)
    """
    return has_methods(part, "__sklearn_tags__") and bool(get_tags(part).input_tags.sparse)
