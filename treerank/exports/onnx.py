"""ONNX: a graph with one ``TreeEnsemble`` of ``ai.onnx.ml`` 5, from doubles ``X`` to ``scores``.

Trees that are added in single precision are evaluated in single precision: the graph rounds the
values first, and goes left if ``value < threshold`` as XGBoost does. The trees are added one after
the other if the runtime uses one thread; with several threads it may add them in another order,
which can change last bits.
"""

from typing import Any

import numpy as np

from treerank.exports.comparison import AT_MOST, BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.protobuf import message, tensor
from treerank.exports.written import Written

_IR_VERSION, _OPSET, _ML_OPSET = 10, 21, 5
_FLOAT, _DOUBLE = 1, 11
_AT_MOST, _BELOW, _MEMBER = 0, 1, 6


def write_onnx(written: Written) -> bytes:
    """Return the model."""
    single = written.thresholds.dtype == np.float32
    nodes = [_node("TreeEnsemble", "x" if single else "X", "y" if single else "scores", written)]
    if single:
        nodes = [_cast("X", "x", _FLOAT), *nodes, _cast("y", "scores", _DOUBLE)]
    graph = message(
        *((1, node) for node in nodes),
        (2, "treerank"),
        (11, _documents("X", written.forest.n_features)),
        (12, _documents("scores", 1)),
    )
    opsets = [message((1, ""), (2, _OPSET)), message((1, "ai.onnx.ml"), (2, _ML_OPSET))]
    names = message((1, "feature_names"), (2, "\n".join(written.names)))
    return message(
        (1, _IR_VERSION), (2, "treerank"), (7, graph), *((8, each) for each in opsets), (14, names)
    )


def _node(kind: str, source: str, target: str, written: Written) -> bytes:
    attributes = [(5, _attribute(name, value)) for name, value in _trees(written).items()]
    return message((1, source), (2, target), (4, kind), *attributes, (7, "ai.onnx.ml"))


def _cast(source: str, target: str, kind: int) -> bytes:
    return message((1, source), (2, target), (4, "Cast"), (5, _attribute("to", kind)))


def _attribute(name: str, value: Any) -> bytes:
    """Return an attribute: a whole number, several of them, or a tensor."""
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    if value.dtype == np.int64:
        return message((1, name), (8, value.tolist()), (20, 7))
    return message((1, name), (5, tensor(value)), (20, 4))


def _documents(name: str, width: int) -> bytes:
    """Return the type of doubles of shape ("n_documents", width)."""
    shape = message((1, message((2, "n_documents"))), (1, message((1, width))))
    return message((1, name), (2, message((1, message((1, _DOUBLE), (2, shape))))))


def _trees(written: Written) -> dict[str, Any]:
    """Return the attributes of the trees; splits and leaves are numbered apart."""
    forest, dtype = written.forest, written.thresholds.dtype
    is_leaf, lone = forest.is_leaf, forest.is_leaf[forest.roots]
    place = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
    splits, n_splits = np.flatnonzero(~is_leaf), int((~is_leaf).sum())
    # A tree of one leaf becomes a split of which both sides are this leaf.
    lone_leaves = place[forest.roots[lone]]
    roots = place[forest.roots]
    roots[lone] = n_splits + np.arange(len(lone_leaves))
    children = [place[side[splits]] for side in (forest.left, forest.right)]
    ends = [is_leaf[side[splits]] for side in (forest.left, forest.right)]
    zeros, ones = np.zeros(len(lone_leaves), np.int64), np.ones(len(lone_leaves), np.int64)
    below = _BELOW if dtype == np.float32 else _AT_MOST
    modes = np.array([_MEMBER if node in written.sets else below for node in splits.tolist()])
    members = [np.append(written.sets[n], np.nan) for n in splits.tolist() if n in written.sets]
    attributes: dict[str, Any] = {
        "aggregate_function": 1,
        "leaf_targetids": np.zeros(int(is_leaf.sum()), np.int64),
        "leaf_weights": forest.values[is_leaf, 0].astype(dtype),
        "n_targets": 1,
        "nodes_falseleafs": np.append(ends[1].astype(np.int64), ones),
        "nodes_falsenodeids": np.append(children[1], lone_leaves),
        "nodes_featureids": np.append(forest.feature[splits].astype(np.int64), zeros),
        "nodes_missing_value_tracks_true": np.append(
            forest.missing_left[splits].astype(np.int64), zeros
        ),
        "nodes_modes": np.append(modes, zeros).astype(np.uint8),
        "nodes_splits": np.append(written.thresholds[splits], zeros).astype(dtype),
        "nodes_trueleafs": np.append(ends[0].astype(np.int64), ones),
        "nodes_truenodeids": np.append(children[0], lone_leaves),
        "post_transform": 0,
        "tree_roots": roots,
    }
    if members:
        attributes["membership_values"] = np.concatenate(members).astype(dtype)
    return attributes


ONNX = Format(
    write_onnx,
    Consumer(AT_MOST, categories="exact"),
    single=Consumer(BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32", categories="exact"),
)
