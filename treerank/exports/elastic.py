"""Elastic's own learning to rank: the definition of a trained model, an ensemble of trees in JSON.

Elasticsearch takes the scores of queries, which are floats, as values, and compares and adds
doubles. The score of a document is a float.
"""

import json
from typing import Any

from treerank.exports.comparison import AT_MOST_OF_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written


def write_elastic(written: Written) -> str:
    """Return the definition as JSON."""
    head = {"feature_names": written.names, "target_type": "regression"}
    trees = [{"tree": head | {"tree_structure": _nodes(written, root)}} for root in written.roots]
    ensemble = {"trained_models": trees, "aggregate_output": {"weighted_sum": {}}}
    model = {"ensemble": head | ensemble}
    return json.dumps({"preprocessors": [], "trained_model": model})


def _nodes(written: Written, root: int) -> list[dict[str, Any]]:
    """Return the nodes of a tree, the root first."""
    nodes, order = written.columns, written.nodes_of(root)
    place = {node: i for i, node in enumerate(order)}
    return [
        {"node_index": i, "leaf_value": nodes["value"][node]}
        if nodes["left"][node] < 0
        else {
            "node_index": i,
            "split_feature": nodes["feature"][node],
            "threshold": nodes["threshold"][node],
            "decision_type": "lte",
            "default_left": nodes["missing_left"][node],
            "left_child": place[nodes["left"][node]],
            "right_child": place[nodes["right"][node]],
        }
        for i, node in enumerate(order)
    ]


ELASTIC = Format(write_elastic, Consumer(AT_MOST_OF_SINGLE, score_dtype="float32"))
