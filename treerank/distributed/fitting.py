"""Fitting by several workers."""

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from treerank.checks import check_count, check_weight, shown
from treerank.datasets.tables import take_columns
from treerank.distributed.launcher import Launcher
from treerank.distributed.parts import file_parts
from treerank.distributed.processes import Processes
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.registry import make_feature_part
from treerank.files.checkpoint import current_checkpoint
from treerank.inputs.documents import check_documents
from treerank.inputs.grouping import QueryGroups
from treerank.objectives.factory import get_loss
from treerank.objectives.pointwise import HalfSquaredError
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.labels import split_labels

#: Settings of the ranker and of its trees with which several workers would fit another model.
_RANKER_SETTINGS = {"per_level": False, "warm_start": False}
_TREE_SETTINGS = {"subsample": 1.0, "warm_start": False, "init_model": None, "device": "cpu"}


def fit(
    ranker: DirectRanker,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    workers: int | Launcher = 2,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    eval_set: Any = None,
) -> Any:
    """Fit a ranker by several workers; the model is that of ``ranker.fit``, bit for bit.

    The rows may be spread over the workers in any way: they exchange rows, so that each one holds
    whole queries, and about the same number of documents. XGBoost adds up the histograms of the
    trees over the workers. Processes import the script that starts them, so a script calls this
    function below ``if __name__ == "__main__":``. In a block of
    :func:`~treerank.files.checkpoint.checkpointing`, the first worker saves the trees, and all go
    on from them.

    Parameters
    ----------
    ranker : DirectRanker
        Ranker over :class:`~treerank.feature_parts.engines.xgboost.XGBoostTrees`. It is not
        changed: a copy is fitted.
    X, y, qid, sample_weight, query_weight : array-like, path or collection of Dask
        As in ``ranker.fit``, but dense, without columns of categories, and with ``qid``. Of a data
        file, each worker reads a share. Dask data frames and arrays need workers of Dask.
    workers : int or Launcher, default=2
        Number of processes of this machine, which end with the fit, or what starts the workers:
        :class:`~treerank.distributed.processes.Processes`, which serve several fits, or
        :class:`~treerank.distributed.dask_workers.DaskWorkers`.
    eval_set : tuple (X, y, qid) or path, default=None
        As in ``ranker.fit``. Each worker reads all of it.

    Returns
    -------
    DirectRanker
        The fitted copy.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> ranker = TreeDirectRanker("xgboost", random_state=0)
    >>> fitted = fit(ranker, X, y, qid, workers=4)  # doctest: +SKIP
    >>> fitted = fit(ranker, "train.parquet", workers=4)  # doctest: +SKIP
    """
    if not isinstance(ranker, DirectRanker):
        raise TypeError(f"ranker must be a DirectRanker; got {shown(ranker)}.")
    ranker._check_settings()
    _check_supported(ranker)
    if isinstance(workers, int):
        check_count("workers", workers, at_most=1000)
    seed = int(check_random_state(ranker.random_state).randint(2**31 - 1))
    weights = {"sample_weight": sample_weight, "query_weight": query_weight}
    columns: dict[str, Any] = {"X": X, "y": y, "qid": qid}
    columns |= {name: weight for name, weight in weights.items() if weight is not None}
    is_file, names = isinstance(X, str | Path), None
    if is_file and len(columns) > 3:
        raise ValueError("sample_weight and query_weight must be None where X is a file.")
    if not is_file and not is_collection(X):
        columns, names = _in_memory(ranker, columns)
    with ExitStack() as stack:
        launcher: Any = workers
        if isinstance(workers, int):
            launcher = stack.enter_context(Processes(workers))
        if is_file:
            shared = nullcontext(file_parts(X, y, qid, launcher.n_workers))
        else:
            shared = launcher.parts(columns)
        task = {"ranker": clone(ranker), "names": names, "weights": list(columns)[3:]}
        task |= {"eval_set": eval_set, "seed": seed, "checkpoint": current_checkpoint()}
        tasks = [task | {"parts": parts} for parts in stack.enter_context(shared)]
        return next(fitted for fitted in launcher.run(tasks) if fitted is not None)


def is_collection(X: Any) -> bool:
    """Tell whether documents are a collection of Dask, which is spread over workers.

    Examples
    --------
    >>> is_collection(np.zeros((2, 3)))
    False
    """
    return hasattr(X, "__dask_graph__")


def _in_memory(ranker: Any, columns: dict[str, Any]) -> tuple[dict[str, np.ndarray], Any]:
    """Return arguments of ``fit`` as checked arrays, and the names of the features."""
    X, y, qid = take_columns(*(columns[name] for name in ("X", "y", "qid")))
    if split_labels(y) is not None:
        raise ValueError("y must be a single label for several workers.")
    reader: Any = clone(ranker)
    X, y = check_documents(reader, X, y, reset=True)
    if reader.columns_.categories or not hasattr(X, "flags"):
        raise ValueError("X must be dense numbers, without categories, for several workers.")
    qid = QueryGroups.from_qid(qid, len(y)).codes
    weights = {name: check_weight(name, columns[name], len(y)) for name in list(columns)[3:]}
    return {"X": X, "y": y, "qid": qid, **weights}, getattr(reader, "feature_names_in_", None)


def _check_supported(ranker: Any) -> None:
    """Refuse what several workers would fit otherwise than one."""
    part = make_feature_part(ranker.feature_part)
    if not isinstance(part, XGBoostTrees):
        raise ValueError(
            f"feature_part must be XGBoostTrees for several workers; got {shown(part)}."
        )
    if isinstance(get_loss(ranker.loss), HalfSquaredError):  # it needs the mean of all labels
        raise ValueError(
            f"loss must compare documents for several workers; got {shown(ranker.loss)}."
        )
    for owner, rules in ((part, _TREE_SETTINGS), (ranker, _RANKER_SETTINGS)):
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
