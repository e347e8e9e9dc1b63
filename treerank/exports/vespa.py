"""Vespa: a ranking expression, as Vespa itself makes of models of LightGBM.

A rank profile reads it by ``first-phase { expression: file:model.expression }``. The names of the
features are rank features or functions of the profile. Vespa's search nodes add doubles, keep the
thresholds and leaves of large models as floats, and compare the value, a double, with
``value < threshold``.
"""

import re
from collections.abc import Iterator

from treerank.exports.consumer import Consumer
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import BELOW_SINGLE_THRESHOLD
from treerank.exports.written import Node, Written, nested

_NAME = re.compile(r"[A-Za-z_]\w*(?:\([\w., ]+\))?(?:\.\w+)*", re.ASCII)


def write_expression(written: Written) -> str:
    """Return the expression."""
    for name in written.names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"names must be rank features of Vespa; got {name!r:.80}.")
    return " +\n".join(_added(written)) + "\n"


def _added(written: Written) -> Iterator[str]:
    """Yield the expressions that are added up: trees, then features of the linear model."""
    for tree in written.trees():
        yield _tree(tree, written.names)
    linear = written.linear
    if linear is None:
        return
    for j in linear.features.tolist():
        name, factor, offset = written.names[j], float(linear.coef[j]), float(linear.offset[j])
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
    adds=("linear",),
)
