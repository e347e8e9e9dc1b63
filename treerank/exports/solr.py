"""Solr: ``MultipleAdditiveTreesModel`` of its learning to rank, a JSON document.

Solr reads values, thresholds and leaves as floats, and goes left if ``value <= threshold + 1e-6``.
It knows neither missing values nor categories. Other models are in
:mod:`treerank.exports.solr_layers`.
"""

import json
from collections.abc import Iterator

from treerank.exports.comparison import AT_MOST_WITH_SLACK
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.json_text import json_pieces
from treerank.exports.solr_layers import LONE
from treerank.exports.written import Written, WrittenTree

CLASS = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"


def write_solr(written: Written) -> Iterator[str]:
    """Yield the model as JSON; its features are those of a feature store of the same names."""
    names = [json.dumps(name) for name in written.names]
    trees = (f'{{"weight": "1", "root": {_root(tree, names)}}}' for tree in written.trees())
    model = {
        "class": CLASS,
        "name": "treerank",
        "features": [{"name": name} for name in written.names],
        "params": {"trees": trees},
    }
    return json_pieces(model)


def _root(tree: WrittenTree, names: list[str]) -> str:
    texts = [
        f'{{"value": "{value!r}"}}'
        if feature < 0
        else f'{{"feature": {names[feature]}, "threshold": "{threshold!r}", "left": '
        for feature, threshold, value in zip(tree.feature, tree.threshold, tree.value, strict=True)
    ]
    return tree.nested(texts, ', "right": ', "}")


SOLR = Format(
    write_solr,
    Consumer(AT_MOST_WITH_SLACK, "right", leaf_dtype="float32", sum_dtype="float32"),
    max_depth=200,
    lone=LONE,
)
