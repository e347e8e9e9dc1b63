"""JSON of the forest itself, as :mod:`treerank.exports.forest_json` writes it."""

from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.forests.forest import CategorySets, Forest

FORMAT = "treerank forest 1"
SET_DTYPES = {"of_node": np.int32, "starts": np.int64, "codes": np.float64}
DTYPES = {
    "roots": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": bool,
}


def read_forest_json(document: dict[str, Any]) -> Forest:
    """Return the forest of a parsed JSON document; refuse one with a linear model or networks."""
    if document["format"] != FORMAT:
        raise ValueError(
            f"A forest must be of format {quote(FORMAT)}; got {document['format']!r:.50}."
        )
    components = [name for name in ("linear", "networks") if name in document]
    if components:
        raise ValueError(f"A forest must be trees only; got {' and '.join(components)}, too.")
    names, sets, roots = (document[key] for key in ("feature_names", "categories", "roots"))
    if sets is not None:
        sets = CategorySets(
            **{name: _array(sets[name], dtype) for name, dtype in SET_DTYPES.items()},
            rule=sets["rule"],
        )
    arrays: dict[str, Any] = {n: _array(document[n], dtype) for n, dtype in DTYPES.items()}
    return Forest(
        n_features=len(names),
        **arrays,
        values=_array(document["values"], np.float64)[:, None],
        tree_output=np.zeros(len(roots), dtype=np.int32),
        constant=_array([document["constant"]], np.float64),
        categories=sets,
        missing_up_to=float(document["missing_up_to"]),
        sum_dtype=document["sum_dtype"],
        feature_names=tuple(map(str, names)),
        levels=_levels(document.get("levels")),
    )


def _levels(levels: dict[str, list[Any]] | None) -> dict[int, list[Any]] | None:
    """Return the categories by index of the column; None stays None."""
    return None if levels is None else {int(j): list(values) for j, values in levels.items()}


def _array(values: list[Any], dtype: Any) -> np.ndarray:
    """Return a list of numbers as an array; "inf" and "-inf" are infinite.

    Refuses other entries.
    """
    kinds = {bool: bool, np.float64: int | float}.get(dtype, int)
    for value in values:
        if not isinstance(value, kinds) and not (dtype == np.float64 and value in ("inf", "-inf")):
            raise ValueError(f"A forest must hold numbers; got {value!r:.50}.")
    return np.array([float(value) for value in values] if dtype == np.float64 else values, dtype)
