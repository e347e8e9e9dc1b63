"""Vespa: the dump of a LightGBM model in JSON, which Vespa turns into a ranking expression.

Vespa's search nodes keep thresholds and leaves of large models as floats, and compare the value, a
double, with ``value < threshold``. They add doubles.

Vespa: a ranking expression, for lines and small models.

A rank profile reads it by ``first-phase { expression: file:model.expression }``. The names of the
features are rank features or functions of the profile. Vespa adds doubles, and keeps the
thresholds and leaves of large models as floats.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import BELOW_SINGLE_THRESHOLD
from treerank.exports.written import Node, Written, nested

_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\([\w., ]*\)[\w.]*)?")


def write_expression(written: Written) -> str:
    """Return the expression."""
    for name in written.names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"names must be rank features of Vespa; got {name!r:.80}.")
    return " +\n".join(_added(written)) + "\n"


def _added(written: Written) -> Iterator[str]:
    """Yield what is added: a tree, or a feature of the line."""
    for tree in written.trees():
        yield _tree(tree, written.names)
    line = written.line
    if line is None:
        return
    for j in line.features.tolist():
        name, factor, offset = written.names[j], float(line.coef[j]), float(line.offset[j])
        yield f"if (isNan({name}), 0, {factor!r} * {name} + {offset!r})"


def _tree(tree: list[Node], names: list[str]) -> str:
    def split(node: Node, left: str, right: str) -> str:
        return f"if ({_test(names[node.feature], node)}, {left}, {right})"

    return nested(tree, lambda node: repr(node.value), split)


def _test(name: str, node: Node) -> str:
    """Return a condition that is true for what goes left; comparisons with NaN are false."""
    if node.codes is not None:
        is_in = f"{name} in [{', '.join(map(repr, node.codes))}]"
        return f"isNan({name}) || ({is_in})" if node.missing_left else is_in
    limit = repr(node.threshold)
    return f"!({name} >= {limit})" if node.missing_left else f"{name} < {limit}"


VESPA_EXPRESSION = ExportFormat(
    write_expression,
    Consumer(BELOW_SINGLE_THRESHOLD, leaf_dtype="float32", categories="exact"),
    max_depth=200,
    adds=("line",),
)


def write_vespa(written: Written) -> str:
    """Return the model as JSON."""
    places = _places(written)
    names = written.names
    model = {
        "name": "tree",
        "version": "v4",
        "objective": "lambdarank",
        "feature_names": names,
        "feature_infos": {names[feature]: {"values": [*places[feature]]} for feature in places},
        "tree_info": [
            {"tree_index": i, "tree_structure": _structure(tree, places)}
            for i, tree in enumerate(written.trees())
        ],
        "pandas_categorical": [[*places[feature]] for feature in places],
    }
    return json.dumps(model)


def _places(written: Written) -> dict[int, dict[int, int]]:
    """Return the place of each code among those of its feature."""
    codes: dict[int, set[int]] = {}
    for node, own in written.sets.items():
        codes.setdefault(int(written.forest.feature[node]), set()).update(map(int, own))
    return {
        feature: {code: i for i, code in enumerate(sorted(codes[feature]))}
        for feature in sorted(codes)
    }


def _structure(tree: list[Node], places: dict[int, dict[int, int]]) -> dict[str, Any]:
    def split(node: Node, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        test: dict[str, Any] = {"decision_type": "<=", "threshold": node.threshold}
        if node.codes is not None:
            place = places[node.feature]
            among = "||".join(str(place[int(code)]) for code in node.codes)
            test = {"decision_type": "==", "threshold": among}
        return {
            "split_feature": node.feature,
            **test,
            "default_left": node.missing_left,
            "missing_type": "NaN",
            "left_child": left,
            "right_child": right,
        }

    return nested(tree, lambda node: {"leaf_value": node.value}, split)


VESPA = ExportFormat(
    write_vespa,
    Consumer(BELOW_SINGLE_THRESHOLD, leaf_dtype="float32", categories="exact"),
    max_depth=200,
    whole_codes=True,
)
