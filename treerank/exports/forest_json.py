"""JSON of the forest itself, for programs of one's own.

The document has the attributes of :class:`~treerank.forests.forest.Forest`. A document goes left
if its value is at most ``threshold``, both in double precision, or if it is missing (NaN) and
``missing_left`` is true. Its score is ``constant`` plus the values of its leaves, tree after tree.
Infinite thresholds are the texts "inf" and "-inf". With a ``line``, ``coef * value + offset`` is
added for each feature whose value is not missing.
"""

import json
import math
from typing import Any

import numpy as np

from treerank.exports.format import Format
from treerank.exports.written import Written
from treerank.imports.forest_json import FORMAT


def write_forest_json(written: Written) -> str:
    """Return the arrays of the forest."""
    forest = written.forest
    sets = forest.categories
    line = written.line
    added = {} if line is None else {"coef": line.coef.tolist(), "offset": line.offset.tolist()}
    return json.dumps(
        {
            "format": FORMAT,
            "feature_names": written.names,
            "roots": forest.roots.tolist(),
            "feature": forest.feature.tolist(),
            "threshold": _numbers(forest.threshold),
            "left": forest.left.tolist(),
            "right": forest.right.tolist(),
            "missing_left": forest.missing_left.tolist(),
            "missing_up_to": forest.missing_up_to,
            "values": forest.values[:, 0].tolist(),
            "constant": float(forest.constant[0]),
            "sum_dtype": forest.sum_dtype,
            "categories": None
            if sets is None
            else {
                "rule": sets.rule,
                "of_node": sets.of_node.tolist(),
                "starts": sets.starts.tolist(),
                "codes": sets.codes.tolist(),
            },
        }
        | ({"line": added} if added else {}),
        allow_nan=False,
    )


def _numbers(values: np.ndarray) -> list[Any]:
    return [value if math.isfinite(value) else str(value) for value in values.tolist()]


JSON = Format(write_forest_json, adds=("line",))
