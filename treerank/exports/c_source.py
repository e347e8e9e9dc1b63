"""C: one source file of plain C99 without dependencies, safe to call from several threads.

All nodes of all trees are in one table, where the two children of a split are next to each other
and a leaf leads to itself. Eight documents go down a tree together, a step of all of them at a
time, so that the processor works on several at once. Before that, missing values are replaced by
numbers that go to the correct side, so that a step is one comparison. The operations are the same
as in the ranker, so scores are equal bit for bit, as long as the compiler neither reorders
floating-point operations (no ``-ffast-math``) nor fuses them (``-std=c99``; only linear models have
products that could be fused with sums).
All that other files see begins with a prefix, so that several models link into one program, and
all else is undefined or has the prefix in the end, so that one file may include several of them.

Tables of numbers in C.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from treerank.checks import quote
from treerank.exports.feature_names import NameRule
from treerank.exports.formats import ExportFormat
from treerank.exports.written import Written
from treerank.forests.layouts import column_keys


def c_table(name: str, *columns: np.ndarray) -> Iterator[str]:
    """Yield the source of a table of numbers, or of structures of several columns.

    ``name`` is the type and the name of the array. An empty column gets one 0, since C has no empty
    arrays.

    Examples
    --------
    >>> print(*c_table("double limits", np.array([0.5, np.inf])))
    <BLANKLINE>
    static const double limits[] = {
     0.5,
    INFINITY};
    <BLANKLINE>
    """
    columns = tuple(column if len(column) else np.zeros(1, np.int64) for column in columns)
    row = ", ".join(["%r"] * len(columns))
    row = "{" + row + "}" if len(columns) > 1 else row
    yield f"\nstatic const {name}[] = {{\n"
    lists = (column.tolist() for column in columns)
    rows = ",\n".join([row % numbers for numbers in zip(*lists, strict=True)])
    yield rows.replace("inf", "INFINITY").replace("nan", "NAN") + "};\n"


#: Names of the file, to which a macro gives the prefix, and constants; none is there afterwards.
_STATIC = (
    *("node_t", "nodes", "values", "roots", "depths", "keys", "set_keys", "set_starts"),
    *("set_codes", "term_t", "linear", "level_texts", "level_codes", "level_starts", "is_in"),
    *("goes_left", "fill_columns"),
)
_CONSTANTS = ("N_COLUMNS", "N_TREES", "N_TOGETHER", "N_LINEAR")
#: Columns of several documents up to which these take little of a small stack.
_MOST_COLUMNS = 1024
_HEAD = """\
/* A ranker exported by treerank, in C99. Compile with -std=c99 and without -ffast-math.

   void {prefix}_score(const double *x, size_t n, double *scores);
       Scores n documents of {macro}_N_FEATURES values each, row after row. Missing values are NaN.
       It takes {stack} KiB of the stack.
   const char *const {prefix}_feature_names[{macro}_N_FEATURES];
       Names of the columns.{code} */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
{string}
#define {macro}_N_FEATURES {n_features}
{defines}
#define N_COLUMNS {n_columns}
#define N_TREES {n_trees}
#define N_TOGETHER {n_together}

void {prefix}_score(const double *x, size_t n, double *scores);
extern const char *const {prefix}_feature_names[];

typedef struct {{ double threshold; int32_t first, column; }} node_t;
"""
_CODE_LINEARS = """
   double {prefix}_code(size_t column, const char *category);
       The number that stands for a category of a column."""
_SETS = """
/* The code of a value is in a set if it is among its codes, which ascend. */
static int is_in(double value, int32_t set) {{
    double code = {code};
    int32_t low = set_starts[set], end = set_starts[set + 1], high = end;
    while (low < high) {{
        int32_t middle = low + (high - low) / 2;
        if (set_codes[middle] < code) low = middle + 1; else high = middle;
    }}
    return low < end && set_codes[low] == code;
}}

static int goes_left(const double *x, int32_t set) {{
    double value = x[set_keys[set] / 2];
    int is_missing = {is_missing};
    return is_missing ? set_keys[set] % 2 : is_in(value, set);
}}
"""
#: A split by category has -1, -2 and so on, the number of its set, instead of a column.
_IS_LEFT = "columns[i][node->column] <= node->threshold"
_IS_LEFT_OR_IN_SET = f"""node->column < 0
                        ? goes_left(rows[i], -1 - node->column)
                        : {_IS_LEFT}"""
_CODES = {"exact": "value", "truncated": "trunc(value)", "single": "floor((double)(float)value)"}
_SCORE = """
/* A key is twice a feature, plus 1 if missing values go left. The last column marks leaves. */
static void fill_columns(const double *x, double *columns) {{
    for (int k = 0; k < N_COLUMNS; k++) {{
        double value = x[keys[k] / 2];
        int is_missing = {is_missing};
        columns[k] = !is_missing ? value : keys[k] % 2 ? -INFINITY : NAN;
    }}
    columns[N_COLUMNS] = 0;
}}

