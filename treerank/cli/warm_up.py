"""``treerank warm-up``: kernels are compiled before they are needed, as in a container image."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any

import numpy as np
import typer
from scipy.sparse import csr_matrix

from treerank.cli.console import Reporter
from treerank.cli.options import Quiet, option
from treerank.clicks.simulation import simulate_clicks
from treerank.clicks.trust_bias import estimate_trust_bias
from treerank.datasets.web_search import make_web_search
from treerank.documents.ranking_data import Batches
from treerank.feature_parts.registry import feature_part_class
from treerank.metrics.registry import METRICS
from treerank.numerics.distinct import count_distinct
from treerank.numerics.kernel_folder import kernel_folder, user_folder
from treerank.objectives.factory import LOSSES, make_objective
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.objectives.pairs.rules import PAIRS
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.rankers.tree_direct_ranker import TreeDirectRanker, trees_for_few
from treerank.registry import ranker_class
from treerank.reranking.diversification import diversify
from treerank.reranking.sampling import sample_lists

#: What is compiled, and the function that needs it.
Step = tuple[str, Callable[[], object]]
#: Arguments of something, by their names.
Settings = dict[str, Any]
#: Settings that make trees quick.
_SIZES: Settings = {"n_estimators": 2, "num_leaves": 8, "min_child_samples": 2, "n_jobs": 1}
#: Leaves of trees that are too large for bit vectors.
_MANY = 100
#: Values of a column that are not sorted by NumPy.
_MANY_VALUES = 10_000
#: Rankers of the literature that have kernels of their own, and settings that make them quick.
_BASELINES: dict[str, Settings] = {
    "AdaRank": {"n_estimators": 2},
    "CoordinateAscent": {"n_restarts": 1, "n_sweeps": 1, "n_steps": 2},
    "FRank": {"n_estimators": 2},
    "IESVMRank": {"n_generations": 2},
    "PRank": {"n_epochs": 1},
    "QuadraticPRank": {"n_epochs": 1},
    "RankBoost": {"n_estimators": 2},
    "RankSVM": {},
}

_ALL = option("Options", "Also compile the kernels of other losses, weights and rankers.", "--all")


def warm_up(everything: Annotated[bool, _ALL] = False, quiet: Quiet = False) -> None:
    """Compile the kernels of fits and predictions before they are needed.

    Without it, the first fit of an installation compiles for some seconds. The result is stored in
    NUMBA_CACHE_DIR, or in the user's cache folder, for this kind of processor.
    """
    reporter = Reporter(quiet)
    if kernel_folder(__file__) is None:
        raise OSError("NUMBA_CACHE_DIR must be a folder that can be written, to store kernels in.")
    documents = make_web_search(24, documents_per_query=20, n_features=10, random_state=0)
    for name, use in [*_usual(*documents), *(_further(*documents) if everything else [])]:
        with reporter.step(f"compiling {name}") as step:
            use()
            step.done = f"compiled {name}"
    typer.echo(user_folder())


def _usual(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> Iterator[Step]:
    """Yield what is compiled for the first fits, predictions and metrics of most users."""
    lightgbm, histogram = (feature_part_class(part)(**_SIZES) for part in ("lightgbm", "histogram"))
    yield "fits of LightGBM's trees", partial(_fit, lightgbm, X, y, qid)
    yield "fits of histogram trees", partial(_fit, histogram, X, y, qid)
    if find_spec("xgboost"):
        xgboost = feature_part_class("xgboost")(n_estimators=2, n_jobs=1)
        yield "fits of XGBoost's trees", partial(_fit, xgboost, X, y, qid)
    yield "histogram trees of sparse features", partial(_fit, histogram, _sparse(X), y, qid)
    yield "bins of many documents", partial(count_distinct, np.arange(float(_MANY_VALUES)))
    rounded = feature_part_class("histogram")(**_SIZES, precision="int16")
    ranker = TreeDirectRanker(rounded, random_state=0)
    yield "histogram trees of rounded derivatives", partial(_fit_ranker, ranker, X, y, qid)
    few = TreeDirectRanker(trees_for_few(len(np.unique(qid)), n_jobs=1), random_state=0)
    yield "fits to few queries", partial(_fit_ranker, few, X, y, qid)
    yield "predictions of large trees", partial(_predict_by_large_trees, X, y, qid)
    yield "metrics", lambda: [metric(y, X[:, 0], qid) for metric in METRICS.values()]


def _fit(part: Any, X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
    """Fit a ranker as most users do, and score by it."""
    ranker = TreeDirectRanker(part, random_state=0)
    is_train = qid % 2 == 0
    train, valid = ((X[rows], y[rows], qid[rows]) for rows in (is_train, ~is_train))
    ranker.fit(*train, eval_set=valid)
    score = ranker.scorer()
    for documents in (X, X[:1]):
        ranker.predict(documents)
        score(documents)


def _sparse(X: np.ndarray) -> np.ndarray:
    """Return features that are 0 in the same half of the rows, which histogram trees leave out."""
    return X * (np.arange(len(X)) % 2)[:, None]


def _predict_by_large_trees(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
    sizes = _SIZES | {"num_leaves": _MANY, "min_child_samples": 1}
    part = feature_part_class("lightgbm")(**sizes)
    ranker = TreeDirectRanker(part, random_state=0).fit(X, y, qid)
    for documents in (X, X[:1]):
        ranker.predict(documents)


def _further(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> Iterator[Step]:
    """Yield what is compiled for other losses, weights, pairs and rankers."""
    for loss in LOSSES:
        weights = ("uniform", "ndcg") if loss in PAIR_LOSSES else (None,)
        losses: list[Settings] = [{"loss": loss, "weight": weight} for weight in weights]
        yield f"the loss {loss}", partial(_derive, y, qid, losses)
    for weight, rule in PAIR_WEIGHTS.items():
        pairs = PAIRS if rule.separates else [name for name in PAIRS if name != "with_ties"]
        rules: list[Settings] = [
            {"weight": weight, "pairs": name, "smoothing": 1.0} for name in pairs
        ]
        yield f"the weight {weight}", partial(_derive, y, qid, rules)
    own_weights = {"sample_weight": 1.0 + y, "weight": "ndcg"}
    yield "weights of documents", partial(_derive, y, qid, [own_weights])
    yield "pairs of the user", partial(_derive, y, qid, [{"given_pairs": [[0, 1], [2, 1]]}])
    sparse = TreeDirectRanker(feature_part_class("lightgbm")(**_SIZES), random_state=0)
    yield "sparse matrices", partial(_fit_ranker, sparse, csr_matrix(X), y, qid)
    by_level = feature_part_class("histogram")(**_SIZES, grow_policy="depthwise")
    levels = TreeDirectRanker(by_level, random_state=0)
    for name, features in (("", X), (" of sparse features", _sparse(X))):
        step = f"categories, constraints, levels and workers{name}"
        yield step, partial(_fit_ranker, levels, features, y, qid)
    yield "files larger than memory", partial(_fit_batches, X, y, qid)
    for part in ("linear", *(["soft_trees"] if find_spec("torch") else [])):
        ranker = TreeDirectRanker(feature_part_class(part)(), random_state=0)
        yield f"the feature part {part}", partial(_fit_ranker, ranker, X, y, qid)
    for name, settings in _BASELINES.items():
        yield name, partial(_fit_ranker, ranker_class(name)(**settings), X, y, qid)
    yield "explanations", partial(_explain, X, y, qid)
    yield "trust bias", partial(_trust_bias, y, qid)
    yield "lists", partial(_lists, X)


def _derive(y: np.ndarray, qid: np.ndarray, settings: Iterable[Settings]) -> None:
    """Compute values and derivatives of objectives, which other kernels do than those alone."""
    for setting in settings:
        objective = make_objective(y, qid, **setting)
        scores = np.zeros((len(y), objective.n_outputs) if objective.n_outputs > 1 else len(y))
        objective(scores)
        objective.derivatives(scores)


def _fit_batches(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
    part = feature_part_class("histogram")(**_SIZES)
    TreeDirectRanker(part, random_state=0).fit(Batches([(X, y, qid)]))


def _fit_ranker(ranker: Any, X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
    ranker.fit(X, y, qid).predict(X)


def _explain(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
    ranker = TreeDirectRanker(feature_part_class("lightgbm")(**_SIZES), random_state=0)
    ranker.fit(X, y, qid).explain(X[:2], X[2:4])


def _trust_bias(y: np.ndarray, qid: np.ndarray) -> None:
    position = np.arange(len(y)) % np.bincount(qid).max() + 1
    estimate_trust_bias(simulate_clicks(y, qid, position, random_state=0), tol=np.inf)


def _lists(X: np.ndarray) -> None:
    """Draw a list, and diversify one by groups and by vectors."""
    scores = X[:20, 0]
    sample_lists(scores, random_state=0)
    diversify(scores, groups=np.arange(20) // 5)
    diversify(scores, vectors=X[:20])
