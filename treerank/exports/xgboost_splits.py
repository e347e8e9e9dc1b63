"""Trees of XGBoost's dump in JSON, for the plugins of OpenSearch and Elasticsearch.

The plugins read ``model/xgboost+json``, a list of trees with the keys below and no others. They
compare floats and go left if ``value < split_condition``. Missing values differ by version: in
OpenSearch from 3.8 on, and in Elasticsearch's plugin since February 2024, they go to ``missing``;
in OpenSearch 3.2 to 3.7 they go right; before, a missing value was 0.

A linear model alone is a ``model/linear``: the coefficients of the features, without offsets. So
all scores are lower by the same number.
"""

import json
from functools import partial
from typing import Any

import numpy as np

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat, LinearFile
from treerank.exports.split_rule import BELOW_SINGLE
from treerank.exports.written import Node, Written, nested
from treerank.feature_parts.linear_component import LinearComponent


def write_xgboost_splits(written: Written) -> str:
    """Return the trees as a JSON list of splits that contain their children."""
    return json.dumps([_tree(tree, written.names) for tree in written.trees()])


def _tree(tree: list[Node], names: list[str]) -> dict[str, Any]:
    def split(node: Node, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        yes, no = node.number + 1, node.right
        return {
            "nodeid": node.number,
            "depth": node.depth,
            "split": names[node.feature],
            "split_condition": node.threshold,
            "yes": yes,
            "no": no,
            "missing": yes if node.missing_left else no,
            "children": [left, right],
        }

    return nested(tree, lambda node: {"nodeid": node.number, "leaf": node.value}, split)


def write_linear(linear: LinearComponent, names: list[str]) -> str:
    """Return the coefficients by name of the feature, as JSON."""
    return json.dumps({names[j]: float(linear.coef[j]) for j in linear.features.tolist()})


def linear_scores(linear: LinearComponent, X: np.ndarray) -> np.ndarray:
    """Return the plugin's scores, added in single precision, plus the offset that it omits."""
    coef, scores = linear.coef.astype(np.float32), np.zeros(len(X), dtype=np.float32)
    for j in range(len(coef)):
        scores += coef[j] * X[:, j].astype(np.float32)
    return scores.astype(np.float64) + linear.offset.sum()


_consumer = partial(Consumer, BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32")
_LINEAR = LinearFile(write_linear, linear_scores)
_format = partial(ExportFormat, write_xgboost_splits, max_depth=200, linear_alone=_LINEAR)
BY_SPLIT = _format(_consumer(missing="side"))
RIGHT = _format(_consumer(missing="right"))
ZEROS = _format(_consumer(missing="zero"))
