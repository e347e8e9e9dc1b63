"""Models of LightGBM, in its text format, as forests.

LightGBM adds the values of leaves in double precision, tree after tree. A value up to 1e-35 is
read as zero. A missing value is zero, too, or goes to a side of its own; and zero itself may be
missing. Every field that LightGBM itself reads is checked, so that it can read a model that was
accepted here: LightGBM checks little and crashes on many damaged models.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from treerank.forests.forest import CategorySets, Forest
from treerank.forests.thresholds import LIGHTGBM_ZERO, with_lightgbm_zero

_END = "end of trees\n"
_HEADER = {
    *("feature_infos", "feature_names", "label_index", "max_feature_idx", "monotone_constraints"),
    *("num_class", "num_tree_per_iteration", "tree_sizes", "version"),
}
_WHOLE = r"-?[0-9]{1,10}"
_REAL = r"-?(?:[0-9]{1,20}(?:\.[0-9]{1,25})?(?:e[-+][0-9]{1,3})?|inf|nan)"
#: Lines of numbers of a type. A repeat that is possessive (*+) takes no memory.
_LINES = {
    np.int64: re.compile(rf"(?:{_WHOLE}(?: {_WHOLE})*+)?"),
    np.float64: re.compile(rf"(?:{_REAL}(?: {_REAL})*+)?"),
}
#: Lines of a tree with numbers of a type, one number for each split, and one for each leaf.
_PER_SPLIT = {
    np.int64: ("decision_type", "internal_count", "left_child", "right_child", "split_feature"),
    np.float64: ("internal_value", "internal_weight", "split_gain", "threshold"),
}
_PER_LEAF = {np.int64: ("leaf_count",), np.float64: ("leaf_value", "leaf_weight")}
_NEEDED = {"left_child", "right_child", "split_feature", "threshold", "leaf_value"}
_OTHER = ("num_leaves", "num_cat", "cat_boundaries", "cat_threshold", "is_linear", "shrinkage")
_KNOWN = {*_OTHER, *chain(*_PER_SPLIT.values(), *_PER_LEAF.values())}
#: Categories of pandas, told behind the trees, for each column of categories in order.
_LEVELS = re.compile(r"^pandas_categorical:(\[.*\])$", re.MULTILINE)
_SIGNS = re.compile(r"^monotone_constraints=(.+)$", re.MULTILINE)
_INFOS = re.compile(r"^feature_infos=(.*)$", re.MULTILINE)
#: What a model tells of a column of categories: its codes; and of numbers: their range.
_CODES = re.compile(r"-?\d{1,10}(:-?\d{1,10})*+")
_RANGE = re.compile(rf"\[({_REAL}):({_REAL})\]")
#: The columns of categories among the parameters, if LightGBM itself wrote them.
_CATEGORICAL = re.compile(r"^\[categorical_feature: (\d{1,10}(?:,\d{1,10})*+)\]$", re.MULTILINE)
#: Bits of a decision type.
_IS_CATEGORY, _IS_DEFAULT_LEFT, _IS_ZERO_MISSING, _IS_NAN_MISSING = 1, 2, 4, 8


def read_lightgbm(text: str, *, with_objective: bool = True) -> Forest:
    """Return the trees of a model's text, which score as ``predict(X, raw_score=True)`` does.

    A random forest is the mean of its trees, up to rounding, where raw scores are their sum. A
    damaged model is refused, and one of a kind that a forest cannot hold: leaves that are linear
    functions, and zeros that are missing for some splits only. Trees that were grown by this
    package have no objective, which is then refused, too.
    """
    body, end, _ = text.partition(_END)
    if not end or re.search(r"[\r\0]", body):
        _refuse("an end of its trees")
    if "\nis_linear=1\n" in body:
        _refuse("no linear functions in leaves to be a forest")
    head, *blocks = re.split(r"^Tree=", body, flags=re.MULTILINE)
    lines = [line for line in head.split("\n") if line not in ("", "tree")]
    is_mean = "average_output" in lines
    if is_mean:
        lines.remove("average_output")
    fields = _fields(lines, _HEADER | {"objective"} if with_objective else _HEADER)
    n_features = _whole(fields, "max_feature_idx", least=-1) + 1
    n_outputs = _whole(fields, "num_tree_per_iteration", least=1)
    names = tuple(_text(fields, "feature_names").split(" "))
    _check_header(fields, blocks, n_features, n_outputs, names)
    trees = [_tree(block, number, n_features) for number, block in enumerate(blocks)]
    forest = forest_of_trees(trees, n_features, n_outputs, names)
    return averaged(forest) if is_mean else forest


def averaged(forest: Forest) -> Forest:
    """Return a forest that averages the trees of each output instead of summing them."""
    n_iterations = max(1, forest.n_trees // forest.n_outputs)
    return replace(forest, values=forest.values / n_iterations)


def forest_of_trees(
    trees: list[dict[str, np.ndarray]], n_features: int, n_outputs: int, names: tuple[str, ...]
) -> Forest:
    """Return the forest of the arrays of trees, given LightGBM's decision types at their splits.

    Refuses trees in which zeros are missing for some splits only.
    """
    decision = np.concatenate([tree["decision"] for tree in trees])
    numeric = decision & _IS_CATEGORY == 0
    kinds = [(decision[numeric] & kind).any() for kind in (_IS_ZERO_MISSING, _IS_NAN_MISSING)]
    if all(kinds):
        _refuse("no zeros that are missing for some splits only to be a forest")
    return _forest(trees, n_features, n_outputs, names, zero_is_missing=kinds[0])


def read_lightgbm_model(text: str) -> Forest:
    """Return the trees of a model's text, with constraints and categories of columns if known."""
    forest, sign_match = read_lightgbm(text), _SIGNS.search(text)
    if sign_match:
        forest = with_signs(forest, [*map(int, sign_match[1].split(" "))])
    end = text.rfind("\nend of trees")
    level_match, column_match = _LEVELS.search(text, end), _CATEGORICAL.search(text, end)
    if not level_match:
        return forest
    infos = _INFOS.findall(text)[0].split(" ")
    codes = [[*map(int, info.split(":"))] if _CODES.fullmatch(info) else [] for info in infos]
    matches = [_RANGE.fullmatch(info) for info in infos]
    ranges = [match and (float(match[1]), float(match[2])) for match in matches]
    columns = sorted(map(int, column_match[1].split(","))) if column_match else None
    return with_levels(forest, json.loads(level_match[1]), codes, ranges, columns)


