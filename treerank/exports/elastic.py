"""Elastic's own learning to rank: the definition of a trained model, an ensemble of trees in JSON.

Elasticsearch takes the scores of queries, which are floats, as values, and compares and adds
doubles. The score of a document is a float, to which learning to rank adds a constant first, so
that none is below 0.
"""

import json
from typing import Any

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import AT_MOST_OF_SINGLE
from treerank.exports.written import Node, Written


def write_elastic(written: Written) -> str:
    """Return the definition as JSON."""
    head = {"feature_names": written.names, "target_type": "regression"}
    trees = [
        {"tree": {**head, "tree_structure": [_node(node) for node in tree]}}
        for tree in written.trees()
    ]
    ensemble = {**head, "trained_models": trees, "aggregate_output": {"weighted_sum": {}}}
    return json.dumps({"preprocessors": [], "trained_model": {"ensemble": ensemble}})


def _node(node: Node) -> dict[str, Any]:
    if node.feature < 0:
        return {"node_index": node.number, "leaf_value": node.value}
    return {
        "node_index": node.number,
        "split_feature": node.feature,
        "threshold": node.threshold,
        "decision_type": "lte",
        "default_left": node.missing_left,
        "left_child": node.number + 1,
        "right_child": node.right,
    }


ELASTIC = ExportFormat(
    write_elastic, Consumer(AT_MOST_OF_SINGLE, score_dtype="float32", lifts_least=True)
)
