"""Ways to score one query by the same trees.

Each takes our ranker and the folder of ``model.txt``, and returns a function of the documents.
"""

import ctypes
import subprocess

import lightgbm
import numpy as np

from treerank import export


def with_booster(ranker, folder):
    booster = lightgbm.Booster(model_file=folder / "model.txt")
    return lambda X: booster.predict(X, num_threads=1)


def with_scorer(ranker, folder):
    return ranker.scorer()


def with_c(ranker, folder, flags="-O2"):
    source, library = folder / "model.c", folder / f"model{flags.replace(' ', '')}.so"
    export(ranker, source, format="c")
    command = ["gcc", *flags.split(), "-std=c99", "-shared", "-fPIC", "-o", library, source, "-lm"]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).treerank_score
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

    def score(X):
        scores = np.empty(len(X))
        function(X.ctypes.data, len(X), scores.ctypes.data)
        return scores

    return score


def with_native_c(ranker, folder):
    return with_c(ranker, folder, "-O3 -march=native")


def with_onnxruntime(ranker, folder):
    import onnxruntime

    export(ranker, folder / "model.onnx", format="onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession((folder / "model.onnx").read_bytes(), options)
    return lambda X: session.run(None, {"X": X})[0][:, 0]


def with_treelite(ranker, folder):
    import treelite

    model = treelite.frontend.load_lightgbm_model(folder / "model.txt")
    return lambda X: treelite.gtil.predict(model, X, nthread=1, pred_margin=True).ravel()


WAYS = {
    "lightgbm.Booster.predict": with_booster,
    "ranker.scorer()": with_scorer,
    "C, gcc -O2": with_c,
    "C, gcc -O3 -march=native": with_native_c,
    "onnxruntime": with_onnxruntime,
    "treelite, GTIL": with_treelite,
}
