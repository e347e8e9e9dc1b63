"""A ranker exported by treerank: plain Python 3.8 or newer, without any package.

``score(document)``
    The score of a document; higher is better.
``scores(documents)``
    The scores of several documents, by NumPy where it is installed: the same bits, faster.
``code(feature, category)``
    The number that stands for a category; None for one that training did not have.
``FEATURES``, ``CATEGORIES``
    Names of the features in their order, and lists of categories by the name of the feature.

A document is a mapping that has every name in FEATURES, categories unencoded; or a sequence of
numbers in the order of FEATURES, with codes of categories. A missing value is None or NaN, and so
is a category that training did not have. Instead of the features title_0, title_1 and so on, a
mapping may have an embedding, a list of these numbers, as "title".
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

# fmt: off
_MODEL = json.loads('{"features":[],"categories":[],"constant":0,"single":false,"missing_up_to":-1,"rule":"exact","linear":[],"trees":[]}')  # noqa: E501
# fmt: on
FEATURES = _MODEL["features"]
CATEGORIES = {FEATURES[column]: levels for column, levels in _MODEL["categories"]}
_CODES = {
    column: {level: number for number, level in enumerate(levels)}
    for column, levels in _MODEL["categories"]
}
# Features by the name of the embedding that they may be the entries of.
_EMBEDDINGS: dict[str, list[str]] = {}
for _name in FEATURES:
    _base, _, _number = _name.rpartition("_")
    if _number == "0" and _base not in FEATURES:
        _entries = [_name]
        while f"{_base}_{len(_entries)}" in FEATURES:
            _entries.append(f"{_base}_{len(_entries)}")
        _EMBEDDINGS[_base] = _entries
_CONSTANT, _IS_SINGLE, _RULE = _MODEL["constant"], _MODEL["single"], _MODEL["rule"]
_MISSING_UP_TO, _LINEAR = _MODEL["missing_up_to"], _MODEL["linear"]
# A tree is three lists over its nodes: the feature (its complement where missing values go left,
# None in leaves); the threshold, the set of codes that go left, or the value of a leaf; and the
# right child. The left child is the next node.
_TREES = [
    (feature, [frozenset(n) if isinstance(n, list) else n for n in number], right)
    for feature, number, right in _MODEL["trees"]
]
_SET_FEATURES = {
    j if j >= 0 else ~j
    for feature, number, _ in _TREES
    for j, n in zip(feature, number)  # noqa: B905  (Python 3.8)
    if isinstance(n, frozenset)
}


def score(document: Any) -> float:
    """Return the score of a document."""
    values = _values(document)
    numbers = values if _MISSING_UP_TO < 0 else [_without_zeros(value) for value in values]
    codes = {j: _code_of(values[j]) for j in _SET_FEATURES}
    total = _CONSTANT
    for feature, number, right in _TREES:
        node, j = 0, feature[0]
        while j is not None:
            column, limit = (j if j >= 0 else ~j), number[node]
            if isinstance(limit, frozenset):
                value = codes[column]
                is_left = j < 0 if value is None else value in limit
            else:
                value = numbers[column]
                is_left = j < 0 if value is None else value <= limit
            node = node + 1 if is_left else right[node]
            j = feature[node]
        total += number[node]
        if _IS_SINGLE:
            total = _single(total)
    for j, factor, offset in _LINEAR:
        if values[j] is not None:
            total += factor * values[j] + offset
    return total


def scores(documents: Any) -> list[float]:
    """Return the scores of documents as a list: a list of documents, or a two-dimensional array."""
    if hasattr(documents, "columns"):
        raise TypeError(
            "documents must be a list of documents or an array; of a data frame, write "
            "frame.to_dict('records') in pandas or frame.to_dicts() in polars."
        )
    try:
        import numpy
    except ImportError:
        return [score(document) for document in documents]
    return _scores_by_numpy(numpy, documents)


def code(feature: str, category: Any) -> int | None:
    """Return the number that stands for a category; None for one that training did not have."""
    return _CODES.get(FEATURES.index(feature), {}).get(category)


def _values(document):
    """Return the values of a document as numbers; None is a missing one."""
    if hasattr(document, "keys"):
        document = _with_entries(document)
        for name in FEATURES:
            if name not in document:
                raise KeyError(f"document must have every feature, None if missing; lacks {name!r}")
        values = [document[name] for name in FEATURES]
        for j, codes in _CODES.items():
            values[j] = codes.get(values[j])
    else:
        values = list(document)
        if len(values) != len(FEATURES):
            raise ValueError(
                f"document must have {len(FEATURES)} values, those of FEATURES; got {len(values)}"
            )
    for j, value in enumerate(values):
        if isinstance(value, (str, bytes)):
            raise TypeError(f"{FEATURES[j]!r} must be a number or None; got {value!r}")
        values[j] = None if value is None or value != value else float(value)
    return values


def _with_entries(document):
    """Return a document in which the entries of its embeddings have names of their own."""
    further: dict[str, Any] = {}
    for base, entries in _EMBEDDINGS.items():
        if base not in document or entries[0] in document:
            continue
        values = document[base]
        if values is None or (isinstance(values, float) and values != values):
            values = [None] * len(entries)
        if isinstance(values, (str, bytes)):
            raise TypeError(f"{base!r} must be a list of {len(entries)} numbers; got {values!r}")
        if not hasattr(values, "__len__"):  # another value of this name, which is no feature
            continue
        if len(values) != len(entries):
            raise ValueError(
                f"{base!r} must be a list of {len(entries)} numbers; got one of {len(values)}"
            )
        further.update(zip(entries, values))  # noqa: B905  (Python 3.8)
    return {**document, **further} if further else document


def _without_zeros(value):
    return None if value is None or abs(value) <= _MISSING_UP_TO else value


def _code_of(value):
    """Return the code of a category for a value; None if it is missing."""
    if value is None or (_RULE == "single" and _without_zeros(value) is None):
        return None
    if _RULE == "single":
        value = _single(value)
    if _RULE in ("exact", "whole") or math.isinf(value):
        return value
    return math.floor(value) if _RULE == "single" else math.trunc(value)


def _single(value):
    """Return a number rounded to single precision."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _scores_by_numpy(np, documents):
    """Return the scores of documents as a list; all trees are gone down together."""
    if hasattr(documents, "shape"):
        X = np.asarray(documents, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(FEATURES):
            raise ValueError(
                f"documents must have {len(FEATURES)} columns; got an array of shape {X.shape}"
            )
    else:
        rows = [_values(document) for document in documents]
        X = np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))
    arrays = _arrays(np)
    return [
        s for begin in range(0, len(X), 512) for s in _block(np, X[begin : begin + 512], arrays)
    ]


