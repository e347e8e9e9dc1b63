"""How long do exact explanations of pairs take, and how do they compare with shap's?

The same trees, trained by LightGBM: explained by ours, and by shap's interventional TreeExplainer
if shap is installed. The pairs share their second document, or each has one of its own; for the
latter, shap needs an explainer for each pair.
"""

import argparse
import importlib.util
from pathlib import Path

import lightgbm
import numpy as np
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank import make_web_search, read_forest
from treerank.forests.shapley import margin_parts


def train(n_trees, n_leaves, path):
    X, y, qid = make_web_search(200, random_state=0)
    if Path(path).exists():
        return X
    params = {"objective": "lambdarank", "num_leaves": n_leaves, "verbosity": -1}
    data = lightgbm.Dataset(X, y, group=np.bincount(qid))
    lightgbm.train(params, data, n_trees).save_model(path)
    return X


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", default="explained.txt", help="written unless it exists")
    given = parser.parse_args()
    X = train(given.trees, given.leaves, given.model)
    forest = read_forest(given.model)
    a, b = np.random.default_rng(0).permutation(X)[: 2 * given.pairs].reshape(2, -1, X.shape[1])

    def parts_of(a, b):
        return lambda: margin_parts(forest, a, b, n_threads=given.threads)

    functions = {
        "one pair": parts_of(a[:1], b[:1]),
        f"{given.pairs} pairs, second document shared": parts_of(a, b[:1]),
        f"{given.pairs} pairs": parts_of(a, b),
    }
    ours = list(functions)[1]
    packages = ["lightgbm"]
    if importlib.util.find_spec("shap"):
        import shap

        booster = lightgbm.Booster(model_file=given.model)
        explainer = shap.TreeExplainer(booster, b[:1], feature_perturbation="interventional")
        functions["shap"] = lambda: explainer.shap_values(a)
        packages.append("shap")
        error = np.abs(functions["shap"]() - functions[ours]()).max()
        print(f"largest difference from shap: {error:.1e}")
    times = time_in_turn(functions, given.repetitions)
    say_times(times)
    if "shap" in times:
        say_ratio("second document shared", times, ours, "shap", "3x")
    say_versions(*packages)


if __name__ == "__main__":
    main()
