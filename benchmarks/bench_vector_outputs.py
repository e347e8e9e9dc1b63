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
from vector_gains import against_scores
from vector_rankers import ALPHAS, FORMS, TREES, compared, few_trees

from treerank import NDCG
from treerank.evaluation import compare
from treerank.progress import listening

sys.path.append(str(Path(__file__).resolve().parent / "paper"))
data_sets = importlib.import_module("data_sets")
parameters = importlib.import_module("parameters")
protocol = importlib.import_module("protocol")

METRICS = ("ndcg@10", "map")


def shown(about):
    """Return the rankers as a file shows them."""
    few = {
        f"{o} {p}, 100 trees": few_trees(100, o, penalty=p) for o, p in (("score", "l2"), *FORMS)
    }
    rankers, grid = compared(about["protocol"])
    return parameters.about_rankers(rankers | few, grid)


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
