"""LightGBM: the text of its models, for LightGBM itself and for programs that read its files.

LightGBM compares and adds doubles. It reads numbers up to 1e-35 as zero, takes the whole part of a
number as its category, and sends a missing category right. Its Python package codes categories of
pandas by their lists behind the trees.

A forest has no counts of documents, by which LightGBM weighs leaves in SHAP values. So each leaf
counts as one document here.
"""

import json
from itertools import chain, compress
from operator import not_
from typing import Any

import numpy as np

from treerank.exports.consumer import Consumer
from treerank.exports.feature_names import NameRule
from treerank.exports.formats import ExportFormat
from treerank.exports.split_rule import AT_MOST_LIGHTGBM
from treerank.exports.written import Node, Written
from treerank.forests.thresholds import LIGHTGBM_ZERO

_HEADER = """\
tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx={last}
objective=lambdarank
feature_names={names}
feature_infos={infos}
tree_sizes={sizes}

"""
#: Bits of a decision type.
_CATEGORY, _LEFT, _ZERO, _NAN = 1, 2, 4, 8


def write_lightgbm(written: Written) -> str:
    """Return the text of the model."""
    missing = _ZERO if written.forest.missing_up_to >= 0 else _NAN
    texts = (_tree(tree, missing) for tree in written.trees())
    trees = [f"Tree={i}\n{text}\n\n" for i, text in enumerate(texts)]  # their sizes come first
    head = _HEADER.format(
        last=written.forest.n_features - 1,
        names=" ".join(written.names),
        infos=" ".join(_infos(written)),
        sizes=" ".join(str(len(tree)) for tree in trees),
    )
    end = "end of trees\n\nparameters:\n\nend of parameters\n"
    if written.levels:
        levels = [written.levels[j] for j in sorted(written.levels)]
        end += f"\npandas_categorical:{json.dumps(levels)}\n"
    return "".join([head, *trees, end])


def _tree(tree: list[Node], missing: int) -> str:
    """Return the text of one tree; ``missing`` are the bits that say what a missing value is.

    Splits and leaves are numbered apart, leaves as -1, -2 and so on.
    """
    _, features, limits, right, missing_left, values, _, counts, codes = zip(*tree, strict=True)
    is_split = [feature >= 0 for feature in features]
    numbering, n_splits, n_leaves = [], 0, 0
    for splits in is_split:
        numbering.append(n_splits if splits else ~n_leaves)
        n_splits, n_leaves = n_splits + splits, n_leaves + (not splits)
    decisions, thresholds = [missing + _LEFT * left for left in missing_left], [*limits]
    sets = {node: node_codes for node, node_codes in enumerate(codes) if node_codes is not None}
    for number, node in enumerate(sets):
        decisions[node], thresholds[node] = _CATEGORY + missing, number
    zeros, split_counts = " ".join("0" * n_splits), list(compress(counts, is_split))
    lines: dict[str, Any] = {
        "num_leaves": n_leaves,
        "num_cat": len(sets),
        "split_feature": list(compress(features, is_split)),
        "split_gain": zeros,
        "threshold": list(compress(thresholds, is_split)),
        "decision_type": list(compress(decisions, is_split)),
        "left_child": list(compress(numbering[1:], is_split)),
        "right_child": [numbering[node] for node in compress(right, is_split)],
        "leaf_value": list(compress(values, map(not_, is_split))),
        "leaf_weight": " ".join("1" * n_leaves),
        "leaf_count": " ".join("1" * n_leaves),
        "internal_value": zeros,
        "internal_weight": split_counts,
        "internal_count": split_counts,
    }
    if sets:
        bitsets = [_bitset(node_codes) for node_codes in sets.values()]
        lines["cat_boundaries"] = [0, *np.cumsum([len(bits) for bits in bitsets]).tolist()]
        lines["cat_threshold"] = list(chain(*bitsets))
    lines |= {"is_linear": 0, "shrinkage": 1}
    return "".join(f"{name}={_line(value)}\n" for name, value in lines.items())


def _line(value: Any) -> str:
    """Return a list as its numbers with spaces between; others as their text."""
    return repr(value)[1:-1].replace(",", "") if isinstance(value, list) else str(value)


def _bitset(codes: list[float]) -> list[int]:
    """Return a set of ascending codes as a bit set: a list of words of 32 bits."""
    bits = np.zeros(int(codes[-1]) // 32 * 32 + 32, dtype=np.uint8)
    bits[np.array(codes, dtype=np.int64)] = 1
    return np.packbits(bits, bitorder="little").view("<u4").tolist()


def _infos(written: Written) -> list[str]:
    """Return ``feature_infos``: "none" if not used, a range of numbers, or codes of categories."""
    forest = written.forest
    infos = ["none"] * forest.n_features
    for feature in forest.feature[~forest.is_leaf].tolist():
        infos[feature] = "[-1e+300:1e+300]"
    for node, codes in written.sets.items():
        feature = int(forest.feature[node])
        seen = [] if infos[feature][0] == "[" else infos[feature].split(":")
        infos[feature] = ":".join(sorted({*seen, *(str(int(code)) for code in codes)}, key=int))
    for feature, levels in written.levels.items():
        infos[feature] = ":".join(map(str, range(-1, len(levels))))
    return infos


def _refuses(char: str) -> bool:
    """Tell whether a character would break LightGBM's lists or its JSON if it was in a name."""
    return char in ' ,:[]{}"\\' or not char.isprintable()


LIGHTGBM = ExportFormat(
    write_lightgbm,
    Consumer(
        AT_MOST_LIGHTGBM, categories="truncated", missing_category="right", zero_up_to=LIGHTGBM_ZERO
    ),
    codes=range(2**16),
    names=NameRule(_refuses, takes_empty=False),
)
