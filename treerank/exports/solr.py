"""Solr: ``MultipleAdditiveTreesModel`` of its learning to rank, a JSON document.

Solr reads values, thresholds and leaves as floats, and goes left if ``value <= threshold + 1e-6``.
From 9.2 on, missing values go to the side that each split names; before, Solr had none. It has no
categories. Other models are in :mod:`treerank.exports.solr_layers`.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from treerank.exports.comparison import AT_MOST_WITH_SLACK
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.json_text import json_pieces
from treerank.exports.solr_layers import LONE
from treerank.exports.written import Written, WrittenTree

CLASS = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"


def write_solr(written: Written) -> Iterator[str]:
    """Yield the model as JSON; its features are those of a feature store of the same names."""
    sides = [', "missing": "right"', ', "missing": "left"']
    return json_pieces(_model(written, sides, {"isNullSameAsZero": False}))


def write_solr_8(written: Written) -> Iterator[str]:
    """Yield the model as JSON without the words for missing values, which Solr 9.1 refuses."""
    return json_pieces(_model(written, ["", ""], {}))


def _model(written: Written, sides: list[str], params: dict[str, Any]) -> dict[str, Any]:
    names = [json.dumps(name) for name in written.names]
    trees = (f'{{"weight": "1", "root": {_root(tree, names, sides)}}}' for tree in written.trees())
    return {
        "class": CLASS,
        "name": "treerank",
        "features": [{"name": name} for name in written.names],
        "params": params | {"trees": trees},
    }


def _root(tree: WrittenTree, names: list[str], sides: list[str]) -> str:
    columns = tree.feature, tree.threshold, tree.missing_left, tree.value
    texts = [
        f'{{"value": "{value!r}"}}'
        if feature < 0
        else f'{{"feature": {names[feature]}, "threshold": "{threshold!r}"'
        f'{sides[missing_left]}, "left": '
        for feature, threshold, missing_left, value in zip(*columns, strict=True)
    ]
    return tree.nested(texts, ', "right": ', "}")


_consumer = partial(Consumer, AT_MOST_WITH_SLACK, leaf_dtype="float32", sum_dtype="float32")
SOLR = Format(write_solr, _consumer(missing="side"), max_depth=200, lone=LONE)
SOLR_8 = Format(write_solr_8, _consumer(missing="right"), max_depth=200, lone=LONE)
