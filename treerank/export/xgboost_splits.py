"""Trees of XGBoost's dump in JSON: for OpenSearch and Elasticsearch LTR, and for Vespa.

The plugins read ``model/xgboost+json``, a list of trees with the keys below and no others. They
compare floats and go left if ``value < split_condition``. Missing values differ by version: those
that know ``missing`` for each split follow it; before, a missing value was 0.
"""

import json
from typing import Any

from treerank.export.written import Written, shortest


def write_xgboost_splits(written: Written) -> str:
    """Return the trees as a list of splits within splits."""
    roots = written.forest.roots.tolist()
    trees = [_tree(written, root) for root in roots]
    constant = float(written.forest.constant[0])
    if constant:
        trees.insert(0, {"nodeid": 0, "leaf": constant})
    return json.dumps(trees)


def _tree(written: Written, root: int) -> dict[str, Any]:
    nodes = written.columns
    number = {node: place for place, node in enumerate(written.nodes_of(root))}
    depth = {root: 0}
    for node in number:
        for child in (nodes["left"][node], nodes["right"][node]):
            depth[child] = depth[node] + 1

    def leaf(node: int) -> dict[str, Any]:
        return {"nodeid": number[node], "leaf": nodes["value"][node]}

    def split(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {
            "nodeid": number[node],
            "depth": depth[node],
            "split": written.names[nodes["feature"][node]],
            "split_condition": float(shortest(nodes["threshold"][node], single=True)),
            "yes": left["nodeid"],
            "no": right["nodeid"],
            "missing": left["nodeid"] if nodes["missing_left"][node] else right["nodeid"],
            "children": [left, right],
        }

    return written.nested(root, split, leaf)
