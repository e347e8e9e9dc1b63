"""Other programs, and their arithmetic, as scorers of exported files."""

import ctypes
import json
import re
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import lightgbm
import numpy as np
import pytest
import xgboost

from treerank.exports.formats import format_named


def onnx_scores(content, X, output="scores"):
    """Return the scores, or another output, that onnxruntime gives documents by a model."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run([output], {"X": X})[0][:, 0]


def lightgbm_scores(content, X):
    return lightgbm.Booster(model_str=content.decode()).predict(X, raw_score=True)


def xgboost_scores(content, X):
    booster = xgboost.Booster()
    booster.load_model(bytearray(content))
    return booster.inplace_predict(X, predict_type="margin")


def compiled(source, path, prefix="treerank"):
    """Return the scorer that gcc makes of C source."""
    path.with_suffix(".c").write_bytes(source)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    command = ["gcc", *flags, "-o", f"{path}.so", f"{path}.c", "-lm"]
    subprocess.run(command, check=True)
    function = getattr(ctypes.CDLL(f"{path}.so"), f"{prefix}_score")
    numbers = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    function.argtypes, function.restype = [numbers, ctypes.c_size_t, numbers], None

    def scores(X):
        found = np.empty(len(X))
        function(np.ascontiguousarray(X), len(X), found)
        return found

    return scores


def run_scores(format, content, X, names, levels):
    """Return the scores of the program itself; ``None`` if it is not installed."""
    written = SimpleNamespace(names=names, levels=levels, prefix="documents", booleans=())
    run = format_named(format).run(content, X, written)
    return None if run is None else run.scores


def added(leaves):
    """Return the sum of leaves in single precision, one after the other."""
    total = np.float32(0)
    for leaf in leaves:
        total += leaf
    return float(total)


def _elastic_leaf(nodes, x):
    """Return the leaf of a document by the rules of Elastic's trained models."""
    node = nodes[0]
    while "leaf_value" not in node:
        value = float(np.float32(x[node["split_feature"]]))
        is_left = node["default_left"] if np.isnan(value) else value <= node["threshold"]
        node = nodes[node["left_child" if is_left else "right_child"]]
    return node["leaf_value"]


def _elastic_score(model, x):
    """Return the score of Elastic's learning to rank, less what lifts the least one to 0."""
    trees = [tree["tree"]["tree_structure"] for tree in model["trained_models"]]
    least = sum(min(node.get("leaf_value", np.inf) for node in nodes) for nodes in trees)
    lift = max(-least, 0.0)
    return float(np.float32(sum(_elastic_leaf(nodes, x) for nodes in trees) + lift)) - lift


def _split_leaf(node, values, missing):
    """Return the leaf of a document, values by name, by the rules of OpenSearch's plugin."""
    while "leaf" not in node:
        value = np.float32(values[node["split"]])
        value = np.float32(0) if missing == "zero" and np.isnan(value) else value
        goes = "yes" if np.float32(node["split_condition"]) > value else "no"
        goes = "missing" if missing == "side" and np.isnan(value) else goes
        node = next(child for child in node["children"] if child["nodeid"] == node[goes])
    return np.float32(node["leaf"])


def _plugin_score(model, values, missing):
    """Return the score of the plugin: a list of trees, or factors of features by name."""
    if isinstance(model, list):
        return added(_split_leaf(tree, values, missing) for tree in model)
    numbers = {name: np.float32(np.nan_to_num(value)) for name, value in values.items()}
    return added(np.float32(factor) * numbers[name] for name, factor in model.items())


def _solr_leaf(node, values):
    """Return the leaf of a document, values by name, by the rules of Solr's model."""
    while "value" not in node:
        limit = np.float32(node["threshold"]) + np.float32(1e-6)
        value = np.float32(values[node["feature"]])
        goes = "left" if value <= limit else "right"
        node = node[node.get("missing", goes) if np.isnan(value) else goes]
    return np.float32(node["value"])


def _solr_score(model, values):
    """Return the score of Solr: trees, or a linear model of normalized features."""
    if "trees" in model["params"]:
        return added(_solr_leaf(tree["root"], values) for tree in model["params"]["trees"])
    products = []
    for feature in model["features"]:
        name, norm = feature["name"], feature["norm"]["params"]
        value = np.float32(np.nan_to_num(values[name]))
        normal = (value - np.float32(norm["avg"])) / np.float32(norm["std"])
        products.append(np.float32(model["params"]["weights"][name]) * normal)
    return added(products)


