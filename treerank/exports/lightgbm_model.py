"""LightGBM: the text of its models, for LightGBM itself and for programs that read its files.

LightGBM compares and adds doubles. It reads numbers up to 1e-35 as zero, takes the whole part of a
number as its category, and sends a missing category right.
"""

from itertools import chain
from typing import Any

import numpy as np

from treerank.exports.comparison import AT_MOST_LIGHTGBM
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.written import Written
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
    trees = [f"Tree={i}\n{_tree(written, root)}\n\n" for i, root in enumerate(written.roots)]
    head = _HEADER.format(
        last=written.forest.n_features - 1,
        names=" ".join(_name(name) for name in written.names),
        infos=" ".join(_infos(written)),
        sizes=" ".join(str(len(tree)) for tree in trees),
    )
    return head + "".join(trees) + "end of trees\n\nparameters:\n\nend of parameters\n"


def _tree(written: Written, root: int) -> str:
    """Return one tree: splits and leaves are numbered apart, leaves as -1, -2 and so on."""
    nodes, sets = written.columns, written.sets
    order = written.nodes_of(root)
    splits = [node for node in order if nodes["left"][node] >= 0]
    leaves = [node for node in order if nodes["left"][node] < 0]
    place = {node: i for i, node in enumerate(splits)} | {n: ~i for i, n in enumerate(leaves)}
    own_sets = [sets[node] for node in splits if node in sets]
    number = iter(range(len(own_sets)))
    missing = _ZERO if written.forest.missing_up_to >= 0 else _NAN
    lines: dict[str, list[Any]] = {
        "num_leaves": [len(leaves)],
        "num_cat": [len(own_sets)],
        "split_feature": [nodes["feature"][node] for node in splits],
        "split_gain": [0] * len(splits),
        "threshold": [next(number) if n in sets else nodes["threshold"][n] for n in splits],
        "decision_type": [
            _CATEGORY + missing if n in sets else missing + _LEFT * nodes["missing_left"][n]
            for n in splits
        ],
        "left_child": [place[nodes["left"][node]] for node in splits],
        "right_child": [place[nodes["right"][node]] for node in splits],
        "leaf_value": [nodes["value"][node] for node in leaves],
        "leaf_weight": [1] * len(leaves),
        "leaf_count": [1] * len(leaves),
        "internal_value": [0] * len(splits),
        "internal_weight": [0] * len(splits),
        "internal_count": [1] * len(splits),
    }
    if own_sets:
        words = [_words(codes) for codes in own_sets]
        lines["cat_boundaries"] = [0, *np.cumsum([len(each) for each in words]).tolist()]
        lines["cat_threshold"] = list(chain(*words))
    lines |= {"is_linear": [0], "shrinkage": [1]}
    return "".join(f"{name}={' '.join(map(repr, line))}\n" for name, line in lines.items())


def _words(codes: list[float]) -> list[int]:
    """Return a set as the bits of words."""
    bits = np.zeros(int(codes[-1]) // 32 * 32 + 32, dtype=np.uint8)
    bits[np.array(codes, dtype=np.int64)] = 1
    return np.packbits(bits, bitorder="little").view("<u4").tolist()


def _infos(written: Written) -> list[str]:
    """Return what each feature is: not used, a number, or one of some categories."""
    forest = written.forest
    infos = ["none"] * forest.n_features
    for feature in forest.feature[~forest.is_leaf].tolist():
        infos[feature] = "[-1e+300:1e+300]"
    for node, codes in written.sets.items():
        feature = written.columns["feature"][node]
        known = [] if infos[feature][0] == "[" else infos[feature].split(":")
        infos[feature] = ":".join(sorted({*known, *(str(int(code)) for code in codes)}, key=int))
    return infos


def _name(name: str) -> str:
    """Return a name without what LightGBM does not allow in names."""
    return "".join("_" if char in ' ,:[]{}"' or not char.isprintable() else char for char in name)


LIGHTGBM = Format(
    write_lightgbm,
    Consumer(
        AT_MOST_LIGHTGBM,
        categories="truncated",
        missing_category="right",
        zero_up_to=LIGHTGBM_ZERO,
    ),
)