def with_signs(forest: Forest, signs: list[int]) -> Forest:
    """Return a forest with the monotone constraints of its columns: -1, 0 for none, or 1."""
    by_column = {j: sign for j, sign in enumerate(signs) if sign != 0}
    return replace(forest, monotone_constraints=by_column or None)


def with_levels(
    forest: Forest,
    levels: list[list[Any]],
    codes: list[list[int]],
    ranges: list[tuple[float, float] | None],
    columns: list[int] | None = None,
) -> Forest:
    """Return a forest with the categories of its columns, if it is certain which columns have them.

    Parameters
    ----------
    forest : Forest
        The trees.
    levels : list of lists
        Categories of the columns of pandas' categorical types, in the order of these columns.
    codes, ranges : list
        Codes of each column of categories, and smallest and largest number of each other one. A
        column has neither if LightGBM ignored it, as it does where all rows but a few are equal.
    columns : list of int, default=None
        The columns of categories. None takes the columns with codes, and, if there are too few,
        all ignored columns.
    """
    if columns is None:
        columns = [j for j, known in enumerate(codes) if known]
        most = max(map(len, levels), default=0)
        if len(columns) < len(levels) and not any(_may_be_ordered(r, most) for r in ranges):
            columns = [j for j, r in enumerate(ranges) if r is None]
    if not levels or len(columns) != len(levels) or columns[-1] >= forest.n_features:
        return forest
    by_column = dict(zip(columns, levels, strict=True))
    if any(ranges[j] or max(codes[j], default=-1) >= len(by_column[j]) for j in columns):
        return forest
    return replace(forest, levels=by_column)


def _may_be_ordered(numbers: tuple[float, float] | None, most: int) -> bool:
    """Tell whether a column may hold codes of ordered categories, which LightGBM takes as numbers.

    ``numbers`` are its smallest and largest one, and ``most`` is the largest number of categories.
    """
    if numbers is None:
        return False
    return 0 <= numbers[0] and numbers[1] < most and all(map(float.is_integer, numbers))


def trees_of_text(text: str) -> str:
    """Return a model's text up to the end of the trees, without parameters."""
    trees, end, _ = text.partition(_END)
    return trees + end