void {prefix}_score(const double *x, size_t n, double *scores) {{
    double columns[N_TOGETHER][N_COLUMNS + 1];
    for (size_t begin = 0; begin < n; begin += N_TOGETHER) {{
        const double *rows[N_TOGETHER];
        double total[N_TOGETHER];
        for (int i = 0; i < N_TOGETHER; i++) {{
            size_t row = begin + (size_t)i < n ? begin + (size_t)i : begin;
            rows[i] = x + row * {macro}_N_FEATURES;
            fill_columns(rows[i], columns[i]);
            total[i] = {constant};
        }}
        for (int tree = 0; tree < N_TREES; tree++) {{
            int32_t at[N_TOGETHER];
            for (int i = 0; i < N_TOGETHER; i++) at[i] = roots[tree];
            for (int depth = depths[tree]; depth > 0; depth--)
#if defined __GNUC__ && !defined __clang__
#pragma GCC unroll 8
#endif
                for (int i = 0; i < N_TOGETHER; i++) {{
                    const node_t *node = nodes + at[i];
                    int is_left = {is_left};
                    at[i] = node->first + !is_left;
                }}
            for (int i = 0; i < N_TOGETHER; i++) total[i] = {add};
        }}{linear}
        for (size_t i = 0; i < N_TOGETHER && begin + i < n; i++) scores[begin + i] = total[i];
    }}
}}
"""
#: What is added for the features of a linear model.
_LINEAR = """
        for (int k = 0; k < N_LINEAR; k++)
            for (int i = 0; i < N_TOGETHER; i++) {
                double value = rows[i][linear[k].feature];
                if (value == value) total[i] += linear[k].factor * value + linear[k].offset;
            }"""

_CODE_OF = """
/* The code of a category of a column, to write into x; NaN for one that training did not have, and
   for all of a column that has no categories. A number is the text that Python has for it. */
