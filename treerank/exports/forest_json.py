"""JSON of the forest itself, for programs of one's own.

The document has the attributes of :class:`~treerank.forests.forest.Forest`. A document goes left
if its value is at most ``threshold``, both in double precision, or if it is missing (NaN) and
``missing_left`` is true. Its score is ``constant`` plus the values of its leaves, tree after tree.
Infinite thresholds are the texts "inf" and "-inf". ``levels`` has the list of categories of each
column that has some, by its number as text: a value is the position in the list. With ``linear``,
``coef * value + offset`` is added for each feature whose value is not missing.

With ``networks``, the score of each is added, too. Features become ``(x - mean) * inverse``, and 0
where they are missing. Then the layers follow, each with its ``kind`` and with the attributes of
its class in :mod:`treerank.feature_parts.network_component`, which says what it computes: "affine",
"function", "products" or "softsplits". The outputs, rounded to single precision, are
multiplied by ``weight`` and added up.
"""

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from treerank.exports.formats import ExportFormat
from treerank.exports.written import Written
from treerank.forests.readers.forest_json import DTYPES, FORMAT, SET_DTYPES


def write_forest_json(written: Written) -> str:
    """Return the model as JSON."""
    forest, linear = written.forest, written.linear
    sets = forest.categories
    document = {
        "format": FORMAT,
        "feature_names": written.names,
        **{name: getattr(forest, name) for name in (*DTYPES, "missing_up_to")},
        "values": forest.values[:, 0],
        "constant": float(forest.constant[0]),
        "sum_dtype": forest.sum_dtype,
        "categories": sets and {name: getattr(sets, name) for name in ("rule", *SET_DTYPES)},
    }
    if written.levels:
        document["levels"] = written.levels
    if linear is not None:
        document["linear"] = {"coef": linear.coef, "offset": linear.offset}
    if written.networks:
        document["networks"] = written.networks
    return json.dumps(document, default=_plain)


def _plain(value: Any) -> Any:
    """Return an array as a list, and a network or a layer as a dict, for JSON.

    Infinite numbers are texts. A dict has the class in lower case as "kind", and the fields.
    """
    if isinstance(value, np.ndarray):
        numbers = value.tolist()
        is_finite = np.isfinite(value).all()
        return numbers if is_finite else [x if math.isfinite(x) else str(x) for x in numbers]
    kind = {"kind": type(value).__name__.lower()}
    return kind | {field.name: getattr(value, field.name) for field in fields(value)}


JSON = ExportFormat(write_forest_json, adds=("linear", "network"))
