"""``treerank demo``: feature parts against the engines' own rankers, on synthetic data.

To add a contestant, write its fit and list it in ``CONTESTANTS``.
"""

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import typer

from treerank.cli.console import Reporter, print_table
from treerank.cli.options import Quiet
from treerank.cli.trees import grown_to, size_of_trees
from treerank.datasets.web_search import make_web_search
from treerank.metrics.average_precision import map_score
from treerank.metrics.ndcg import ndcg_score
from treerank.numerics.threads import threads_allowed
from treerank.progress import listening
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

LEAVES = 31
LEARNING_RATE = 0.1


@dataclass(frozen=True)
class Size:
    """How much there is to learn from, and how many trees.

    Attributes
    ----------
    n_train, n_test : int
        Queries, of 120 documents each on average.
    trees : int
        Trees of every ranker.
    """

    n_train: int
    n_test: int
    trees: int


FULL = Size(n_train=400, n_test=200, trees=100)
QUICK = Size(n_train=40, n_test=40, trees=20)
WARM_UP = Size(n_train=4, n_test=1, trees=2)


@dataclass(frozen=True)
class Contestant:
    """A ranker of the table.

    Attributes
    ----------
    name : str
        As the table has it.
    module : str
        What must be installed.
    fit : callable
        ``(X, y, qid, trees, seed, show) -> model`` with ``predict``.
    """

    name: str
    module: str
    fit: Callable


def _fit_ours(engine, X, y, qid, trees, seed, show):
    part = grown_to(engine, trees, LEAVES, LEARNING_RATE)
    with listening(show):
        return TreeDirectRanker(part, random_state=seed).fit(X, y, qid)


def _fit_lightgbm(X, y, qid, trees, seed, show):
    import lightgbm

    settings = size_of_trees("lightgbm", trees, LEAVES, LEARNING_RATE)
    threads = threads_allowed()
    ranker = lightgbm.LGBMRanker(**settings, n_jobs=threads, random_state=seed, verbose=-1)
    return ranker.fit(X, y, group=np.bincount(qid), callbacks=[lambda env: show(env.iteration + 1)])


def _fit_xgboost(X, y, qid, trees, seed, show):
    import xgboost

    class Watch(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            show(epoch + 1)

    settings = size_of_trees("xgboost", trees, LEAVES, LEARNING_RATE)
    settings["max_leaves"] = settings.pop("num_leaves")  # XGBoost's own name
    settings |= {"objective": "rank:ndcg", "random_state": seed, "callbacks": [Watch()]}
    return xgboost.XGBRanker(**settings, n_jobs=threads_allowed()).fit(X, y, qid=qid)


def _fit_catboost(X, y, qid, trees, seed, show):
    import catboost

    del show  # its callbacks would make it write files
    ranker = catboost.CatBoostRanker(
        loss_function="YetiRank",
        iterations=trees,
        learning_rate=LEARNING_RATE,
        grow_policy="Lossguide",
        max_leaves=LEAVES,
        random_seed=seed,
        thread_count=threads_allowed(),
        logging_level="Silent",
        allow_writing_files=False,
    )
    return ranker.fit(X, y, group_id=qid)


CONTESTANTS = (
    Contestant("TreeDirectRanker, LightGBM", "lightgbm", partial(_fit_ours, "lightgbm")),
    Contestant("LGBMRanker, lambdarank", "lightgbm", _fit_lightgbm),
    Contestant("TreeDirectRanker, XGBoost", "xgboost", partial(_fit_ours, "xgboost")),
    Contestant("XGBRanker, rank:ndcg", "xgboost", _fit_xgboost),
    Contestant("CatBoostRanker, YetiRank", "catboost", _fit_catboost),
)


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of the rankers.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and fewer trees.")] = False,
    quiet: Quiet = False,
):
    """Train on synthetic web searches and compare with the engines' own rankers.

    Every ranker gets the same documents, as many trees and leaves, the same learning rate and
    as many threads; all else is its default. A first small fit, which compiles, is not counted.
    """
    size = QUICK if quick else FULL
    reporter = Reporter(quiet)
    train, test = searches(size, seed)
    reporter.say(f"{len(train[1])} documents of {size.n_train} synthetic queries to learn from")
    rows = [_row(c, train, test, size, seed, reporter) for c in _installed(reporter)]
    columns = ["ranker", "NDCG@10", "MAP", "seconds", "CPU seconds"]
    print_table(columns, rows, right=columns[1:])
    reporter.say(
        f"{size.trees} trees of {LEAVES} leaves each, {threads_allowed()} threads; "
        f"measured on {size.n_test} other queries."
    )


def searches(size, seed):
    """Return X, y and qid to learn from, and others to be measured on."""
    X, y, qid = make_web_search(size.n_train + size.n_test, random_state=seed)
    cut = np.searchsorted(qid, size.n_train)
    return (X[:cut], y[:cut], qid[:cut]), (X[cut:], y[cut:], qid[cut:])


def _installed(reporter):
    """Return who can take part; say who cannot, but for engines that we have no part of."""
    there = {c.module: importlib.util.find_spec(c.module) is not None for c in CONTESTANTS}
    if not there["xgboost"]:
        reporter.say("XGBoost is not installed and left out: pip install 'treerank[xgboost]'")
    return [c for c in CONTESTANTS if there[c.module]]


def _row(contestant, train, test, size, seed, reporter):
    warm_up, _ = searches(WARM_UP, seed)
    with reporter.counting(f"{contestant.name}: warming up"):
        contestant.fit(*warm_up, WARM_UP.trees, seed, lambda *_: None)
    with reporter.counting(contestant.name, size.trees) as show:
        wall, cpu = time.perf_counter(), time.process_time()
        model = contestant.fit(*train, size.trees, seed, show)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    X, y, qid = test
    scores = model.predict(X)
    quality = ndcg_score(y, scores, qid), map_score(y, scores, qid)
    return [contestant.name, *(f"{v:.4f}" for v in quality), f"{wall:.2f}", f"{cpu:.2f}"]
