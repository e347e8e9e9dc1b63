"""C: one source file of plain C99 without dependencies, safe to call from several threads.

All nodes of all trees are in one table, where the two children of a split are next to each other
and a leaf leads to itself. Eight documents go down a tree together, a step of all of them at a
time, so that the processor works on several at once. Every operation is that of the ranker, so
scores are equal bit for bit, as long as the compiler does not reorder floating-point operations
(no ``-ffast-math``).
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from treerank.exports.format import Format
from treerank.exports.written import Written
from treerank.forests.forest import Forest

_HEAD = """\
/* A ranker exported by treerank, in C99. Compile without -ffast-math.

   void treerank_score(const double *x, size_t n, double *scores);
       Scores n documents of TREERANK_N_FEATURES values each, row after row. Missing values are NaN.
   const char *const treerank_feature_names[TREERANK_N_FEATURES];
       Names of the columns. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define TREERANK_N_FEATURES {n_features}
#define N_TREES {n_trees}
#define N_TOGETHER 8

void treerank_score(const double *x, size_t n, double *scores);
extern const char *const treerank_feature_names[];

/* Flags: 1, missing values go to the first child; 2, a split by a set of categories. */
typedef struct {{ double threshold; int32_t first; uint32_t feature_and_flags; }} node_t;
"""
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
"""
_CODES = {"exact": "value", "truncated": "trunc(value)", "single": "floor((double)(float)value)"}
_STEP = """
static int32_t step(const double *x, int32_t at) {{
    const node_t node = nodes[at];
    double value = x[node.feature_and_flags >> 2];
    int is_missing = {is_missing};
    int is_left = (value <= node.threshold) & !is_missing;
{by_set}    is_left |= is_missing & (int)(node.feature_and_flags & 1u);
    return node.first + !is_left;
}}
"""
_BY_SET = """\
    if (node.feature_and_flags & 2u) {{
        is_missing = {is_missing};
        is_left = !is_missing && is_in(value, (int32_t)node.threshold);
    }}
"""
_SCORE = """
void treerank_score(const double *x, size_t n, double *scores) {{
    for (size_t begin = 0; begin < n; begin += N_TOGETHER) {{
        const double *row = x + begin * TREERANK_N_FEATURES;
        size_t m = n - begin < N_TOGETHER ? n - begin : N_TOGETHER;
        double total[N_TOGETHER];
        for (size_t i = 0; i < m; i++) total[i] = {constant};
        for (int32_t tree = 0; tree < N_TREES; tree++) {{
            int32_t at[N_TOGETHER];
            for (size_t i = 0; i < m; i++) at[i] = roots[tree];
            for (int32_t depth = depths[tree]; depth > 0; depth--)
                for (size_t i = 0; i < m; i++)
                    at[i] = step(row + i * TREERANK_N_FEATURES, at[i]);
            for (size_t i = 0; i < m; i++) total[i] = {add};
        }}
        for (size_t i = 0; i < m; i++) scores[begin + i] = total[i];
    }}
}}
"""


def write_c(written: Written) -> str:
    """Return the source."""
    forest = written.forest
    order = written.neighbors
    parts = [_HEAD.format(n_features=forest.n_features, n_trees=forest.n_trees)]
    parts += _tables(written, order)
    is_missing = is_missing_code = "value != value"
    if forest.missing_up_to >= 0:
        is_missing = f"(value != value) | (fabs(value) <= {_double(forest.missing_up_to)})"
    by_set = ""
    if forest.categories is not None:
        rule = forest.categories.rule
        parts.append(_SETS.format(code=_CODES[rule]))
        # Zeros are missing at splits by category under this rule only.
        by_set = _BY_SET.format(is_missing=is_missing if rule == "single" else is_missing_code)
    parts.append(_STEP.format(is_missing=is_missing, by_set=by_set))
    add = "total[i] + values[at[i]]"
    add = f"(float)({add})" if forest.sum_dtype == "float32" else add
    parts.append(_SCORE.format(constant=_double(float(forest.constant[0])), add=add))
    return "".join(parts)


def _tables(written: Written, order: np.ndarray) -> list[str]:
    """Return the arrays of the nodes, of the trees, of the sets and of the names."""
    forest = written.forest
    place = np.empty(forest.n_nodes, dtype=np.int64)
    place[order] = np.arange(forest.n_nodes)
    is_leaf = forest.is_leaf[order]
    flags = np.where(is_leaf, 1, forest.missing_left[order])
    first = np.where(is_leaf, place[order], place[forest.left[order]])
    thresholds = list(map(_double, np.where(is_leaf, np.inf, forest.threshold[order]).tolist()))
    if forest.categories is not None:
        of_node = forest.categories.of_node[order]
        flags[of_node >= 0] += 2
        for node in np.flatnonzero(of_node >= 0).tolist():
            thresholds[node] = str(of_node[node])
    words = np.maximum(forest.feature[order], 0).astype(np.int64) * 4 + flags
    rows = (
        f"{{{threshold}, {child}, {word}u}}"
        for threshold, child, word in zip(thresholds, first.tolist(), words.tolist(), strict=True)
    )
    values = map(_double, forest.values[order, 0].tolist())
    tables = [
        _table("node_t nodes", rows),
        _table("double values", values),
        _table("int32_t roots", map(str, place[forest.roots].tolist())),
        _table("int32_t depths", map(str, _depths(forest).tolist())),
    ]
    if forest.categories is not None:
        sets = forest.categories
        tables.append(_table("int32_t set_starts", map(str, sets.starts.tolist())))
        tables.append(_table("double set_codes", map(_double, [*sets.codes.tolist(), 0.0])))
    names = ",\n".join(_text(name) for name in written.names) or '""'
    tables.append(f"\nconst char *const treerank_feature_names[] = {{\n{names}}};\n")
    return tables


def _depths(forest: Forest) -> np.ndarray:
    """Return the depth of each tree."""
    depths = np.zeros(forest.n_trees, dtype=np.int64)
    level, tree, depth = forest.roots, np.arange(forest.n_trees), 0
    while len(level):
        depths[tree], depth = depth, depth + 1
        is_split = ~forest.is_leaf[level]
        parents, tree = level[is_split], np.tile(tree[is_split], 2)
        level = np.concatenate([forest.left[parents], forest.right[parents]])
    return depths


def _table(name: str, rows: Iterable[str]) -> str:
    return f"\nstatic const {name}[] = {{\n" + ",\n".join(rows) + "};\n"


def _double(number: float) -> str:
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return repr(number)


def _text(name: Any) -> str:
    """Return a name as a C string: its UTF-8 bytes, in octal where they are not plain."""
    plain = (chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in b" _-.,:;()[]@+*/" else
             f"\\{byte:03o}" for byte in str(name).encode())  # fmt: skip
    return '"' + "".join(plain) + '"'


C = Format(write_c)