def _check_header(fields, blocks, n_features, n_outputs, names):
    _text(fields, "version")
    _whole(fields, "label_index")
    if _whole(fields, "num_class") != n_outputs or len(blocks) % n_outputs or not blocks:
        _refuse("the same number of trees for each class")
    if any("=" in value for name, value in fields.items() if name != "feature_names"):
        _refuse("one = in each line")
    infos = _text(fields, "feature_infos").split(" ")
    if not len(names) == len(infos) == n_features or "" in names or "" in infos:
        _refuse("a name and an info for each feature")
    if "monotone_constraints" in fields:
        signs = _numbers(fields, "monotone_constraints", np.int64, n_features)
        if not np.isin(signs, (-1, 0, 1)).all():
            _refuse("-1, 0 or 1 as monotone constraints")
    sizes = _numbers(fields, "tree_sizes", np.int64, len(blocks))
    if not np.array_equal(sizes, [len("Tree=" + block) for block in blocks]):
        _refuse("the sizes of its trees")


def _tree(block, number, n_features):
    """Return the checked arrays of one tree from its text, splits before leaves.

    Children, and sets of categories, are numbered from 0.
    """
    first, *lines = block.split("\n")
    if first != str(number) or not block.isascii() or lines[-3:] != ["", "", ""]:
        _refuse("numbered trees, each with two empty lines after it")
    fields = _fields(lines[:-3], _KNOWN)
    n_leaves, n_sets = _whole(fields, "num_leaves", least=1), _whole(fields, "num_cat")
    if n_leaves > len(block):
        _refuse("values for all leaves")
    if n_leaves == 1 and fields.get("leaf_weight") == "":
        del fields["leaf_weight"]  # LightGBM writes none for one leaf, and then reads none
    arrays = _arrays(fields, n_leaves)
    if fields.get("is_linear", "0") != "0":
        _refuse("0 as is_linear")
    if "shrinkage" in fields:
        _numbers(fields, "shrinkage", np.float64, 1)
    set_sizes, codes = _sets(fields, n_sets, len(block))
    return _nodes(arrays, set_sizes, codes, n_features)


def _arrays(fields, n_leaves):
    """Return arrays by name: those with a number for each split, and for each leaf.

    Lines that are not needed may be missing.
    """
    arrays = {"decision_type": np.zeros(n_leaves - 1, dtype=np.int64)}
    for kinds, size in ((_PER_SPLIT, n_leaves - 1), (_PER_LEAF, n_leaves)):
        for dtype, names in kinds.items():
            stored_names = [name for name in names if name in fields or name in _NEEDED]
            arrays |= {name: _numbers(fields, name, dtype, size) for name in stored_names}
    return arrays


def _nodes(arrays, set_sizes, codes, n_features):
    values, threshold = arrays["leaf_value"], arrays["threshold"]
    n_splits, n_leaves = len(values) - 1, len(values)
    decision, feature = arrays["decision_type"], arrays["split_feature"]
    missing = decision & (_IS_ZERO_MISSING | _IS_NAN_MISSING)
    if ((decision < 0) | (decision > 11)).any() or (missing == 12).any():
        _refuse("decision types that LightGBM has")
    if ((feature < 0) | (feature >= n_features)).any():
        _refuse("features of splits among its features")
    children = np.stack([arrays["left_child"], arrays["right_child"]])
    if ((children < -n_leaves) | (children >= n_splits)).any():
        _refuse("children among its nodes")
    children = np.where(children < 0, n_splits + ~children, children)
    is_set = decision & _IS_CATEGORY == 1
    if not np.isin(threshold[is_set], np.arange(len(set_sizes))).all():
        _refuse("a set for each split by category")
    of_node = np.where(is_set, threshold, -1).astype(np.int64)
    leaf, zero = np.full(n_leaves, -1), np.zeros(n_leaves, dtype=np.int64)
    return {
        "feature": np.append(feature, leaf),
        "threshold": np.append(threshold, zero),
        "left": np.append(children[0], leaf),
        "right": np.append(children[1], leaf),
        "decision": np.append(decision, zero),
        "values": np.append(np.zeros(n_splits), values),
        "of_node": np.append(of_node, leaf),
        "set_sizes": set_sizes,
        "codes": codes,
    }