double {prefix}_code(size_t column, const char *category);
double {prefix}_code(size_t column, const char *category) {{
    int32_t low = level_starts[column], end = level_starts[column + 1], high = end;
    while (low < high) {{
        int32_t middle = low + (high - low) / 2;
        if (strcmp(level_texts[middle], category) < 0) low = middle + 1; else high = middle;
    }}
    return low < end && !strcmp(level_texts[low], category) ? level_codes[low] : NAN;
}}
"""
_RELEVANCE = """
/* The probability of relevance of a document with this score. Link with -lm. */
double {prefix}_relevance(double score);
double {prefix}_relevance(double score) {{
    double log_odds = {lowest};
    return 1 / (1 + exp(-log_odds));
}}
"""


def write_c(written: Written) -> str:
    """Return the C source of a model."""
    return "".join(_pieces(written))


def _pieces(written: Written) -> Iterator[str]:
    forest = written.forest
    n_columns = len(column_keys(forest)[0])
    n_together = 8 if n_columns < _MOST_COLUMNS else 1
    head = {
        "prefix": written.prefix,
        "macro": written.prefix.upper(),
        "defines": "\n".join(f"#define {name} {written.prefix}_{name}" for name in _STATIC),
        "n_features": forest.n_features,
        "n_columns": n_columns,
        "n_trees": forest.n_trees,
        "n_together": n_together,
        "stack": 1 + n_together * (n_columns + 10) // 128,
    }
    if written.levels:
        head |= {"code": _CODE_LINEARS.format(**head), "string": "#include <string.h>\n"}
    yield _HEAD.format(**{"code": "", "string": ""} | head)
    yield from _tables(written)
    if written.levels:
        yield _CODE_OF.format(prefix=written.prefix)
    is_missing, is_left = "value != value", _IS_LEFT
    if forest.missing_up_to >= 0:
        is_missing = f"(value != value) | (fabs(value) <= {_double(forest.missing_up_to)})"
    if forest.categories is not None:
        rule, is_left = forest.categories.rule, _IS_LEFT_OR_IN_SET
        # Zeros are missing at splits by category under this rule only.
        missing = is_missing if rule == "single" else "value != value"
        yield _SETS.format(code=_CODES[rule], is_missing=missing)
    add = "total[i] + values[at[i]]"
    add = f"(float)({add})" if forest.sum_dtype == "float32" else add
    constant = _double(float(forest.constant[0]))
    adds = {"add": add, "linear": _LINEAR if written.linear is not None else ""}
    adds |= {"prefix": written.prefix, "macro": written.prefix.upper()}
    yield _SCORE.format(is_missing=is_missing, is_left=is_left, constant=constant, **adds)
    if written.log_odds is not None:
        lines = [f"{slope!r} * score + {shift!r}" for slope, shift in written.log_odds.tolist()]
        lowest = reduce("fmin({}, {})".format, lines)
        yield _RELEVANCE.format(prefix=written.prefix, lowest=lowest)
    yield "\n" + "".join(f"#undef {name}\n" for name in (*_STATIC, *_CONSTANTS))


def _tables(written: Written) -> Iterator[str]:
    """Yield the source of the arrays of nodes, trees, category sets, linear model and names."""
    forest = written.forest
    order, index = forest.by_tree, forest.index_by_tree
    is_leaf, (keys, column) = forest.is_leaf, column_keys(forest)
    first = np.where(is_leaf, index, index[forest.left])
    threshold = np.where(is_leaf, np.inf, forest.threshold)
    sets = forest.categories
    if sets is not None:
        nodes = np.flatnonzero(sets.of_node >= 0)
        threshold[nodes], column[nodes] = 0.0, -1 - sets.of_node[nodes]
    yield from c_table("node_t nodes", threshold[order], first[order], column[order])
    yield from c_table("double values", forest.values[order, 0])
    yield from c_table("int32_t roots", index[forest.roots])
    depths = np.zeros(forest.n_trees, dtype=np.int64)
    for depth, (_, trees) in enumerate(forest.by_depth):
        depths[trees] = depth
    yield from c_table("int32_t depths", depths)
    yield from c_table("int32_t keys", np.append(keys, 0))
    if sets is not None:
        set_keys = np.zeros(len(sets.starts), dtype=np.int64)
        set_keys[sets.of_node[nodes]] = 2 * forest.feature[nodes] + forest.missing_left[nodes]
        yield from c_table("int32_t set_keys", set_keys)
        yield from c_table("int32_t set_starts", sets.starts)
        yield from c_table("double set_codes", np.append(sets.codes, 0.0))
    if written.linear is not None:
        linear, features = written.linear, written.linear.features
        yield f"\n#define N_LINEAR {len(features)}"
        yield "\ntypedef struct { double factor, offset; int32_t feature; } term_t;\n"
        yield from c_table(
            "term_t linear", linear.coef[features], linear.offset[features], features
        )
    if written.levels:
        yield from _levels(written)
    names = ",\n".join(_text(name) for name in written.names) or '""'
    yield f"\nconst char *const {written.prefix}_feature_names[] = {{\n{names}}};\n"


def _levels(written: Written) -> Iterator[str]:
    """Yield the source of the categories of each column, sorted by their bytes, and their codes.

    Refuses categories of a column that are equal as text, or contain the character 0.
    """
    sizes = np.zeros(written.forest.n_features + 1, dtype=np.int64)
    texts, codes = [], []
    for column, levels in sorted(written.levels.items()):
        ordered = sorted((str(level).encode(), code) for code, level in enumerate(levels))
        column_texts = [text for text, _ in ordered]
        if len({*column_texts}) < len(column_texts) or any(b"\0" in t for t in column_texts):
            raise ValueError(
                "format 'c' takes categories that differ as texts without characters of the code "
                f"0; got others in column {quote(written.names[column])}."
            )
        sizes[column + 1] = len(column_texts)
        texts += column_texts
        codes += [code for _, code in ordered]
    lines = ",\n".join(_text(text.decode()) for text in texts) or '""'
    yield f"\nstatic const char *const level_texts[] = {{\n{lines}}};\n"
    yield from c_table("int32_t level_codes", np.array(codes, dtype=np.int64))
    yield from c_table("int32_t level_starts", np.cumsum(sizes))


def _double(number: float) -> str:
    return repr(number).replace("inf", "INFINITY")


def _text(name: Any) -> str:
    """Return a name as a C string: its UTF-8 bytes, in octal where they are not plain."""
    plain = (chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in b" _-.,:;()[]@+*/" else
             f"\\{byte:03o}" for byte in str(name).encode())  # fmt: skip
    return '"' + "".join(plain) + '"'


C = ExportFormat(
    write_c,
    adds=("linear",),
    has_relevance=True,
    names=NameRule(lambda char: char == "\0"),  # where a string ends
    has_prefix=True,
)
