"""Vespa: a ranking expression, for lines and small models.

A rank profile reads it by ``first-phase { expression: file:model.expression }``. The names of the
features are rank features or functions of the profile. Vespa adds doubles, and keeps the
thresholds and leaves of large models as floats.
"""

import re
from collections.abc import Iterator

from treerank.exports.comparison import BELOW_SINGLE_THRESHOLD
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.json_text import separated
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
    if written.forest.n_trees == 0 and written.line is None:
        yield "0"


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


VESPA_EXPRESSION = Format(
    write_expression,
    Consumer(BELOW_SINGLE_THRESHOLD, leaf_dtype="float32", categories="exact"),
    max_depth=200,
    adds=("line",),
)
