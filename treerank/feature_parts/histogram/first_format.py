"""First format: states of histogram trees in model files of format 1, as forests."""

from typing import Any

import numpy as np

from treerank.feature_parts.histogram.forest import forest_of_nodes
from treerank.files.states import array, check_state, count
from treerank.forests.forest import Forest

#: ``first`` is the left child, the node after it the right child; of a leaf, ``first`` is itself.
#: ``sets`` has 1 for each position in a table of codes that goes left; all other values have the
#: position after the last code.
_RULES = {
    "n_features": count(1),
    "starts": array("int64", "n_starts", at_least=0),
    "feature": array("uint32", "n_nodes", below="n_features"),
    "threshold": array("float64", "n_nodes", infinite=True),
    "missing_right": array("bool", "n_nodes"),
    "first": array("uint32", "n_nodes", below="n_nodes"),
    "gain": array("float64", "n_nodes"),
    "values": array("float64", "n_nodes", "n_outputs"),
    "tables": array("float64", "n_tables", 256, infinite=True),
    "n_codes": array("int64", "n_tables", at_least=0, at_most=255),
    "table_of_set": array("int64", "n_sets", at_least=0, below="n_tables"),
    "sets": array("uint8", "n_sets", 256, at_most=1),
    "set_of_node": array("int32", "n_nodes", at_least=-1, below="n_sets"),
}


def is_first_format(state: Any) -> bool:
    """Return whether a state is one of format 1."""
    return isinstance(state, dict) and "starts" in state


def read_first_format(state: dict[str, Any]) -> Forest:
    """Return the forest of a state of format 1, and refuse anything else."""
    sizes = {"n_features": state.get("n_features", 0), "n_nodes": len(state.get("first", ()))}
    check_state(state, _RULES, **sizes)
    first = state["first"].astype(np.int64)
    is_split = first != np.arange(len(first))
    by_set = np.flatnonzero(is_split & (state["set_of_node"] >= 0))
    return forest_of_nodes(
        feature=np.where(is_split, state["feature"].astype(np.int64), -1),
        threshold=state["threshold"],
        missing_left=~state["missing_right"],
        first=first,
        by_code=[_split_by_code(state, node) for node in by_set],
        n_features=state["n_features"],
        roots=state["starts"][:-1].astype(np.int32),
        values=state["values"],
        gain=state["gain"],
    )


def _split_by_code(state, node):
    number = state["set_of_node"][node]
    table = state["table_of_set"][number]
    return node, state["tables"][table, : state["n_codes"][table]], state["sets"][number]
