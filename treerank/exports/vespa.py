"""Vespa: the dump of a LightGBM model in JSON, which Vespa turns into a ranking expression.

Vespa's search nodes keep thresholds and leaves of large models as floats, and compare the value, a
double, with ``value < threshold``. They add doubles.

Vespa: a ranking expression, for lines and small models.

A rank profile reads it by ``first-phase { expression: file:model.expression }``. The names of the
features are rank features or functions of the profile. Vespa adds doubles, and keeps the
thresholds and leaves of large models as floats.
"""

import re
from collections.abc import Iterator

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.json_text import json_pieces, separated
from treerank.exports.split_rule import BELOW_SINGLE_THRESHOLD
from treerank.exports.written import Written, WrittenTree

_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\([\w., ]*\)[\w.]*)?")


def write_expression(written: Written) -> Iterator[str]:
    """Yield the expression."""
    for name in written.names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"names must be rank features of Vespa; got {name!r:.80}.")
    yield from separated(_added(written), " +\n")
    yield "\n"


def _added(written: Written) -> Iterator[str]:
    """Yield what is added: a tree, or a feature of the line."""
    for tree in written.trees():
        yield _tree(tree, written.names)
    for name, factor, offset in written.line_of_names():
        yield f"if (isNan({name}), 0, {factor!r} * {name} + {offset!r})"


def _tree(tree: WrittenTree, names: list[str]) -> str:
    columns = tree.feature, tree.threshold, tree.missing_left, tree.value
    texts = [
        repr(value)
        if feature < 0
        else f"if ({_test(names[feature], threshold, missing_left, tree.sets.get(node))}, "
        for node, (feature, threshold, missing_left, value) in enumerate(zip(*columns, strict=True))
    ]
    return tree.nested(texts, ", ", ")")


def _test(name: str, threshold: float, missing_left: bool, codes: list[float] | None) -> str:
    """Return a condition that is true for what goes left; comparisons with NaN are false."""
    if codes is not None:
        is_in = f"{name} in [{', '.join(map(repr, codes))}]"
        return f"isNan({name}) || ({is_in})" if missing_left else is_in
    return f"!({name} >= {threshold!r})" if missing_left else f"{name} < {threshold!r}"


VESPA_EXPRESSION = ExportFormat(
    write_expression,
    Consumer(BELOW_SINGLE_THRESHOLD, leaf_dtype="float32", categories="exact"),
    max_depth=200,
    adds=("line",),
)


def write_vespa(written: Written) -> Iterator[str]:
    """Yield the model as JSON."""
    places = _places(written)
    names = written.names
    trees = (
        f'{{"tree_index": {i}, "tree_structure": {_structure(tree, places)}}}'
        for i, tree in enumerate(written.trees())
    )
    model = {
        "name": "tree",
        "version": "v4",
        "objective": "lambdarank",
        "feature_names": names,
        "feature_infos": {names[feature]: {"values": [*places[feature]]} for feature in places},
        "tree_info": trees,
        "pandas_categorical": [[*places[feature]] for feature in places],
    }
    return json_pieces(model)


def _places(written: Written) -> dict[int, dict[int, int]]:
    """Return the place of each code among those of its feature."""
    codes: dict[int, set[int]] = {}
    for node, own in written.sets.items():
        codes.setdefault(int(written.forest.feature[node]), set()).update(map(int, own))
    return {
        feature: {code: i for i, code in enumerate(sorted(codes[feature]))}
        for feature in sorted(codes)
    }


def _structure(tree: WrittenTree, places: dict[int, dict[int, int]]) -> str:
    rules = [f'"decision_type": "<=", "threshold": {number!r}' for number in tree.threshold]
    for node, codes in tree.sets.items():
        place = places[tree.feature[node]]
        joined = "||".join(str(place[int(code)]) for code in codes)
        rules[node] = f'"decision_type": "==", "threshold": "{joined}"'
    columns = tree.feature, rules, tree.missing_left, tree.value
    texts = [
        f'{{"leaf_value": {value!r}}}'
        if feature < 0
        else f'{{"split_feature": {feature}, {rule}, "default_left": '
        f'{"true" if missing_left else "false"}, "missing_type": "NaN", "left_child": '
        for feature, rule, missing_left, value in zip(*columns, strict=True)
    ]
    return tree.nested(texts, ', "right_child": ', "}")


VESPA = ExportFormat(
    write_vespa,
    Consumer(BELOW_SINGLE_THRESHOLD, leaf_dtype="float32", categories="exact"),
    max_depth=200,
    whole_codes=True,
)
