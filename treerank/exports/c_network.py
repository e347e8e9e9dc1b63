"""Networks as C: tables of weights, and one function for each network.

Layers compute in double precision, the outputs are rounded to single precision, and the weighted
sum of them is of double precision again, all as in the ranker. Only the order of sums differs, and
functions are those of the C library, so outputs are those of the ranker up to one unit in the last
place of single precision.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from treerank.exports.c_table import c_table
from treerank.terms.network import Affine, Function, Network, Products, Scale, SoftSplits

_EXPRESSIONS = {
    "relu": "x[k] > 0 ? x[k] : 0",
    "sigmoid": "1 / (1 + exp(-x[k]))",
    "tanh": "tanh(x[k])",
}
_FUNCTION = """
static void apply_{name}(double *x, int32_t n) {{
    for (int32_t k = 0; k < n; k++) x[k] = {expression};
}}
"""
#: Missing values become 0 once features are standardized.
_ENDS = """
static void standardize(const double *x, int32_t n, const double *mean, const double *inverse,
                        double *y) {
    for (int32_t k = 0; k < n; k++) {
        double value = (x[k] - mean[k]) * inverse[k];
        y[k] = value == value ? value : 0;
    }
}

static double weigh(const double *x, int32_t n, const double *weight) {
    double total = 0;
    for (int32_t k = 0; k < n; k++) total += (double)(float)x[k] * weight[k];
    return total;
}
"""
#: The inner loop is that over outputs, which the compiler can vectorize.
_AFFINE = """
static void affine(const double *x, int32_t n_inputs, const double *weight, const double *bias,
                   int32_t n_outputs, double *y) {
    for (int32_t j = 0; j < n_outputs; j++) y[j] = 0;
    for (int32_t k = 0; k < n_inputs; k++, weight += n_outputs)
        for (int32_t j = 0; j < n_outputs; j++) y[j] += x[k] * weight[j];
    for (int32_t j = 0; j < n_outputs; j++) y[j] += bias[j];
}
"""
_SCALE = """
static void scale(double *x, int32_t n, const double *factor, const double *shift) {
    for (int32_t k = 0; k < n; k++) x[k] = x[k] * factor[k] + shift[k];
}
"""
_PRODUCTS = """
typedef struct { int32_t shorter, last; } pair_t;

static void copy(const double *x, int32_t n, double *y) {
    for (int32_t k = 0; k < n; k++) y[k] = x[k];
}

