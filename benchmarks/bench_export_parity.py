"""Do other programs score exported files to the last bit? Drawn forests and drawn documents.

    python benchmarks/bench_export_parity.py 200 1000

Forests have leaves, chains and bushes, categories, missing values, thresholds among the documents,
denormal, huge and infinite ones. To half of them a linear model is added where the format can hold
one.
"""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
import onnxruntime
import xgboost

from treerank.exports.conversion import converted
from treerank.exports.formats import format_named
from treerank.feature_parts.components import Components
from treerank.feature_parts.linear_component import LinearComponent

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
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})[0][:, 0]


def by_xgboost(content, X):
    booster = xgboost.Booster()
    booster.load_model(bytearray(content))
    return booster.inplace_predict(X, predict_type="margin")


PROGRAMS = {
    "c": by_c,
    "lightgbm": lambda text, X: lightgbm.Booster(model_str=text.decode()).predict(
        X, raw_score=True
    ),
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


def main(n_forests=200, n_documents=1000):
    for format, scores_of in PROGRAMS.items():
        random, n_wrong, n_off = np.random.default_rng(0), 0, 0
        for _ in range(n_forests):
            components, X = drawn_case(random, format, n_documents)
            conversion = converted(format, components, NAMES, X)
            model, program = components.scores(X), conversion.scores(X)
            n_wrong += int((scores_of(conversion.content(), X) != program).sum())
            n_off += int((model != program).sum())
        print(
            f"{format:12} {n_forests} forests x {n_documents} documents: {n_wrong} wrong; "
            f"{n_off} are said to differ from the ranker"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
