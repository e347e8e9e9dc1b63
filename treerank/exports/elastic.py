"""Elastic's own learning to rank: the definition of a trained model, an ensemble of trees in JSON.

Elasticsearch takes the scores of queries, which are floats, as values, and compares and adds
doubles. The score of a document is a float, to which learning to rank adds a constant first, so
that none is below 0.
"""

import json
from collections.abc import Iterator

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.json_text import json_pieces
from treerank.exports.split_rule import AT_MOST_OF_SINGLE
from treerank.exports.written import Node, Written


def write_elastic(written: Written) -> Iterator[str]:
    """Yield the definition as JSON."""
    head = {"feature_names": written.names, "target_type": "regression"}
    begin = json.dumps({"tree": head})[:-2]
    trees = (f'{begin}, "tree_structure": [{_nodes(tree)}]}}}}' for tree in written.trees())
    ensemble = {"trained_models": trees, "aggregate_output": {"weighted_sum": {}}}
    return json_pieces({"preprocessors": [], "trained_model": {"ensemble": head | ensemble}})


def _nodes(tree: list[Node]) -> str:
    """Return the nodes of a tree, the root first."""
    return ", ".join(
        f'{{"node_index": {i}, "leaf_value": {value!r}}}'
        if feature < 0
        else f'{{"node_index": {i}, "split_feature": {feature}, "threshold": {threshold!r}, '
        f'"decision_type": "lte", "default_left": {"true" if missing_left else "false"}, '
        f'"left_child": {i + 1}, "right_child": {right}}}'
        for i, feature, threshold, right, missing_left, value, _, _ in tree
    )


ELASTIC = ExportFormat(
    write_elastic, Consumer(AT_MOST_OF_SINGLE, score_dtype="float32", lifts_least=True)
)
