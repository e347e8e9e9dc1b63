"""Dumps: trees as JSON, as search engines store them, with less metadata than a model file.

XGBoost's ``get_dump(dump_format="json")`` is a list of trees. Vespa reads it, and so do the plugins
of Elasticsearch and OpenSearch, as ``model/xgboost+json``. It lacks the ``base_score``, a constant
in all scores, the weights of DART's trees, and the features that no tree uses. LightGBM's
``dump_model()``, which Vespa reads, is complete.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from treerank.checks import quote
from treerank.documents.columns import name_with_spaces
from treerank.forests.building import GrowingForest
from treerank.forests.forest import CategorySets, Forest
from treerank.forests.readers.lightgbm import averaged, forest_of_trees, with_levels, with_signs
from treerank.forests.thresholds import below_in_single

_NUMBERED = re.compile("f([0-9]{1,9})")
#: Bits of a decision type of LightGBM.
_MISSING = {"None": 0, "Zero": 4, "NaN": 8}
_IS_CATEGORY, _IS_DEFAULT_LEFT = 1, 2
_MOST_CODE = 2**24


def read_plugin_model(document: dict[str, Any], read: Callable[[Any], Forest]) -> Forest:
    """Return the trees of an upload request for a plugin, or of the response that shows the model.

    ``read`` parses the definition of the model: a text, or its decoded JSON.
    """
    stored = document.get("_source", document)
    model, names = stored["model"], None
    features = model.get("feature_set", {}).get("features")
    if features is not None:
        names = tuple(feature["name"] for feature in features)
    model = model.get("model", model)
    kind, definition = model["type"], model["definition"]
    if kind == "model/linear":
        _refuse("trees, not the factors of a linear model")
    normalizers = model.get("feature_normalizers")
    if normalizers:
        _refuse(
            f"no feature_normalizers, which change values before the trees see them; got some for "
            f"{quote([*normalizers])}. Delete them from the file, and give the ranker columns that "
            "are normalized"
        )
    if isinstance(definition, str) and kind != "model/ranklib":
        definition = json.loads(definition)
    forest = read(definition)
    if names is None:
        return forest
    if kind == "model/ranklib":  # whose features are numbered as in the feature set
        if forest.n_features > len(names):
            _refuse(
                f"features up to {len(names)}, as its feature set does; got {forest.n_features}"
            )
        return replace(forest, n_features=len(names), feature_names=names, has_all_columns=True)
    return with_columns(forest, names)


def with_columns(forest: Forest, names: tuple[str, ...]) -> Forest:
    """Return a forest whose features are the named columns, in this order.

    LightGBM writes an underscore for each space of a name.
    """
    splits = np.flatnonzero(forest.feature >= 0)
    used, number = np.unique(forest.feature[splits], return_inverse=True)
    levels, signs = forest.levels or {}, forest.monotone_constraints or {}
    name_of = {}
    for feature in {*used.tolist(), *levels, *signs}:
        name = forest.feature_names[feature] if forest.feature_names else f"f{feature}"
        name_of[feature] = name if name in names else name_with_spaces(name, names) or name
    split_names = [name_of[feature] for feature in used.tolist()]
    unknown = [name for name in split_names if name not in names]
    if unknown:
        raise ValueError(
            f"Trees must have features among {', '.join(names):.200}; got "
            f"{', '.join(unknown):.200}."
        )
    columns = [names.index(name) for name in split_names]

    def by_column(values: dict[int, Any]) -> dict[int, Any] | None:
        column_of = {j: names.index(name_of[j]) for j in values if name_of[j] in names}
        return {column: values[j] for j, column in column_of.items()} or None

    feature = forest.feature.copy()
    feature[splits] = np.array(columns, dtype=np.int32)[number]
    return replace(
        forest,
        n_features=len(names),
        feature=feature,
        feature_names=names,
        has_all_columns=True,
        levels=by_column(levels),
        monotone_constraints=by_column(signs),
    )


def read_xgboost_dump(document: Any) -> Forest:
    """Return the trees of a dump; their scores are XGBoost's margins minus ``base_score``.

    If all features are called f0, f1, ..., these are the numbers of the columns; otherwise the
    columns are the features that the trees use, in alphabetical order.

    Examples
    --------
    >>> leaves = [{"nodeid": 1, "leaf": -1.0}, {"nodeid": 2, "leaf": 1.0}]
    >>> split = {"split": "price", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1}
    >>> read_xgboost_dump([{"nodeid": 0, **split, "children": leaves}]).feature_names
    ('price',)
    """
    trees = document["splits"] if isinstance(document, dict) else document
    if not isinstance(trees, list) or not all(isinstance(tree, dict) for tree in trees):
        _refuse("a list of trees")
    names = sorted({node["split"] for tree in trees for node in _nodes(tree) if "split" in node})
    if not all(isinstance(name, str) for name in names):
        _refuse("texts as names of features")
    numbers = [_NUMBERED.fullmatch(name) for name in names]
    are_numbered = all(numbers)
    columns = {
        name: int(number[1]) if are_numbered and number is not None else j
        for j, (name, number) in enumerate(zip(names, numbers, strict=True))
    }
    growing = GrowingForest()
    of_node: dict[int, int] = {}
    sets: list[np.ndarray] = []
    for tree in trees:
        waiting = [(growing.add_tree(), tree)]
        while waiting:
            node, split = waiting.pop()
            if "leaf" in split:
                growing.values[node] = _single(split["leaf"])
                continue
            if "weight" in split:
                _refuse("trees, not the weights of a linear model (booster 'gblinear')")
            if "split_condition" not in split:
                _refuse("splits with a split_condition: train without features of type 'i'")
            children = {child["nodeid"]: child for child in split["children"]}
            yes, no, missing = split["yes"], split["no"], split.get("missing", split["yes"])
            if len(children) != 2 or {yes, no} != {*children} or missing not in children:
                _refuse("two children for each split: yes, no, and one of them missing")
            condition = split["split_condition"]
            is_set = isinstance(condition, list)
            threshold = 0.0 if is_set else _single(condition)
            left, right = growing.split(node, columns[split["split"]], threshold, missing == yes)
            if is_set:
                of_node[node] = len(sets)
                sets.append(np.unique([_code(code) for code in condition]).astype(np.float64))
            waiting += [(right, children[no]), (left, children[yes])]
    forest = growing.forest(max(columns.values(), default=-1) + 1, sum_dtype="float32")
    is_split = ~forest.is_leaf
    largest, never = below_in_single(forest.threshold.astype(np.float32))
    if (never & is_split).any():
        _refuse("thresholds above minus infinity")
    by_set = np.zeros(forest.n_nodes, dtype=bool)
    by_set[list(of_node)] = True
    forest = replace(
        forest,
        threshold=np.where(is_split & ~by_set, largest, 0.0),
        feature_names=None if are_numbered else tuple(names),
        has_all_columns=False,
        categories=_sets(forest.n_nodes, of_node, sets),
    )
    return forest


def read_lightgbm_dump(document: dict[str, Any]) -> Forest:
    """Return the trees of a dump, with the scores of ``predict(X, raw_score=True)``.

    A random forest is the mean of its trees, up to rounding, where raw scores are their sum.
    """
    n_features = int(document["max_feature_idx"]) + 1
    n_outputs = int(document["num_tree_per_iteration"])
    names = tuple(document["feature_names"])
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        _refuse("a name for each feature")
    trees = [_lightgbm_tree(tree["tree_structure"], n_features) for tree in document["tree_info"]]
    if not trees or len(trees) % n_outputs:
        _refuse("the same number of trees for each class")
    forest = forest_of_trees(trees, n_features, n_outputs, names)
    if document.get("average_output"):
        forest = averaged(forest)
    forest = with_signs(forest, document.get("monotone_constraints") or [])
    levels = document.get("pandas_categorical") or []
    infos = [document.get("feature_infos", {}).get(name) for name in names]
    codes = [info.get("values", []) if info else [] for info in infos]
    ranges = [
        (float(info["min_value"]), float(info["max_value"])) if info and not known else None
        for info, known in zip(infos, codes, strict=True)
    ]
    return with_levels(forest, levels, codes, ranges)


def _lightgbm_tree(root: dict[str, Any], n_features: int) -> dict[str, np.ndarray]:
    """Return the arrays of one tree, parents first, for :func:`forest_of_trees`.

    Refuses splits of features that do not exist, and unknown decisions.
    """
    rows: list[list[float]] = []
    sets: list[np.ndarray] = []
    waiting = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        number = len(rows)
        if parent >= 0:
            rows[parent][2 + side] = number
        if "split_feature" not in node:
            if "leaf_const" in node:  # of a linear_tree
                _refuse("no linear functions in leaves to be a forest")
            rows.append([-1, 0.0, -1, -1, 0, _number(node["leaf_value"]), -1])
            continue
        feature, of_node, threshold = int(node["split_feature"]), -1, node["threshold"]
        if not 0 <= feature < n_features:
            _refuse("features of splits among its features")
        decision = _MISSING[node["missing_type"]] | (_IS_DEFAULT_LEFT * bool(node["default_left"]))
        if node["decision_type"] == "==":
            of_node = len(sets)
            codes = [_code(int(code)) for code in str(threshold).split("||") if code]
            sets.append(np.unique(codes).astype(np.float64))
            decision, threshold = _IS_CATEGORY, 0.0
        elif node["decision_type"] != "<=":
            _refuse("decisions '<=' and '=='")
        rows.append([feature, _number(threshold), -1, -1, decision, 0.0, of_node])
        waiting += [(node["right_child"], number, 1), (node["left_child"], number, 0)]
    names = "feature", "threshold", "left", "right", "decision", "values", "of_node"
    columns = zip(names, np.array(rows).T, strict=True)
    return {
        name: column if name in ("threshold", "values") else column.astype(np.int64)
        for name, column in columns
    } | {
        "set_sizes": np.array([len(codes) for codes in sets], dtype=np.int64),
        "codes": np.concatenate([np.zeros(0), *sets]),
    }


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.get("children", [])


def _sets(n_nodes: int, of_node: dict[int, int], sets: list[np.ndarray]) -> CategorySets | None:
    if not sets:
        return None
    starts = np.append(0, np.cumsum([len(codes) for codes in sets])).astype(np.int64)
    numbers = np.array([of_node.get(node, -1) for node in range(n_nodes)], dtype=np.int32)
    return CategorySets(numbers, starts, np.concatenate(sets), "single")


def _single(value: Any) -> float:
    """Return a number rounded to single precision, as XGBoost stores it."""
    with np.errstate(over="ignore"):
        return float(np.float32(_number(value)))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        _refuse(f"numbers; got {value!r:.50}")
    return float(value)


def _code(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST_CODE:
        _refuse(f"codes of categories from 0 to {_MOST_CODE - 1}; got {value!r:.50}")
    return value


def _refuse(rule: str) -> NoReturn:
    raise ValueError(f"A dump of trees must have {rule}.")
