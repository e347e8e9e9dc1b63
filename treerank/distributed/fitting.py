"""Fitting by several workers."""

from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from treerank.checks import check_count, naming, quote, warn_user
from treerank.distributed.columns import dense_columns
from treerank.distributed.dask_workers import DaskWorkers
from treerank.distributed.parts import Arguments, Part, read_file_share
from treerank.distributed.processes import Processes
from treerank.feature_parts.base import traits_of
from treerank.feature_parts.registry import make_feature_part
from treerank.files.checkpoint import current_checkpoint
from treerank.inputs.documents import feature_names_of, parts_of_eval_set
from treerank.inputs.grouping import QueryGroups
from treerank.metrics.base import Metric
from treerank.metrics.registry import get_metric
from treerank.objectives.factory import get_loss
from treerank.objectives.lists.losses import HalfSquaredError
from treerank.parameters import check_arguments
from treerank.rankers.direct_ranker import DirectRanker

#: What starts workers.
Launcher = Processes | DaskWorkers
#: Settings of the ranker without which several workers would fit another model.
_RANKER_SETTINGS = {"warm_start": False, "clicks": None}


@check_arguments
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
    whole queries, and all have about as many documents. The histograms of the
    trees are added up over the workers. Early stopping and calibration look at the documents
    of all workers. Processes import the script that starts them, so a script calls this
    function below ``if __name__ == "__main__":``. In a block of
    :func:`treerank.show_progress`, the iterations of the first worker are shown; a listener cannot
    end the fit. In a block of
    :func:`~treerank.files.checkpoint.checkpointing`, the first worker saves the trees, and all go
    on from them.

    Workers connect to the first of them. Who reaches its port can connect, but is closed after ten
    seconds without the secret of the fit, which only the launcher tells, and never over these
    connections. Messages are JSON and arrays: reading them runs no code. They are encrypted where
    those of Dask are; else, who listens on the network reads the data, and the secret where Dask
    sends it. XGBoost's workers also have connections of its own, which ask for no secret: train
    histogram trees where you do not trust the network.

    Parameters
    ----------
    ranker : DirectRanker
        Ranker over :class:`~treerank.feature_parts.histogram.trees.HistogramTrees` or
        :class:`~treerank.feature_parts.engines.xgboost.XGBoostTrees`. It is not changed: a copy is
        fitted. Settings with which workers would fit another model than a single one are refused.
    X, y, qid, sample_weight, query_weight : array-like, path or data of Dask
        As in ``ranker.fit``, but dense, without columns of categories, and with ``qid``. Of a data
        file, each worker reads a share. Data of Dask need workers of Dask.
    workers : int, Processes or DaskWorkers, default=2
        Number of processes of this machine, which end with the fit, or what starts the workers:
        :class:`~treerank.distributed.processes.Processes`, which serve several fits, or
        :class:`~treerank.distributed.dask_workers.DaskWorkers`.
    eval_set : tuple (X, y, qid) or path, default=None
        As in ``ranker.fit``. It is spread over the workers, as ``X`` is.

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
    ranker.check_settings()
    _check_supported(ranker, with_metric=eval_set is not None)
    if isinstance(workers, int):
        check_count("workers", workers, at_most=1000)
    elif not isinstance(workers, Launcher):
        rule = "workers must be a number of processes, or a launcher as DaskWorkers(client)"
        raise TypeError(f"{rule}; got {quote(workers)}.")
    seed = int(check_random_state(ranker.random_state).randint(2**31 - 1))
    reader: Any = clone(ranker)
    weights = {"sample_weight": sample_weight, "query_weight": query_weight}
    train, held_out = _columns_of(reader, X, y, qid, **weights), None
    with naming("eval_set"):
        if isinstance(eval_set, str | Path):
            held_out = _columns_of(reader, eval_set, None, None)
        elif eval_set is not None:
            held_out = _columns_of(reader, *parts_of_eval_set(eval_set))
    with Processes(workers) if isinstance(workers, int) else nullcontext(workers) as launcher:
        own = _shares(launcher, *train)
        others = [None] * len(own) if held_out is None else _shares(launcher, *held_out)
        task = {"ranker": clone(ranker), "seed": seed, "checkpoint": current_checkpoint()}
        shares = zip(own, others, strict=True)
        results = launcher.run([task | {"train": each, "held_out": rest} for each, rest in shares])
    fitted, messages = zip(*results, strict=True)
    for message, category in dict.fromkeys(chain.from_iterable(messages)):
        warn_user(message, category)
    return next(each for each in fitted if each is not None)


def _columns_of(reader: Any, X: Any, y: Any, qid: Any, **weights: Any) -> tuple[Arguments, Any]:
    """Return arguments of ``fit``, as checked arrays if they are in memory, and feature names."""
    columns: Arguments = {"X": X, "y": y, "qid": qid}
    columns |= {name: weight for name, weight in weights.items() if weight is not None}
    if isinstance(X, str | Path):
        if len(columns) > 3:
            raise ValueError("sample_weight and query_weight must be None where X is a file.")
    elif type(X).__module__.partition(".")[0] != "dask":
        columns = dense_columns(reader, columns)
        columns["qid"] = QueryGroups.from_qid(columns["qid"], len(columns["y"])).codes
        return columns, feature_names_of(reader)
    elif y is None or qid is None:
        raise ValueError("y and qid must be given where X is spread over workers; got None.")
    return columns, None


def _shares(launcher: Launcher, columns: Arguments, names: Any) -> list[Arguments]:
    """Return the documents of each worker, as arguments of ``whole_queries``."""
    if isinstance(columns["X"], str | Path):
        read = partial(read_file_share, Path(columns["X"]), columns["y"], columns["qid"])
        n = launcher.n_workers
        parts: list[list[Part]] = [[partial(read, number, n)] for number in range(n)]
    else:
        parts = launcher.parts(columns)
    return [{"parts": each, "names": names} for each in parts]


def _check_supported(ranker: Any, with_metric: bool) -> None:
    """Refuse what several workers would fit otherwise than one."""
    part = make_feature_part(ranker.feature_part)
    needed = traits_of(part).settings_by_workers
    if needed is None:
        raise ValueError(
            "feature_part must be 'histogram' or 'xgboost' for several workers, as in "
            f'TreeDirectRanker("histogram"); got {quote(part)}.'
        )
    if isinstance(get_loss(ranker.loss), HalfSquaredError):  # it needs the mean of all labels
        raise _refusal("loss", "compare documents", ranker.loss)
    for owner, rules in ((part, needed), (ranker, _RANKER_SETTINGS)):
        for name, value in rules.items():
            if getattr(owner, name) != value:
                raise _refusal(name, f"be {value!r}", getattr(owner, name))
    metric = get_metric(ranker.metric)
    if with_metric and (not isinstance(metric, Metric) or metric.ties == "stable"):
        rule = "be a Metric that does not depend on the order of rows"
        raise _refusal("metric", rule, ranker.metric)


def _refusal(name: str, rule: str, value: Any) -> ValueError:
    return ValueError(f"{name} must {rule} for several workers; got {quote(value)}.")
