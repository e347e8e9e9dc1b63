"""SQL: one query that adds the column ``score`` to a table, for DuckDB and SQLite.

A tree is a ``CASE``, and missing values are NULL. Categories appear as in the data. Trees
are added in order, as in all formats, in subqueries of at most 200 trees, because databases limit
the depth of an expression; so a model with more trees also returns the partial sums ``score_1`` and
so on. Numbers are written with an exponent, which makes them doubles rather than decimals. A column
that may be of truth values is cast, because databases compare BOOLEAN with no number, and so is
one that is compared with a number from 2**53 on.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import quote
from treerank.exports.feature_names import NameRule
from treerank.exports.formats import ExportFormat
from treerank.exports.program_runs import number_columns, quoted, sql_scores, table_name
from treerank.exports.written import Node, Written, nested
from treerank.forests.forest import Forest

_TOGETHER = 200
_MOST_BYTES = 1_000_000  # of a query, by default in SQLite
_SURE_DIGITS = 15  # decimals of up to 15 digits are read as the same double everywhere
_LARGEST = np.finfo(np.float64).max
#: From this on, SQLite compares an integer exactly with a double, to which models round it.
_LARGEST_INTEGER = 2**53


def write_sql(written: Written) -> str:
    """Return the SQL query that computes the scores."""
    terms = [*_tree_terms(written), *_linear_terms(written)]
    total = f"CAST({_number(float(written.forest.constant[0]))} AS DOUBLE PRECISION)"
    blocks = [terms[begin : begin + _TOGETHER] for begin in range(0, len(terms), _TOGETHER)] or [[]]
    source = table_name(written)
    for number, block in enumerate(blocks, start=1):
        name = "score" if number == len(blocks) else f"score_{number}"
        sums = "\n + ".join([total, *block])
        source = f"SELECT d.*, {sums} AS {name}\nFROM {source} AS d"
        total, source = f"d.{name}", f"({source})"
    query = source.removeprefix("(").removesuffix(")") + ";\n"
    size = len(query.encode())
    if size > _MOST_BYTES:
        raise ValueError(
            f"format 'sql' writes queries of at most 1 MB, which databases take; got {size:,} "
            "bytes. Fit fewer or smaller trees."
        )
    return query


def check_sql(forest: Forest, names: list[str], levels: dict[int, list[Any]]) -> None:
    """Refuse a model whose sums or whose names SQL cannot represent."""
    if forest.sum_dtype == "float32":
        raise ValueError(
            "format 'sql' adds in double precision; got trees of XGBoost, which are added in "
            "single precision. Fit trees of LightGBM or histogram trees, or export to a format "
            "such as 'python' or 'onnx'."
        )
    for column in forest.features_by_set:
        if column not in levels:
            raise ValueError(
                "format 'sql' takes categories that are categories of a data frame; got codes in "
                f"column {quote(names[column])}. Fit on a frame with the categories themselves."
            )
    lower = [name.lower() for name in names]
    taken = {"score", "treerank_row"}
    for name in names:
        is_sum = name.lower().startswith("score_") and name[6:].isdigit()
        if name.lower() in taken or is_sum:
            raise ValueError(
                f"format 'sql' has the column {quote(name)} itself, so no feature may have this "
                "name. Rename the column and fit again."
            )
        if lower.count(name.lower()) > 1:
            raise ValueError(
                "format 'sql' takes names that differ by more than capital letters; got "
                f"{quote(name)} twice. Rename a column and fit again."
            )


class _Case(NamedTuple):
    """A CASE expression without its END.

    Databases limit how deeply CASEs may be nested, so the deeper child of a split is not nested:
    its conditions continue the same CASE. A tree of n leaves has at most the depth log2(n).

    Attributes
    ----------
    arms : str
        Conditions and results, " WHEN ... THEN ...".
    last : str
        Result if no condition is true.
    depth : int
        How deeply CASEs are nested.
    """

    arms: str
    last: str
    depth: int

    def __str__(self) -> str:
        return f"CASE{self.arms} ELSE {self.last} END" if self.arms else self.last


def _tree_terms(written: Written) -> Iterator[str]:
    """Yield the SQL expression of each tree."""
    are_numbers = number_columns(written)

    def split(node: Node, left: _Case, right: _Case) -> _Case:
        to_left, to_right = _conditions(written, node, is_number=node.feature in are_numbers)
        first, condition, other = left, to_left, right
        if right.depth < left.depth:
            first, condition, other = right, to_right, left
        arms = f" WHEN {condition} THEN {first}{other.arms}"
        return _Case(arms, other.last, max(first.depth + 1, other.depth))

    for tree in written.trees():
        yield str(nested(tree, lambda node: _Case("", _number(node.value), 0), split))


def _as_number(name: str) -> str:
    """Return the value of a column as a double, 0 or 1 if it is a truth value."""
    return f"CAST({name} AS DOUBLE PRECISION)"


def _conditions(written: Written, node: Node, *, is_number: bool) -> tuple[str, str]:
    """Return ``(left, right)``: SQL conditions under which a document goes to each side of a split.

    Either may be used alone: a document goes right if the first is false or NULL, and left if the
    second is. ``is_number`` says that the column cannot be of truth values.
    """
    column, missing_up_to = f"d.{quoted(written.names[node.feature])}", written.forest.missing_up_to
    if node.codes is None:
        is_exact = abs(node.threshold) < _LARGEST_INTEGER
        name = column if is_number and is_exact else _as_number(column)
        limit = _number(float(np.clip(node.threshold, -_LARGEST, _LARGEST)))
        left, right = f"{name}<={limit}", f"{name}>{limit}"
        if node.threshold == np.inf:
            left, right = f"{column} IS NOT NULL", "1=0"
        elif node.threshold == -np.inf:
            left, right = f"{name}<{limit}", f"{name}>={limit}"
        not_missing, missing = "", f" OR {column} IS NULL"
        if missing_up_to >= 0:
            not_missing = f" AND ABS({name})>{_number(missing_up_to)}"
            missing += f" OR ABS({name})<={_number(missing_up_to)}"
        if node.missing_left:
            return left + missing, right + not_missing
        return left + not_missing, right + missing
    levels, codes = written.levels[node.feature], {int(code) for code in node.codes}
    if node.missing_left:  # so the categories that go right are listed
        codes = {*range(len(levels))} - codes
    sets = written.forest.categories
    # Only under this rule may the first category be a missing value, as zeros are.
    lowest = missing_up_to if sets is not None and sets.rule == "single" else -1.0
    codes = {code for code in codes if lowest < code < len(levels)}
    listed = ",".join(_category(levels[code]) for code in sorted(codes))
    within = f"{column} IN ({listed})" if listed else "1=0"
    without = f"{column} NOT IN ({listed}) OR {column} IS NULL" if listed else "1=1"
    return (without, within) if node.missing_left else (within, without)


def _linear_terms(written: Written) -> Iterator[str]:
    linear = written.linear
    if linear is not None:
        for j in linear.features.tolist():
            factor, offset = _number(float(linear.coef[j])), _number(float(linear.offset[j]))
            value = _as_number(f"d.{quoted(written.names[j])}")
            yield f"COALESCE({factor}*{value}+{offset},0e0)"


def _number(value: float) -> str:
    """Return a literal in double precision.

    SQLite rounds decimals twice, so numbers of many digits are written with extra digits, which
    makes this harmless.

    Examples
    --------
    >>> _number(1.5), _number(1e-9), _number(-2.0), _number(1 / 3)
    ('1.5e0', '1e-09', '(-2.0e0)', '3.33333333333333315e-01')
    """
    text = repr(value) if "e" in repr(value) else f"{value!r}e0"
    if sum(char.isdigit() for char in text.partition("e")[0]) > _SURE_DIGITS:
        text = f"{value:.17e}"
    return f"({text})" if value < 0 or text.startswith("-") else text


def _category(level: Any) -> str:
    """Return a category as a SQL literal.

    Examples
    --------
    >>> _category("it's"), _category(3), _category(True)
    ("'it''s'", '3', 'TRUE')
    """
    level = level.item() if isinstance(level, np.generic) else level
    if isinstance(level, bool):
        return str(level).upper()
    if isinstance(level, int):
        return str(level)
    if isinstance(level, float):
        return _number(level)
    text = str(level)
    if "\0" in text:
        raise ValueError(f"format 'sql' takes no text with the character \\0; got {quote(text)}.")
    return "'" + text.replace("'", "''") + "'"


SQL = ExportFormat(
    write_sql,
    adds=("linear",),
    names=NameRule(lambda char: char == "\0", takes_empty=False),
    has_table=True,
    check=check_sql,
    run=sql_scores,
)
