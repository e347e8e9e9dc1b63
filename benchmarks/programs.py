"""Programs that score exported files: gcc, LightGBM, onnxruntime, XGBoost; and drawn forests.

Forests have leaves, chains and bushes, categories, missing values, thresholds among the documents,
denormal, huge and infinite ones. To half of them a linear model is added where the format can hold
one.
"""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from treerank.exports.formats import format_named
from treerank.feature_parts.components import Components
from treerank.feature_parts.linear_component import LinearComponent
from treerank.forests.forest import Forest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from drawn_forests import drawn_documents, drawn_forest

NAMES = ["a", "b", "c", "d"]
RULES = {"lightgbm": "truncated", "xgboost": "single"}


def by_c(content, X):
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "model.c", Path(folder) / "model.so"
        source.write_bytes(content)
        command = ["gcc", "-std=c99", "-O1", "-shared", "-fPIC", "-o", library, source, "-lm"]
        subprocess.run(command, check=True)
        score, scores = ctypes.CDLL(str(library)).treerank_score, np.empty(len(X))
        score.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        score(X.ctypes.data, len(X), scores.ctypes.data)
    return scores


def by_onnxruntime(content, X):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})[0][:, 0]


def by_xgboost(content, X):
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(bytearray(content))
    return booster.inplace_predict(X, predict_type="margin")


def by_lightgbm(content, X):
    import lightgbm

    return lightgbm.Booster(model_str=content.decode()).predict(X, raw_score=True)


PROGRAMS = {
    "c": by_c,
    "lightgbm": by_lightgbm,
    "onnx": by_onnxruntime,
    "xgboost": by_xgboost,
}


def drawn_case(random, format, n):
    rule = RULES.get(format, "exact")
    only_small = format == "xgboost"
    forest = drawn_forest(
        random,
        n_trees=int(random.integers(1, 20)),
        huge=not only_small and random.random() < 0.3,
        rule=rule if random.random() < 0.5 else None,
        sum_dtype=random.choice(["float64", "float32"]),
        constant=random.random() < 0.5,
    )
    X = drawn_documents(random, forest, n)
    has_linear = "linear" in format_named(format).adds and forest.sum_dtype == "float64"
    linear = (
        LinearComponent(*random.normal(size=(2, 4)))
        if has_linear and random.random() < 0.5
        else None
    )
    return Components(forest, linear), X


def balanced_forest(n_trees, n_leaves, n_features=136):
    """Return trees where node i has the children 2i + 1 and 2i + 2."""
    random = np.random.default_rng(0)
    n_nodes = 2 * n_leaves - 1
    nodes = np.arange(n_nodes)
    is_leaf = nodes >= n_leaves - 1
    starts = np.arange(n_trees)[:, None] * n_nodes
    size = (n_trees, n_nodes)

    def tiled(values, dtype):
        return np.broadcast_to(values, size).ravel().astype(dtype)

    thresholds = np.float32(random.normal(size=size)).astype(np.float64)
    return Forest(
        n_features=n_features,
        roots=starts[:, 0].astype(np.int32),
        feature=tiled(np.where(is_leaf, -1, random.integers(n_features, size=size)), np.int32),
        threshold=tiled(np.where(is_leaf, 0.0, thresholds), np.float64),
        left=tiled(np.where(is_leaf, -1, starts + 2 * nodes + 1), np.int32),
        right=tiled(np.where(is_leaf, -1, starts + 2 * nodes + 2), np.int32),
        missing_left=tiled(~is_leaf & (random.random(size) < 0.5), bool),
        values=tiled(np.where(is_leaf, random.normal(size=size), 0.0), np.float64)[:, None],
        tree_output=np.zeros(n_trees, dtype=np.int32),
        constant=np.zeros(1),
    )


def peak_allocation(work):
    """Return the most memory that is allocated at a time."""
    import tracemalloc

    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
