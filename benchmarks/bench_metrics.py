"""How fast is NDCG@10? Ours from plain arrays, against ranx's evaluate on ready dictionaries.

The time to build ranx's Qrels and Run is not counted; ours includes grouping, checking and sorting.
``prepared`` is what early stopping calls in every iteration.
"""

import argparse

import numba
import numpy as np
import ranx
from timing import time_in_turn

from treerank.metrics import NDCG, get_metric

RANX_NAMES = {"ndcg@10": "ndcg_burges@10", "map": "map", "mrr": "mrr", "p@10": "precision@10"}


def make_judged(n_queries, n_documents, seed=0):
    """Labels, scores and query ids of MSLR's shape."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(rng.gamma(3.0, size=n_queries), 0.05)
    sizes = np.maximum((sizes * n_documents / sizes.sum()).astype(int), 1)
    y = np.digitize(rng.random(sizes.sum()), [0.52, 0.84, 0.97, 0.99])
    return y, y + rng.normal(scale=2.0, size=len(y)), np.repeat(np.arange(n_queries), sizes)


def as_ranx(y, scores, qid):
    """Return the same as ranx's Qrels and Run."""
    qrels, run = {}, {}
    for row, query in enumerate(qid.tolist()):
        qrels.setdefault(f"q{query}", {})[f"d{row}"] = int(y[row])
        run.setdefault(f"q{query}", {})[f"d{row}"] = float(scores[row])
    return ranx.Qrels(qrels), ranx.Run(run)


def with_all_threads(function):
    """Return a function that runs on all threads; ranx sets numba's number of threads to one."""

    def run():
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        function()

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--documents", type=int, default=180_000)
    parser.add_argument("--repetitions", type=int, default=15)
    arguments = parser.parse_args()
    y, scores, qid = make_judged(arguments.queries, arguments.documents)
    shuffle = np.random.default_rng(1).permutation(len(y))
    qrels, run = as_ranx(y, scores, qid)
    functions = {
        "ndcg@10, rows shuffled": lambda: NDCG(k=10)(*(a[shuffle] for a in (y, scores, qid)))
    }
    for name, ranx_name in RANX_NAMES.items():
        metric = get_metric(name)
        prepared = metric.prepared(y, qid)
        functions[name] = lambda metric=metric: metric(y, scores, qid)
        functions[f"{name}, prepared"] = lambda prepared=prepared: prepared(scores)
        functions[f"{name}, ranx"] = lambda n=ranx_name: ranx.evaluate(
            qrels, run, n, make_comparable=False
        )
    functions = {name: with_all_threads(function) for name, function in functions.items()}
    times = time_in_turn(functions, arguments.repetitions)
    print(f"numba {numba.__version__}, numpy {np.__version__}, {numba.get_num_threads()} threads")
    print(f"{len(y)} documents, {arguments.queries} queries")
    for name, (wall, cpu) in times.items():
        reference = times.get(name.split(",")[0] + ", ranx", (np.nan,))[0]
        print(
            f"{name:24} {wall:8.2f} ms wall {cpu:8.2f} ms CPU   ranx / this {reference / wall:6.1f}"
        )


if __name__ == "__main__":
    main()
