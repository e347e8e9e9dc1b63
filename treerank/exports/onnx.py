"""ONNX: a graph with one ``TreeEnsemble`` of ``ai.onnx.ml`` 5, from doubles ``X`` to ``scores``.

Trees that are added in single precision are evaluated in single precision: the graph rounds the
values first, and goes left if ``value < threshold`` as XGBoost does. The trees are added one after
the other if the runtime uses one thread; with several threads it may add them in another order,
which can change last bits. Then the features of a line are added, one after the other, and last the
outputs of networks, whose matrix products have no fixed order of sums.

onnxruntime before 1.24 scores some of these forests wrongly, without an error.
"""

from typing import Any

import numpy as np

from treerank.exports.comparison import AT_MOST, BELOW_SINGLE
from treerank.exports.consumer import Consumer
from treerank.exports.format import Format
from treerank.exports.onnx_graph import DOUBLE, FLOAT, Graph
from treerank.exports.onnx_network import add_line, add_network
from treerank.exports.written import Written

_AT_MOST, _BELOW, _MEMBER = 0, 1, 6


def write_onnx(written: Written) -> bytes:
    """Return the model."""
    graph = Graph()
    others = [] if written.line is None else [add_line(graph, written.line)]
    others += [add_network(graph, network) for network in written.networks]
    if not others:
        _add_trees(graph, written, "scores")
        return graph.model(written.names)
    if written.forest.n_trees:
        others.insert(0, _add_trees(graph, written, "trees"))
    # Sums up to each column: of all sums of ONNX, this one has an order.
    sums = graph.add("CumSum", graph.add("Concat", *others, axis=1), np.int64(1))
    graph.add("Gather", sums, np.array([-1]), axis=1, target="scores")
    return graph.model(written.names)


def _add_trees(graph: Graph, written: Written, target: str) -> str:
    """Add the trees; return the column of their sums."""
    attributes = _trees(written)
    if written.thresholds.dtype != np.float32:
        return graph.add("TreeEnsemble", "X", target=target, domain="ai.onnx.ml", **attributes)
    values = graph.add("Cast", "X", to=FLOAT)
    sums = graph.add("TreeEnsemble", values, domain="ai.onnx.ml", **attributes)
    return graph.add("Cast", sums, target=target, to=DOUBLE)


def _trees(written: Written) -> dict[str, Any]:
    """Return the attributes of the trees; splits and leaves are numbered apart."""
    forest, dtype = written.forest, written.thresholds.dtype
    is_leaf, lone = forest.is_leaf, forest.is_leaf[forest.roots]
    place = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
    splits, n_splits = np.flatnonzero(~is_leaf), int((~is_leaf).sum())
    # A tree of one leaf becomes a split of which both sides have its value. They are two leaves,
    # since onnxruntime up to 1.27 takes a split with twice the same leaf for another one.
    lone_leaves, n_leaves = place[forest.roots[lone]], int(is_leaf.sum())
    copies = n_leaves + np.arange(len(lone_leaves))
    roots = place[forest.roots]
    roots[lone] = n_splits + np.arange(len(lone_leaves))
    children = [place[side[splits]] for side in (forest.left, forest.right)]
    ends = [is_leaf[side[splits]] for side in (forest.left, forest.right)]
    leaves = forest.values[is_leaf, 0]
    zeros, ones = np.zeros(len(lone_leaves), np.int64), np.ones(len(lone_leaves), np.int64)
    below = _BELOW if dtype == np.float32 else _AT_MOST
    modes = np.array([_MEMBER if node in written.sets else below for node in splits.tolist()])
    members = [np.append(written.sets[n], np.nan) for n in splits.tolist() if n in written.sets]
    attributes: dict[str, Any] = {
        "aggregate_function": 1,
        "leaf_targetids": np.zeros(n_leaves + len(copies), np.int64),
        "leaf_weights": np.append(leaves, leaves[lone_leaves]).astype(dtype),
        "n_targets": 1,
        "nodes_falseleafs": np.append(ends[1].astype(np.int64), ones),
        "nodes_falsenodeids": np.append(children[1], copies),
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
    adds=("line", "network"),
)
