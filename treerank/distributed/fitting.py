"""Fitting by several workers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from treerank.checks import check_count, check_weight, shown
from treerank.distributed.processes import run_processes
from treerank.distributed.shards import Shard, deal_queries
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.registry import make_feature_part
from treerank.inputs.documents import check_documents
from treerank.inputs.grouping import QueryGroups
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.labels import split_labels
from treerank.rankers.training_set import rows_that_count

#: ``launcher(tasks)`` calls ``fit_shard(**task)`` for each task, all at the same time, with an
#: ``address`` by which the workers find each other, and returns their rankers.
Launcher = Callable[[Sequence[dict[str, Any]]], list[Any]]


def fit(
    ranker: DirectRanker,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike,
    *,
    workers: int = 2,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    eval_set: Any = None,
    launcher: Launcher = run_processes,
) -> Any:
    """Fit a ranker by several workers; the model is that of ``ranker.fit``, bit for bit.

    Each worker holds whole queries, and about the same number of documents. XGBoost adds up the
    histograms of the trees over the workers. Processes import the script that starts them, so a
    script calls this function below ``if __name__ == "__main__":``.

    Parameters
    ----------
    ranker : DirectRanker
        Ranker over :class:`~treerank.feature_parts.engines.xgboost.XGBoostTrees`. It is not
        changed: a copy is fitted.
    X, y, qid, sample_weight, query_weight, eval_set
        As in ``ranker.fit``, but in memory and dense, without columns of categories. Each worker
        reads the whole ``eval_set``.
    workers : int, default=2
        Number of workers.
    launcher : callable, default=run_processes
        Starts the workers; by default as new processes on this machine, which end with the fit.
        :class:`~treerank.distributed.processes.Processes` serve several fits.

    Returns
    -------
    DirectRanker
        The fitted copy.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> ranker = TreeDirectRanker("xgboost", random_state=0)
    >>> fitted = fit(ranker, X, y, qid, workers=4)  # doctest: +SKIP
    """
    check_count("workers", workers, at_most=1000)
    if not isinstance(ranker, DirectRanker):
        raise TypeError(f"ranker must be a DirectRanker; got {shown(ranker)}.")
    copy: Any = clone(ranker)
    copy._check_settings()
    _check_supported(copy, y)
    seed = int(check_random_state(copy.random_state).randint(2**31 - 1))
    X, y = check_documents(copy, X, y, reset=True)
    if copy.columns_.categories or not hasattr(X, "flags"):
        raise ValueError("X must be dense numbers, without categories, for several workers.")
    qid = QueryGroups.from_qid(qid, len(y)).codes
    given = {"sample_weight": sample_weight, "query_weight": query_weight}
    weights = {name: check_weight(name, weight, len(y)) for name, weight in given.items()}
    kept = np.flatnonzero(rows_that_count(len(y), *weights.values()))
    parts = deal_queries(QueryGroups.from_qid(qid[kept]), workers)
    tasks = [
        {
            "ranker": copy,
            "shard": Shard(
                X[rows],
                y[rows],
                qid[rows],
                {name: None if w is None else w[rows] for name, w in weights.items()},
            ),
            "eval_set": eval_set,
            "seed": seed,
        }
        for rows in (kept[part] for part in parts)
    ]
    return next(fitted for fitted in launcher(tasks) if fitted is not None)


def _check_supported(ranker: Any, y: Any) -> None:
    """Refuse what several workers would fit otherwise than one."""
    part = make_feature_part(ranker.feature_part)
    if not isinstance(part, XGBoostTrees):
        raise ValueError(
            f"feature_part must be XGBoostTrees for several workers; got {shown(part)}."
        )
    wanted = {"subsample": 1.0, "warm_start": False, "init_model": None, "device": "cpu"}
    settings = {"per_level": False, "warm_start": False}
    for owner, rules in ((part, wanted), (ranker, settings)):
        for name, value in rules.items():
            if getattr(owner, name) != value:
                raise ValueError(
                    f"{name} must be {value!r} for several workers; "
                    f"got {shown(getattr(owner, name))}."
                )
    if ranker.calibration not in (None, "eval_set"):
        raise ValueError(
            "calibration must be None or 'eval_set' for several workers; "
            f"got {shown(ranker.calibration)}."
        )
    if split_labels(y) is not None:
        raise ValueError("y must be a single label for several workers.")
