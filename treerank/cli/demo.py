"""``treerank demo``: our feature parts and the engines' own rankers on synthetic data.

To add a contestant, write a function that fits it and list it in ``CONTESTANTS``.
"""

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from treerank.cli.console import Reporter, print_table
from treerank.cli.options import Quiet, RandomState
from treerank.cli.trees import make_trees, tree_parameters
from treerank.datasets.web_search import make_web_search
from treerank.evaluation.engine_rankers import adapted, engine_ranker
from treerank.metrics.ndcg import NDCG
from treerank.metrics.threshold_metrics import AveragePrecision
from treerank.numerics.threads import threads_allowed
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

NUM_LEAVES = 31
LEARNING_RATE = 0.1


class Size(NamedTuple):
    """Numbers of queries, of 120 documents each on average, and of trees of every ranker."""

    n_train: int
    n_test: int
    n_estimators: int


FULL = Size(n_train=400, n_test=200, n_estimators=100)
QUICK = Size(n_train=40, n_test=40, n_estimators=20)
WARM_UP = Size(n_train=4, n_test=1, n_estimators=2)


class Contestant(NamedTuple):
    """A row of the table: name, package, and ``fit(X, y, qid, n_estimators, seed) -> model``."""

    name: str
    package: str
    fit: Callable[..., Any]


def _fit_ours(engine, X, y, qid, n_estimators, seed):
    part = make_trees(engine, n_estimators, NUM_LEAVES, LEARNING_RATE)
    return TreeDirectRanker(part, random_state=seed).fit(X, y, qid)


def _fit_engine(name, X, y, qid, n_estimators, seed):
    ranker = engine_ranker(name).set_params(n_jobs=threads_allowed(), random_state=seed)
    sizes = tree_parameters(ranker.get_params(), n_estimators, NUM_LEAVES, LEARNING_RATE)
    return adapted(ranker.set_params(**sizes)).fit(X, y, qid)


def _fit_catboost(X, y, qid, n_estimators, seed):
    import catboost

    ranker = catboost.CatBoostRanker(
        loss_function="YetiRank",
        iterations=n_estimators,
        learning_rate=LEARNING_RATE,
        grow_policy="Lossguide",
        max_leaves=NUM_LEAVES,
        random_seed=seed,
        thread_count=threads_allowed(),
        logging_level="Silent",
        allow_writing_files=False,
    )
    return ranker.fit(X, y, group_id=qid)


CONTESTANTS = (
    Contestant("TreeDirectRanker, LightGBM", "lightgbm", partial(_fit_ours, "lightgbm")),
    Contestant("LGBMRanker, lambdarank", "lightgbm", partial(_fit_engine, "lightgbm.LGBMRanker")),
    Contestant("TreeDirectRanker, XGBoost", "xgboost", partial(_fit_ours, "xgboost")),
    Contestant("XGBRanker, rank:ndcg", "xgboost", partial(_fit_engine, "xgboost.XGBRanker")),
    Contestant("CatBoostRanker, YetiRank", "catboost", _fit_catboost),
)


def demo(
    random_state: RandomState = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Less data and fewer trees.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train on synthetic web searches and compare with the engines' own rankers.

    All rankers get the same documents and the same number of trees, leaves and threads. They have
    the same learning rate; their other settings are their defaults. Rankers whose package is not
    installed are left out. A small fit before, in which kernels are compiled, is not timed.
    """
    size = QUICK if quick else FULL
    reporter = Reporter(quiet)
    train, test = searches(size, random_state)
    reporter.say(f"{len(train[1])} documents of {size.n_train} synthetic queries to learn from")
    rows = [
        _row(contestant, train, test, size.n_estimators, random_state, reporter)
        for contestant in CONTESTANTS
        if _is_installed(contestant, reporter)
    ]
    columns = ["ranker", "NDCG@10", "MAP", "seconds", "CPU seconds"]
    print_table(columns, rows, right=columns[1:])
    reporter.say(
        f"{size.n_estimators} trees of {NUM_LEAVES} leaves each, {threads_allowed()} threads; "
        f"measured on {size.n_test} other queries."
    )


def searches(size: Size, seed: int) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return X, y and qid of a training set and of a test set."""
    X, y, qid = make_web_search(size.n_train + size.n_test, random_state=seed)
    cut = np.searchsorted(qid, size.n_train)
    return (X[:cut], y[:cut], qid[:cut]), (X[cut:], y[cut:], qid[cut:])


def _is_installed(contestant, reporter):
    """Tell whether the package of a contestant is installed; show those that are not."""
    is_installed = importlib.util.find_spec(contestant.package) is not None
    if not is_installed:
        reporter.say(f"{contestant.name}: left out, as {contestant.package} is not installed")
    return is_installed


def _row(contestant, train, test, n_estimators, seed, reporter):
    """Fit a contestant and return its cells of the table."""
    with reporter.counting(contestant.name):
        contestant.fit(*searches(WARM_UP, seed)[0], WARM_UP.n_estimators, seed)
        wall, cpu = time.perf_counter(), time.process_time()
        model = contestant.fit(*train, n_estimators, seed)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    X, y, qid = test
    scores = model.predict(X)
    quality = NDCG(k=10)(y, scores, qid), AveragePrecision()(y, scores, qid)
    return [contestant.name, *(f"{v:.4f}" for v in quality), f"{wall:.2f}", f"{cpu:.2f}"]
