"""Other programs, and their arithmetic, as scorers of exported files."""

import ctypes
import subprocess

import lightgbm
import numpy as np
import pytest
import xgboost


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


def compiled(source, path):
    """Return the scorer that gcc makes of C source."""
    path.with_suffix(".c").write_bytes(source)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    command = ["gcc", *flags, "-o", f"{path}.so", f"{path}.c", "-lm"]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(f"{path}.so").treerank_score
    numbers = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    function.argtypes, function.restype = [numbers, ctypes.c_size_t, numbers], None

    def scores(X):
        found = np.empty(len(X))
        function(np.ascontiguousarray(X), len(X), found)
        return found

    return scores


def added(leaves):
    """Return the sum of leaves in single precision, one after the other."""
    total = np.float32(0)
    for leaf in leaves:
        total += leaf
    return float(total)
