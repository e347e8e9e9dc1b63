"""ONNX: a graph with one ``TreeEnsemble`` of ``ai.onnx.ml`` 5, from doubles ``X`` to ``scores``.

If asked for, ``relevance`` is a second output. The metadata has the names of the columns of ``X``,
one a line, as "feature_names". Where some are categories, "categories" is JSON, a list by name of
the column: the code of a category is its position in the list, from 0, and another one is NaN.

Trees that are added in single precision are evaluated in single precision: the graph rounds the
values first, and goes left if ``value < threshold`` as XGBoost does. The trees are added one after
the other if the runtime uses one thread; with several threads it may add them in another order,
which can change last bits. Then the features of a linear model are added, one after the other, and
last the outputs of networks, whose matrix products have no fixed order of sums.

onnxruntime before 1.24 scores some of these forests wrongly, without an error.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from treerank.exports.consumer import Consumer
from treerank.exports.feature_names import NameRule
from treerank.exports.formats import ExportFormat
from treerank.exports.onnx_graph import DOUBLE, FLOAT, Graph
from treerank.exports.split_rule import AT_MOST, BELOW_SINGLE
from treerank.exports.written import Written
from treerank.feature_parts.linear_component import LinearComponent
from treerank.feature_parts.network_component import Affine, Function, Network, Products, SoftSplits

_AT_MOST, _BELOW, _MEMBER = 0, 1, 6


def write_onnx(written: Written) -> bytes:
    """Return the model."""
    graph = Graph()
    addends = [] if written.linear is None else [_add_linear(graph, written.linear)]
    addends += [_add_network(graph, network) for network in written.networks]
    if not addends:
        _add_trees(graph, written, "scores")
    else:
        if written.forest.n_trees:
            addends.insert(0, _add_trees(graph, written, "trees"))
        # Sums up to each column: of all sums of ONNX, this one has an order.
        sums = graph.add("CumSum", graph.add("Concat", *addends, axis=1), np.int64(1))
        graph.add("Gather", sums, np.array([-1]), axis=1, target="scores")
    if written.log_odds is None:
        return graph.model(written.names, ["scores"], written.levels_by_name)
    slope, intercept = written.log_odds.T
    lines = graph.add("Add", graph.add("Mul", "scores", slope), intercept)
    graph.add("Sigmoid", graph.add("ReduceMin", lines, np.array([1])), target="relevance")
    return graph.model(written.names, ["scores", "relevance"], written.levels_by_name)


def _add_trees(graph: Graph, written: Written, target: str) -> str:
    """Add the trees to the graph; return the name of the output with their sums.

    ``target`` is the name to give to it.
    """
    is_single = written.thresholds.dtype == np.float32
    values = graph.add("Cast", "X", to=FLOAT) if is_single else "X"
    own_target = "" if is_single else target
    trees = dict(_trees(written))
    sums = graph.add("TreeEnsemble", values, target=own_target, domain="ai.onnx.ml", **trees)
    return graph.add("Cast", sums, target=target, to=DOUBLE) if is_single else sums


def _trees(written: Written) -> Iterator[tuple[str, Any]]:
    """Yield ``(name, value)`` for each attribute of the node ``TreeEnsemble``.

    Splits and leaves are numbered apart.
    """
    forest, dtype = written.forest, written.thresholds.dtype
    is_leaf, lone = forest.is_leaf, forest.is_leaf[forest.roots]
    is_split = ~is_leaf
    numbering = np.where(
        is_leaf, *(np.cumsum(mask, dtype=np.int32) for mask in (is_leaf, is_split))
    )
    numbering -= 1
    n_splits, n_leaves = int(is_split.sum()), int(is_leaf.sum())
    # A tree of one leaf becomes a split of which both sides have its value. They are two leaves,
    # since onnxruntime up to 1.27 takes a split with twice the same leaf for another one.
    lone_leaves = forest.roots[lone]
    extra = np.arange(len(lone_leaves), dtype=np.int32)
    zeros, ones = np.zeros(len(extra), bool), np.ones(len(extra), bool)
    roots = numbering[forest.roots]
    roots[lone] = n_splits + extra
    yield "aggregate_function", 1
    yield "leaf_targetids", np.zeros(n_leaves + len(extra), bool)
    leaves = np.append(forest.values[is_leaf, 0], forest.values[lone_leaves, 0])
    yield "leaf_weights", leaves.astype(dtype, copy=False)
    yield "n_targets", 1
    yield "nodes_falseleafs", np.append(is_leaf[forest.right[is_split]], ones)
    yield "nodes_falsenodeids", np.append(numbering[forest.right[is_split]], n_leaves + extra)
    yield "nodes_featureids", np.append(forest.feature[is_split], zeros)
    yield "nodes_missing_value_tracks_true", np.append(forest.missing_left[is_split], zeros)
    modes = np.full(n_splits + len(extra), _BELOW if dtype == np.float32 else _AT_MOST, np.uint8)
    modes[n_splits:] = _AT_MOST
    modes[numbering[list(written.sets)]] = _MEMBER
    yield "nodes_modes", modes
    yield "nodes_splits", np.append(written.thresholds[is_split], zeros.astype(dtype))
    yield "nodes_trueleafs", np.append(is_leaf[forest.left[is_split]], ones)
    yield "nodes_truenodeids", np.append(numbering[forest.left[is_split]], numbering[lone_leaves])
    yield "post_transform", 0
    yield "tree_roots", roots
    if written.sets:
        members = [np.append(codes, np.nan) for codes in written.sets.values()]
        yield "membership_values", np.concatenate(members).astype(dtype)


def _add_linear(graph: Graph, linear: LinearComponent) -> str:
    """Add a linear model to the graph; return the name of an output with a column per feature.

    Each column is what a feature adds to the score, 0 if it is missing.
    """
    features = linear.features
    values = graph.add("Gather", "X", features, axis=1)
    products = graph.add("Mul", values, linear.coef[features])
    shifted = graph.add("Add", products, linear.offset[features])
    return graph.add("Where", graph.add("IsNaN", values), np.float64(0), shifted)


def _add_network(graph: Graph, network: Network) -> str:
    """Add a network to the graph; return the name of an output with a column per output.

    Each column is what an output of the network adds to the score.
    """
    shifted = graph.add("Sub", "X", network.mean)
    standard = graph.add("Mul", shifted, network.inverse)
    values = graph.add("Where", graph.add("IsNaN", "X"), np.float64(0), standard)
    for layer in network.layers:
        values = _LAYERS[type(layer)](graph, values, layer)
    rounded = graph.add("Cast", graph.add("Cast", values, to=FLOAT), to=DOUBLE)
    return graph.add("Mul", rounded, network.weight)


def _affine(graph: Graph, values: str, layer: Affine) -> str:
    products = graph.add("MatMul", values, np.ascontiguousarray(layer.weight.T))
    return graph.add("Add", products, layer.bias)


def _products(graph: Graph, values: str, layer: Products) -> str:
    powers = [values]
    for shorter, last in layer.pairs:
        factors = [
            graph.add("Gather", source, indices.astype(np.int64), axis=1)
            for source, indices in ((powers[-1], shorter), (values, last))
        ]
        powers.append(graph.add("Mul", *factors))
    return graph.add("Concat", *powers, axis=1)


def _soft_splits(graph: Graph, values: str, layer: SoftSplits) -> str:
    n_trees, n_splits, n_features = layer.weight.shape
    flat = Affine(layer.weight.reshape(-1, n_features), layer.bias.ravel())
    u = graph.add("Mul", _affine(graph, values, flat), np.float64(1 / layer.gamma))
    u = graph.add("Add", u, np.float64(0.5))
    u = graph.add("Clip", u, np.float64(0), np.float64(1))
    slope = graph.add("Sub", np.float64(3), graph.add("Mul", u, np.float64(2)))
    left = graph.add("Mul", graph.add("Mul", u, u), slope)
    left = graph.add("Reshape", left, np.array([-1, n_trees, n_splits]))
    reach = ""
    for level in range(layer.n_levels):
        indices = np.arange(n_splits)[layer.splits_of(level)]
        here = graph.add("Gather", left, indices, axis=2)
        goes_left = graph.add("Mul", reach, here) if reach else here
        goes_right = graph.add("Sub", reach or np.ones((1, 1, 1)), goes_left)
        reach = graph.add("Concat", goes_left, goes_right, axis=2)
    n_leaves, n_outputs = layer.leaf.shape[1:]
    arriving = graph.add("Reshape", reach, np.array([-1, n_trees * n_leaves]))
    return graph.add("MatMul", arriving, layer.leaf.reshape(-1, n_outputs))


_LAYERS: dict[type, Any] = {
    Affine: _affine,
    Function: lambda graph, values, layer: graph.add(layer.name.capitalize(), values),
    Products: _products,
    SoftSplits: _soft_splits,
}


ONNX = ExportFormat(
    write_onnx,
    Consumer(AT_MOST, categories="exact"),
    single=Consumer(BELOW_SINGLE, leaf_dtype="float32", sum_dtype="float32", categories="exact"),
    adds=("linear", "network"),
    has_relevance=True,
    codes=range(-(2**31), 2**31),  # onnxruntime refuses others where it loads the file
    names=NameRule(lambda char: char == "\n"),  # which parts the names in the file
)