static void multiply(const double *shorter, const double *x, const pair_t *pairs, int32_t n,
                     double *y) {
    for (int32_t k = 0; k < n; k++) y[k] = shorter[pairs[k].shorter] * x[pairs[k].last];
}
"""
#: Leaves that a document reaches in part, level after level: those of left children come first.
_SOFT_SPLITS = """
static void soft_splits(const double *x, int32_t n_features, const double *weight,
                        const double *bias, const double *leaf, int32_t n_trees, int32_t n_splits,
                        int32_t n_leaves, int32_t n_outputs, double per_gamma, double *left,
                        double *reach, double *y) {
    for (int32_t j = 0; j < n_outputs; j++) y[j] = 0;
    for (int32_t tree = 0; tree < n_trees; tree++) {
        for (int32_t split = 0; split < n_splits; split++, weight += n_features) {
            double u = 0;
            for (int32_t k = 0; k < n_features; k++) u += x[k] * weight[k];
            u = (u + *bias++) * per_gamma + 0.5;
            u = u < 0 ? 0 : u > 1 ? 1 : u;
            left[split] = u * u * (3 - 2 * u);
        }
        const double *here = left;
        reach[0] = 1;
        for (int32_t n = 1; n < n_leaves; n *= 2) {
            int32_t step = n_splits == n_leaves - 1;
            for (int32_t k = 0; k < n; k++) {
                double goes_left = reach[k] * here[k * step];
                reach[n + k] = reach[k] - goes_left;
                reach[k] = goes_left;
            }
            here += step ? n : 1;
        }
        for (int32_t k = 0; k < n_leaves; k++, leaf += n_outputs)
            for (int32_t j = 0; j < n_outputs; j++) y[j] += reach[k] * leaf[j];
    }
}
"""
_HELPERS = {Affine: _AFFINE, Scale: _SCALE, Products: _PRODUCTS, SoftSplits: _SOFT_SPLITS}


class _Step(NamedTuple):
    """A layer in C.

    Attributes
    ----------
    tables : dict from str to tuple of ndarray
        Type and columns of each table, by what is appended to the name of the layer.
    calls : str
        Statements, where ``{x}`` and ``{y}`` are the inputs and the outputs.
    width : int
        Number of the outputs.
    """

    tables: dict[str, tuple[Any, ...]]
    calls: str
    width: int


def write_networks(networks: Sequence[Network]) -> Iterator[str]:
    """Yield functions ``network0``, ``network1`` and so on: the score of a document."""
    if networks:
        yield _ENDS
    layers = [layer for network in networks for layer in network.layers]
    for name in sorted({layer.name for layer in layers if isinstance(layer, Function)}):
        yield _FUNCTION.format(name=name, expression=_EXPRESSIONS[name])
    for kind, helper in _HELPERS.items():
        if any(isinstance(layer, kind) for layer in layers):
            yield helper
    for i, network in enumerate(networks):
        yield from _write_network(f"network{i}", network)


def stack_of(networks: Sequence[Network]) -> int:
    """Return the largest number of doubles that a network takes on the stack."""
    sizes = [_widest(network) + _most_leaves(network) for network in networks]
    return 2 * max(sizes, default=0)


def _write_network(name: str, network: Network) -> Iterator[str]:
    steps = _steps(name, network)
    yield from c_table(f"double {name}_mean", network.mean)
    yield from c_table(f"double {name}_inverse", network.inverse)
    for place, step in enumerate(steps):
        for table, (kind, *columns) in step.tables.items():
            yield from c_table(f"{kind} {name}_{place}_{table}", *columns)
    yield from c_table(f"double {name}_weight", network.weight)
    n_features, n_leaves = len(network.mean), _most_leaves(network)
    yield f"\nstatic double {name}(const double *x) {{\n    double a[{_widest(network)}]"
    yield f", b[{_widest(network)}]" if any("{y}" in step.calls for step in steps) else ""
    yield f", left[{n_leaves}], reach[{n_leaves}]" if n_leaves else ""
    yield f";\n    standardize(x, {n_features}, {name}_mean, {name}_inverse, a);\n"
    here, other = "a", "b"
    for step in steps:
        for call in step.calls.format(x=here, y=other).splitlines():
            yield f"    {call}\n"
        here, other = (other, here) if "{y}" in step.calls else (here, other)
    yield f"    return weigh({here}, {len(network.weight)}, {name}_weight);\n}}\n"


def _steps(name: str, network: Network) -> list[_Step]:
    """Return the layers in C, which begin with the standardized features."""
    steps, width = [], len(network.mean)
    for place, layer in enumerate(network.layers):
        steps.append(_STEPS[type(layer)](f"{name}_{place}", layer, width))
        width = steps[-1].width
    return steps


def _widest(network: Network) -> int:
    return max([len(network.mean), *(step.width for step in _steps("", network))])


def _most_leaves(network: Network) -> int:
    soft = [layer for layer in network.layers if isinstance(layer, SoftSplits)]
    return max((layer.leaf.shape[1] for layer in soft), default=0)


def _function(name: str, layer: Function, width: int) -> _Step:
    return _Step({}, f"apply_{layer.name}({{x}}, {width});", width)


def _affine(name: str, layer: Affine, width: int) -> _Step:
    tables = {"weight": ("double", layer.weight.T.ravel()), "bias": ("double", layer.bias)}
    n_outputs = len(layer.bias)
    call = f"affine({{x}}, {width}, {name}_weight, {name}_bias, {n_outputs}, {{y}});"
    return _Step(tables, call, n_outputs)


def _scale(name: str, layer: Scale, width: int) -> _Step:
    tables = {"factor": ("double", layer.factor), "shift": ("double", layer.shift)}
    return _Step(tables, f"scale({{x}}, {width}, {name}_factor, {name}_shift);", width)


def _products(name: str, layer: Products, width: int) -> _Step:
    tables: dict[str, tuple[Any, ...]] = {}
    calls, begin, end = [f"copy({{x}}, {width}, {{y}});"], 0, width
    for degree, pairs in enumerate(layer.pairs, start=2):
        tables[f"pairs{degree}"] = ("pair_t", *np.asarray(pairs))
        n = len(pairs[0])
        table = f"{name}_pairs{degree}"
        calls.append(f"multiply({{y}} + {begin}, {{x}}, {table}, {n}, {{y}} + {end});")
        begin, end = end, end + n
    return _Step(tables, "\n".join(calls), end)


def _soft_splits(name: str, layer: SoftSplits, width: int) -> _Step:
    arrays = {"weight": layer.weight, "bias": layer.bias, "leaf": layer.leaf}
    tables = {part: ("double", array.ravel()) for part, array in arrays.items()}
    n_trees, n_leaves, n_outputs = layer.leaf.shape
    sizes = f"{n_trees}, {layer.bias.shape[1]}, {n_leaves}, {n_outputs}"
    names = ", ".join(f"{name}_{part}" for part in arrays)
    arguments = f"{{x}}, {width}, {names}, {sizes}, {1 / layer.gamma!r}, left, reach, {{y}}"
    return _Step(tables, f"soft_splits({arguments});", n_outputs)


_STEPS: dict[type, Any] = {
    Affine: _affine,
    Function: _function,
    Products: _products,
    Scale: _scale,
    SoftSplits: _soft_splits,
}