def _expression_value(text, values):
    """Return the value of a ranking expression, in Python after a few changes of its words."""
    names = {name: f"value{number}" for number, name in enumerate(values)}
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.(])", names[name], text)
    text = re.sub(r"\bif \(", "choose(", text.replace("!(", "not (").replace("||", "or"))
    numbers = {names[name]: float(value) for name, value in values.items()}
    functions = {"choose": lambda a, b, c: b if a else c, "isNan": np.isnan}
    return eval(text.replace("\n", " "), functions | numbers)


def _ranklib_score(trees, x):
    """Return the score of RankLib's ensemble; a missing value is an error."""
    assert not np.isnan(x).any()
    leaves = []
    for node in trees:
        while node.find("output") is None:
            value = np.float32(x[int(node.find("feature").text) - 1])
            goes = "left" if value <= np.float32(node.find("threshold").text) else "right"
            node = next(child for child in node.findall("split") if child.get("pos") == goes)
        leaves.append(np.float32(node.find("output").text))
    return added(leaves)


def _ranklib_trees(content):
    text = content.decode()
    return [tree.find("split") for tree in ElementTree.fromstring(text[text.index("<ensemble") :])]


#: How a value becomes the code of a category.
_CODES = {
    "exact": float,
    "truncated": np.trunc,
    "single": lambda value: np.floor(float(np.float32(value))),
}


def _json_score(model, x):
    """Return the score of the forest and the linear model of treerank's own JSON."""
    sum_type, sets = np.dtype(model["sum_dtype"]).type, model["categories"]
    total = sum_type(model["constant"])
    for node in model["roots"]:
        while (feature := model["feature"][node]) >= 0:
            value, number = x[feature], -1 if sets is None else sets["of_node"][node]
            if number >= 0:
                codes = sets["codes"][sets["starts"][number] : sets["starts"][number + 1]]
                is_left = _CODES[sets["rule"]](value) in codes
            else:
                is_left = value <= float(model["threshold"][node])
            is_missing = np.isnan(value) or abs(value) <= model["missing_up_to"]
            goes_left = model["missing_left"][node] if is_missing else is_left
            node = model["left" if goes_left else "right"][node]
        total = sum_type(total + sum_type(model["values"][node]))
    linear = model.get("linear")
    if linear is not None:
        features = zip(linear["coef"], linear["offset"], x, strict=True)
        return float(total) + sum(a * v + b for a, b, v in features if not np.isnan(v))
    return float(total)


def _by_row(read, score):
    """Return a scorer of one document at a time, given the model and its values by name."""

    def scores(content, X, names):
        model = read(content)
        return np.array([score(model, dict(zip(names, x, strict=True))) for x in X])

    return scores


def _values(values):
    return np.array(list(values.values()))


def _plugin(missing):
    return _by_row(json.loads, lambda model, values: _plugin_score(model, values, missing))


def _elastic(model, values):
    return _elastic_score(model["trained_model"]["ensemble"], _values(values))


#: The arithmetic of programs that are no test dependency, by format: functions of the content of
#: the file, documents and the names of their columns.
ARITHMETIC = {
    "elasticsearch": _by_row(json.loads, _elastic),
    "elasticsearch-plugin": _plugin("side"),
    "elasticsearch-plugin-2023": _plugin("zero"),
    "json": _by_row(json.loads, lambda model, values: _json_score(model, _values(values))),
    "opensearch": _plugin("side"),
    "opensearch-2": _plugin("zero"),
    "opensearch-3.2": _plugin("right"),
    "ranklib": _by_row(_ranklib_trees, lambda trees, v: _ranklib_score(trees, _values(v))),
    "solr": _by_row(json.loads, _solr_score),
    "solr-8": _by_row(
        json.loads,
        lambda model, values: _solr_score(
            model, {name: np.nan_to_num(value) for name, value in values.items()}
        ),
    ),
    "vespa-expression": _by_row(bytes.decode, _expression_value),
}
