"""What do vector-valued feature parts gain over one score? Real folds and synthetic data.

``python benchmarks/bench_vector_outputs.py --quick --data ../MQ2008``. Compared are one output per
level (by trees of their own, or by leaves that are vectors), and every tree, or every leaf, as a
feature under a head that is fitted by a convex problem. All rankers have the same trees; head_alpha
is chosen on the fold's validation set. Differences from one score of the same engine are tested by
randomization over queries, adjusted by Holm. After that come 100 trees under either penalty by its
strength, and a ranker with as few trees as L1 kept. Writes ``results/vector-outputs-*.jsonl``.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone

from treerank import NDCG, TreeDirectRanker
from treerank.evaluation import compare
from treerank.feature_parts.engines.lightgbm import LightGBMTrees
from treerank.feature_parts.histogram.trees import HistogramTrees
from treerank.progress import listening
from treerank.statistics import adjust_holm

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
comparisons = importlib.import_module("comparisons")
data_sets = importlib.import_module("data_sets")
parameters = importlib.import_module("parameters")
protocol = importlib.import_module("protocol")

TREES = {"full": 500, "quick": 200, "tiny": 3}
ALPHAS = {
    "full": {"l1": (0.01, 0.03, 0.1, 0.2), "l2": (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)},
    "quick": {"l1": (0.03, 0.1, 0.2), "l2": (1e-3, 0.1, 1.0, 10.0)},
    "tiny": {"l1": (0.1,), "l2": (1.0,)},
}
FORMS = (("levels", "l2"), ("trees", "l1"), ("trees", "l2"), ("leaves", "l1"), ("leaves", "l2"))
METRICS = ("ndcg@10", "map")


def ranker_of(part, output, penalty="l2", **settings):
    """Return a ranker over one score, over levels, or over trees or leaves."""
    if output not in ("score", "levels"):
        part = clone(part).set_params(output=output)
    return TreeDirectRanker(
        part, per_level=output == "levels", head_penalty=penalty, random_state=0, **settings
    )


def trees_of(protocol_name, **settings):
    return {"n_estimators": TREES[protocol_name], "num_leaves": 15, "n_jobs": 1} | settings


def shown(about):
    """Return the rankers as a file shows them."""
    few = {
        f"{o} {p}, 100 trees": few_trees(100, o, penalty=p) for o, p in (("score", "l2"), *FORMS)
    }
    rankers, grid = compared(about["protocol"])
    return parameters.about_rankers(rankers | few, grid)


def few_trees(n_trees, output, **settings):
    """Return a ranker that does not stop early."""
    return ranker_of(LightGBMTrees(**trees_of("tiny", n_estimators=n_trees)), output, **settings)


def compared(protocol_name):
    """Return the rankers that are compared, and their grid."""
    stopped = trees_of(protocol_name, early_stopping_rounds=50)
    lightgbm, histogram = LightGBMTrees(**stopped), HistogramTrees(**stopped)
    rankers = {f"LightGBM, {o} {p}": ranker_of(lightgbm, o, p) for o, p in FORMS}
    rankers["Histogram, levels l2"] = ranker_of(histogram, "levels")
    alphas = {p: list(values) for p, values in ALPHAS[protocol_name].items()}
    grid = {name: {"head_alpha": alphas[name[-2:]]} for name in rankers}
    rankers["LightGBM, score"] = ranker_of(lightgbm, "score")
    rankers["Histogram, score"] = ranker_of(histogram, "score")
    return rankers, grid


def run_comparison(arguments, folder, about):
    """Choose alpha on the validation set, stop early by it, and test against one score."""
    rankers, grid = compared(arguments.protocol)
    splits = data_sets.read_splits(folder, tiny=arguments.protocol == "tiny")
    with listening(lambda done, _, last: protocol.say(f"{done}: {last}")):
        comparison = compare(
            rankers, splits, metrics=METRICS, grid=grid, n_jobs=arguments.jobs,
            store=protocol.STORE / "vector-outputs",
        )  # fmt: skip
    return {metric: against_scores(comparison, metric) for metric in METRICS}


def against_scores(comparison, metric):
    """Return mean, seconds, and difference from the score of the same engine with its p-value."""
    queries = comparison.by_query(metric)
    columns = dict(zip(comparison.rankers, queries.T, strict=True))
    found, tested = {}, []
    for name, values in columns.items():
        base = f"{name.split(',')[0]}, score"
        gain = (values - columns[base])[~np.isnan(values)]
        fits = comparison.fits.where(ranker=name)
        found[name] = {"mean": float(np.nanmean(values)), "gain": float(gain.mean())}
        found[name] |= {"error": float(gain.std(ddof=1) / np.sqrt(len(gain)))}
        found[name] |= {"seconds": float(fits["fit_seconds"].mean())}
        found[name] |= {"parameters": comparisons.by_parameter(fits["best_params"].tolist())}
        if name != base:
            test = comparison.test(metric, "randomization", rankers=(name, base), adjust=False)
            tested.append((name, test.p_values[0, 1]))
    for (name, _), p in zip(tested, adjust_holm([p for _, p in tested]), strict=True):
        found[name]["p_value"] = float(p)
    return found


def run_penalty(arguments, folder, about, output, penalty, alpha, fold):
    """Fit 100 trees to one fold: as one score, under a penalty, and as few as L1 left."""
    split = data_sets.read_splits(folder, tiny=arguments.protocol == "tiny")[fold]

    def fitted(output="score", n_trees=100, **settings):
        ranker = few_trees(n_trees, output, **settings).fit(*split.train)
        scores = ranker.predict(split.test.X)
        return ranker.head_.weight, NDCG(k=10)(split.test.y, scores, split.test.qid)

    weight, value = fitted(output, penalty=penalty, head_alpha=alpha)
    n_kept = int(np.count_nonzero(weight))
    found = {"n_kept": n_kept, "n_outputs": len(weight), "ndcg@10": value, "score": fitted()[1]}
    few = {"few": fitted(n_trees=max(n_kept, 1))[1]} if (output, penalty) == FORMS[1] else {}
    return found | few


def main(argv=None):
    parser = protocol.parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    arguments = parser.parse_args(argv)
    n_folds = 1 if arguments.protocol == "tiny" else 5
    points = [{}] + [
        {"output": output, "penalty": penalty, "alpha": alpha, "fold": fold}
        for output, penalty in FORMS
        for alpha in ALPHAS[arguments.protocol][penalty]
        for fold in range(n_folds)
    ]
    for folder in arguments.data:

        def run(about, folder=folder, **point):
            return (run_penalty if point else run_comparison)(arguments, folder, about, **point)

        about = {"data": data_sets.name_of(folder), "n_estimators": TREES[arguments.protocol]}
        part = about["data"]
        protocol.measure(arguments, "vector-outputs", part, about, points, run, shown=shown, jobs=1)


if __name__ == "__main__":
    main()