def _block(np, X, arrays):
    roots, feature, missing_left, threshold, right, value, sets, levels, members = arrays
    total = np.full(len(X), float(_CONSTANT))
    if len(roots):
        numbers = X
        if _MISSING_UP_TO >= 0:
            numbers = np.where(np.abs(X) <= _MISSING_UP_TO, np.nan, X)
        codes = numbers if _RULE == "single" else X
        if _RULE == "single" and len(levels):
            with np.errstate(over="ignore"):
                codes = np.floor(codes.astype(np.float32).astype(np.float64))
        elif _RULE == "truncated" and len(levels):
            codes = np.trunc(codes)
        node = np.repeat(roots[None, :], len(X), axis=0)
        rows = np.arange(len(X))[:, None]
        while True:
            column = feature[node]
            is_split = column >= 0
            if not is_split.any():
                break
            values = numbers[rows, column]
            is_left = values <= threshold[node]
            if len(levels):
                in_set = sets[node] >= 0
                coded = np.where(in_set, codes[rows, column], 0.0)
                values = np.where(in_set, coded, values)
                level = np.searchsorted(levels, coded)
                level[level == len(levels)] = 0
                key = sets[node] * len(levels) + level
                position = np.searchsorted(members, key)
                position[position == len(members)] = 0
                is_member = (levels[level] == coded) & (members[position] == key)
                is_left = np.where(in_set, is_member, is_left)
            is_left = np.where(np.isnan(values), missing_left[node], is_left)
            node = np.where(is_split, np.where(is_left, node + 1, right[node]), node)
        leaves = value[node]
        for tree in range(len(roots)):
            total += leaves[:, tree]
            if _IS_SINGLE:
                with np.errstate(over="ignore"):
                    total = total.astype(np.float32).astype(np.float64)
    for j, factor, offset in _LINEAR:
        total += np.where(np.isnan(X[:, j]), 0.0, factor * X[:, j] + offset)
    return total.tolist()


def _arrays(np):
    """Return the nodes of all trees as arrays; they are made once."""
    if not _ARRAYS:
        nodes: list[Any] = []
        roots: list[int] = []
        sets: list[Any] = []
        for feature, number, right in _TREES:
            begin = len(nodes)
            roots.append(begin)
            for j, n, child in zip(feature, number, right):  # noqa: B905  (Python 3.8)
                is_set, is_leaf = isinstance(n, frozenset), j is None
                nodes.append(
                    (
                        -1 if is_leaf else j if j >= 0 else ~j,
                        not is_leaf and j < 0,
                        0.0 if is_set or is_leaf else n,
                        begin + child,
                        n if is_leaf else 0.0,
                        len(sets) if is_set else -1,
                    )
                )
                if is_set:
                    sets.append(n)
        columns = list(zip(*nodes)) or [()] * 6  # noqa: B905  (Python 3.8)
        types = np.int64, bool, np.float64, np.int64, np.float64, np.int64
        made = [np.array(c, dtype=t) for c, t in zip(columns, types)]  # noqa: B905  (Python 3.8)
        levels = np.array(sorted(frozenset().union(*sets)), dtype=np.float64)
        keys = [
            i * len(levels) + np.searchsorted(levels, np.array(sorted(codes), dtype=np.float64))
            for i, codes in enumerate(sets)
        ]
        members = np.concatenate(keys).astype(np.int64) if keys else np.zeros(0, dtype=np.int64)
        _ARRAYS.append((np.array(roots, dtype=np.int64), *made, levels, members))
    return _ARRAYS[0]


_ARRAYS: list[Any] = []
