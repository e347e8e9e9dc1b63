"""Vespa: the dump of a LightGBM model in JSON, which Vespa turns into a ranking expression.

Vespa's search nodes keep thresholds and leaves of large models as floats, and compare the value, a
double, with ``value < threshold``. They add doubles.
"""

import json
from typing import Any

from treerank.exports.comparison import BELOW_SINGLE_THRESHOLD
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written


def write_vespa(written: Written) -> str:
    """Return the model as JSON."""
    nodes, sets = written.columns, written.sets
    codes: dict[int, list[int]] = {}
    for node, own in sets.items():
        codes.setdefault(nodes["feature"][node], []).extend(map(int, own))
    place = {
        feature: {code: i for i, code in enumerate(sorted(set(codes[feature])))}
        for feature in sorted(codes)
    }

    def leaf(node: int) -> dict[str, Any]:
        return {"leaf_value": nodes["value"][node]}

    def split(node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        feature, rule = nodes["feature"][node], {"decision_type": "<="}
        rule["threshold"] = nodes["threshold"][node]
        if node in sets:
            places = (str(place[feature][int(code)]) for code in sets[node])
            rule = {"decision_type": "==", "threshold": "||".join(places)}
        return {
            "split_feature": feature,
            **rule,
            "default_left": nodes["missing_left"][node],
            "missing_type": "NaN",
            "left_child": left,
            "right_child": right,
        }

    names = written.names
    return json.dumps(
        {
            "name": "tree",
            "version": "v4",
            "objective": "lambdarank",
            "feature_names": names,
            "feature_infos": {names[feature]: {"values": [*place[feature]]} for feature in place},
            "tree_info": [
                {"tree_index": i, "tree_structure": written.nested(root, split, leaf)}
                for i, root in enumerate(written.roots)
            ],
            "pandas_categorical": [[*place[feature]] for feature in place],
        }
    )


VESPA = Format(
    write_vespa,
    Consumer(BELOW_SINGLE_THRESHOLD, leaf_dtype="float32", categories="exact"),
    max_depth=200,
)