def _sets(fields, n_sets, most):
    """Return ``(sizes, codes)`` of all sets of categories, which are stored as bits of words.

    ``most`` is a bound on the number of codes.
    """
    if n_sets == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    ends = _numbers(fields, "cat_boundaries", np.int64, n_sets + 1)
    words = _numbers(fields, "cat_threshold", np.int64, int(ends[-1]))
    if ends[0] != 0 or (np.diff(ends) < 1).any():
        _refuse("sets of categories one after the other")
    if ((words < 0) | (words >= 2**32)).any():
        _refuse("words of 32 bits for sets of categories")
    sizes = np.add.reduceat(np.bitwise_count(words), ends[:-1], dtype=np.int64)
    if sizes.sum() > most:
        _refuse("fewer categories in its sets")
    bits = np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))
    first_word = np.repeat(ends[:-1], np.diff(ends))  # of the set of each word
    return sizes, (bits - 32 * first_word[bits // 32]).astype(np.float64)


def _forest(trees, n_features, n_outputs, names, *, zero_is_missing):
    sizes = [len(tree["feature"]) for tree in trees]
    starts = np.append(0, np.cumsum(sizes))
    shift = np.repeat(starts[:-1], sizes)
    feature, threshold, left, right, decision, values, of_node, set_sizes, codes = (
        np.concatenate(arrays) for arrays in zip(*(tree.values() for tree in trees), strict=True)
    )
    is_leaf, is_set = feature < 0, of_node >= 0
    goes_by_zero = decision & (_IS_ZERO_MISSING | _IS_NAN_MISSING) == 0
    missing_left = np.where(goes_by_zero, threshold >= 0, decision & _IS_DEFAULT_LEFT != 0)
    missing_left &= ~is_leaf & ~is_set
    # No number is up to NaN, which is a threshold between missing values and all others. So all
    # numbers go right. They go left here, and the children are swapped.
    swapped = np.isnan(threshold)
    threshold = np.where(swapped, np.inf, with_lightgbm_zero(threshold))
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    sets = None
    if len(set_sizes):
        n_sets = [len(tree["set_sizes"]) for tree in trees]
        first_set = np.repeat(np.cumsum(n_sets) - n_sets, sizes)
        of_node = np.where(is_set, of_node + first_set, -1).astype(np.int32)
        sets = CategorySets(of_node, np.append(0, np.cumsum(set_sizes)), codes, "truncated")
    return Forest(
        n_features=n_features,
        roots=starts[:-1].astype(np.int32),
        feature=feature.astype(np.int32),
        threshold=np.where(is_set | is_leaf, 0.0, threshold),
        left=np.where(is_leaf, -1, left + shift).astype(np.int32),
        right=np.where(is_leaf, -1, right + shift).astype(np.int32),
        missing_left=missing_left ^ swapped,
        values=values[:, None],
        tree_output=(np.arange(len(trees)) % n_outputs).astype(np.int32),
        constant=np.zeros(n_outputs),
        categories=sets,
        missing_up_to=LIGHTGBM_ZERO if zero_is_missing else -1.0,
        feature_names=names,
    )


def _fields(lines: Iterable[str], field_names: set[str]) -> dict[str, str]:
    """Return lines ``name=value`` as a dict; refuse unknown and repeated names."""
    fields: dict[str, str] = {}
    for line in lines:
        name, sign, value = line.partition("=")
        if not sign or name not in field_names or name in fields:
            _refuse("lines with known names, each name once")
        fields[name] = value
    return fields


def _text(fields, name):
    if name not in fields:
        _refuse(f"a line {name}")
    return fields[name]


def _whole(fields, name, *, least=0):
    numbers = _numbers(fields, name, np.int64, 1)
    if not least <= numbers[0] < 2**31:
        _refuse(f"a whole number from {least} to {2**31 - 1} as {name}")
    return int(numbers[0])


def _numbers(fields, name, dtype, size):
    line = _text(fields, name)
    if not _LINES[dtype].fullmatch(line) or line.count(" ") + bool(line) != size:
        _refuse(f"{size} numbers as {name}")
    return np.fromstring(line, dtype=dtype, sep=" ") if line else np.zeros(0, dtype)


def _refuse(rule: str) -> NoReturn:
    raise ValueError(f"A model of LightGBM must have {rule}.")
