"""Solr: trees and linear models as models of its learning to rank, JSON documents.

Solr reads values, thresholds and leaves as floats, and goes left if ``value <= threshold + 1e-6``.
From 9.2 on, missing values go to the side that each split names; before, they are 0. It has no
categories. A ``StandardNormalizer`` shifts the features of a linear model. Solr adds one product
after the other, and takes a missing value as 0.
"""

import json
from functools import partial
from typing import Any

import numpy as np

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat, LinearFile
from treerank.exports.split_rule import AT_MOST_WITH_SLACK
from treerank.exports.written import Node, Written, nested
from treerank.feature_parts.linear_component import LinearComponent

#: Name of the model, and of the store of its features.
NAME = "treerank"
_PACKAGE = "org.apache.solr.ltr"
_Words = dict[str, Any]


def write_solr(written: Written) -> str:
    """Return the model as JSON, with the side of missing values at each split."""
    sides = {"missing": "right"}, {"missing": "left"}
    return _model(written, sides, {"isNullSameAsZero": False})


def write_solr_8(written: Written) -> str:
    """Return the model as JSON without sides of missing values, which Solr 9.1 refuses."""
    return _model(written, ({}, {}), {})


def _model(written: Written, sides: tuple[_Words, _Words], params: _Words) -> str:
    trees = [{"weight": "1", "root": _root(tree, written.names, sides)} for tree in written.trees()]
    model = {
        "class": f"{_PACKAGE}.model.MultipleAdditiveTreesModel",
        "name": NAME,
        "store": NAME,
        "features": [{"name": name} for name in written.names],
        "params": params | {"trees": trees},
    }
    return json.dumps(model)


def _root(tree: list[Node], names: list[str], sides: tuple[_Words, _Words]) -> _Words:
    def split(node: Node, left: _Words, right: _Words) -> _Words:
        rule = {"feature": names[node.feature], "threshold": repr(node.threshold)}
        return {**rule, **sides[node.missing_left], "left": left, "right": right}

    return nested(tree, lambda node: {"value": repr(node.value)}, split)


def write_linear(linear: LinearComponent, names: list[str]) -> str:
    """Return a ``LinearModel`` as JSON."""
    kept, kind = linear.features, f"{_PACKAGE}.norm.StandardNormalizer"
    chosen, centers = [names[j] for j in kept.tolist()], linear.center[kept].tolist()
    features = [
        {"name": name, "norm": {"class": kind, "params": {"avg": repr(center), "std": "1.0"}}}
        for name, center in zip(chosen, centers, strict=True)
    ]
    weights = dict(zip(chosen, linear.coef[kept].tolist(), strict=True))
    document = {"class": f"{_PACKAGE}.model.LinearModel", "name": NAME, "store": NAME}
    return json.dumps(document | {"features": features, "params": {"weights": weights}})


def linear_scores(linear: LinearComponent, X: np.ndarray) -> np.ndarray:
    """Return Solr's scores of a linear model: products in single precision, added one by one."""
    total = np.zeros(len(X), dtype=np.float32)
    for j in linear.features.tolist():
        shifted = X[:, j].astype(np.float32) - np.float32(linear.center[j])
        total += np.float32(linear.coef[j]) * shifted
    return total.astype(np.float64)


_LINEAR = LinearFile(write_linear, linear_scores)
_consumer = partial(Consumer, AT_MOST_WITH_SLACK, leaf_dtype="float32", sum_dtype="float32")
SOLR = ExportFormat(write_solr, _consumer(missing="side"), max_depth=200, linear_alone=_LINEAR)
SOLR_8 = ExportFormat(write_solr_8, _consumer(missing="zero"), max_depth=200, linear_alone=_LINEAR)
