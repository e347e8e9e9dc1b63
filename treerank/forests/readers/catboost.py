"""CatBoost: its models in JSON, without categories, texts and embeddings.

CatBoost rounds values to floats and goes right if ``value > border``. A missing value goes to the
side that its feature has for all splits. It adds doubles, and the bias last.
"""

from array import array
from typing import Any, NoReturn

import numpy as np

from treerank.forests.building import GrowingForest
from treerank.forests.forest import Forest
from treerank.forests.thresholds import up_to_in_single

_KINDS = ("float_features", "categorical_features", "text_features", "embedding_features")


def read_catboost(document: dict[str, Any]) -> Forest:
    """Return the trees of a model, from its parsed JSON."""
    info = document["features_info"]
    features = [feature for kind in _KINDS for feature in info.get(kind) or ()]
    rules = {f["feature_index"]: _rule(f) for f in info.get("float_features") or ()}
    growing, (scale, bias) = GrowingForest(), _scale_and_bias(document)
    for tree in document.get("oblivious_trees") or ():
        _add_oblivious(growing, tree, rules)
    for tree in document.get("trees") or ():
        _add_nested(growing, tree, rules)
    if scale != 1:
        growing.values = array("d", (value * scale for value in growing.values))
    if bias != 0:
        growing.add_tree(bias)
    return growing.forest(len(features), feature_names=_names(features))


def _rule(feature: dict[str, Any]) -> tuple[int, bool]:
    """Return ``(column, missing_left)`` of a feature."""
    return feature["flat_feature_index"], feature.get("nan_value_treatment") != "AsTrue"


def _names(features: list[dict[str, Any]]) -> tuple[str, ...] | None:
    """Return the names of the columns, or None if some column has none."""
    names = {f["flat_feature_index"]: f.get("feature_id", "") for f in features}
    # Indices other than 0, 1, 2 and so on raise a KeyError: the model is refused.
    listed = tuple(str(names[index]) for index in range(len(features)))
    return listed if all(listed) else None


def _scale_and_bias(document: dict[str, Any]) -> tuple[float, float]:
    scale, bias = document.get("scale_and_bias", (1, 0))
    if isinstance(bias, list):
        if len(bias) != 1:
            raise ValueError(f"a ranker has one output; got {len(bias)}")
        (bias,) = bias
    return _number(scale), _number(bias)


def _add_oblivious(growing: GrowingForest, tree: dict[str, Any], rules: Any) -> None:
    """Add a tree with one split per level; the file begins with the last level."""
    splits, values = tree["splits"] or (), tree["leaf_values"]
    if len(values) != 1 << min(len(splits), 64):
        _refuse("one value for each leaf")
    level = [growing.add_tree()]
    for split in reversed(splits):
        arguments = _split(split, rules)
        level = [child for node in level for child in growing.split(node, *arguments)]
    for node, value in zip(level, values, strict=True):
        growing.values[node] = _number(value)


def _add_nested(growing: GrowingForest, tree: dict[str, Any], rules: Any) -> None:
    waiting = [(growing.add_tree(), tree)]
    while waiting:
        node, content = waiting.pop()
        if "split" in content:
            children = growing.split(node, *_split(content["split"], rules))
            waiting += zip(children, (content["left"], content["right"]), strict=True)
        else:
            growing.values[node] = _number(content["value"])


def _split(split: dict[str, Any], rules: Any) -> tuple[int, float, bool]:
    if split["split_type"] != "FloatFeature":
        _refuse(
            "splits by numbers only, no hashes of categories. Encode the categories as numbers "
            "before CatBoost's fit, or take the fitted CatBoostRanker as it is, as compare does"
        )
    column, missing_left = rules[split["float_feature_index"]]
    border = up_to_in_single(np.array([_number(split["border"])], dtype=np.float32))
    return column, float(border[0]), missing_left


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        _refuse("numbers as leaves, borders, scale and bias")
    return float(value)


def _refuse(rule: str) -> NoReturn:
    raise ValueError(f"A model of CatBoost must have {rule}.")
