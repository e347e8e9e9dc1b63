"""Shard: what one worker of a fit does, whichever engine has started it.

A worker gets whole queries, fits together with the others and returns an :class:`Outcome`. Errors
are part of it: an engine would wrap the error of a task in its own, and lose which came first.
"""

import builtins
import json
import tempfile
import traceback
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import sklearn.exceptions
from sklearn.base import clone

import treerank
from treerank.checks import as_numbers, check_weight, naming, quote, warn_user
from treerank.distributed.collective import Collective, LostWorkerError, collective_of
from treerank.distributed.columns import FrameColumns
from treerank.distributed.freed_memory import free_unused_memory, keeping_freed_memory
from treerank.documents.columns import Columns, TableValues, text_columns
from treerank.documents.copied_columns import warn_of_copied_columns
from treerank.documents.eval_set import EvalSet
from treerank.documents.features import check_features
from treerank.documents.labels import check_labels
from treerank.documents.queries import QueryGroups
from treerank.documents.rows import Rows
from treerank.documents.stacked import StackedMatrix
from treerank.documents.training_set import training_set
from treerank.feature_parts.registry import make_feature_part
from treerank.files.archive import write_archive
from treerank.files.checkpoint import Checkpoint, using
from treerank.numerics.threads import kernel_threads, threads_of
from treerank.progress import Listener, listening
from treerank.rankers.early_stopping import with_metrics
from treerank.rankers.model_file import read_model
from treerank.rankers.ranker import fit_training_set
from treerank.rankers.saved_values import saved
from treerank.rankers.scoring import metric_of

#: A data frame in a deque, from which it is taken as it is read: what an engine holds for a task is
#: the deque, so the memory of the frame is free. Of a list, Dask would add up the bytes of all
#: columns, which takes 1.5 milliseconds for 136 of them.
Partition = deque[Any]


@dataclass(frozen=True)
class Task:
    """What every worker of a fit gets.

    Attributes
    ----------
    ranker : DirectRanker
        The ranker as it is set, unfitted.
    columns : FrameColumns
        What the columns of the frames are for.
    seed : int
        Seed of the fit.
    checkpoint : Checkpoint or None
        Where trees are saved: a path that all workers reach.
    """

    ranker: Any
    columns: FrameColumns
    seed: int
    checkpoint: Checkpoint | None


class Outcome(NamedTuple):
    """What a worker returns.

    ``model`` is a model file as bytes, empty except from one worker, as all have the same.
    ``report`` is JSON with "error", None without one, and "warnings".
    """

    model: bytes
    report: str

    @property
    def is_fitted(self) -> bool:
        """Whether the worker's fit has ended without an error."""
        return json.loads(self.report)["error"] is None


def fit_shard(
    task: Task,
    frames: Sequence[Partition],
    eval_frames: Sequence[Partition] | None,
    rank: int,
    network: dict[str, Any],
    *,
    n_threads: int,
    listener: Listener,
) -> Outcome:
    """Fit to the rows of this worker, together with the others; errors are part of the outcome.

    ``frames`` and ``eval_frames``, or None without an ``eval_set``, are the partitions of this
    worker, at least one, maybe without rows; together they hold whole queries. They are emptied.
    ``rank`` is the worker's number. ``network`` is how workers meet, see ``start_tracker``. The fit
    uses ``n_threads`` threads and tells ``listener`` of its progress.
    """
    model, failure = b"", None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", "(?s).*Empty dataset at worker|.*src/collective")
        try:
            pool = ThreadPoolExecutor(1)  # reads rows while the workers meet
            ahead = pool.submit(_read_ahead, task, frames)
            pool.shutdown(wait=False)
            with (
                collective_of(network | {"dmlc_task_id": f"{rank:06}"}) as workers,
                using(_checkpoint_of(task, workers)),
                listening(listener),
                kernel_threads(n_threads),
            ):
                ranker = _limited(clone(task.ranker), n_threads)
                n_rows = _fit(task, ranker, ahead, frames, eval_frames, workers)
                has_rows = workers.join(np.array([n_rows])) > 0
                if workers.rank == np.argmax(has_rows):  # the others know less: nothing of no rows
                    model = _bytes_of(ranker)
        except Exception as error:
            trace = "".join(traceback.format_exception(error))
            failure = [type(error).__name__, str(error), f"In worker {rank}:\n{trace}"]
    messages = [[str(warning.message), warning.category.__name__] for warning in caught]
    return Outcome(model, json.dumps({"error": failure, "warnings": messages}))


def _limited(ranker: Any, n_threads: int) -> Any:
    """Return the ranker with ``n_jobs`` of at most ``n_threads``, which the engine gives a task."""
    part = make_feature_part(ranker.feature_part)
    owner = ranker if "n_jobs" in ranker.get_params(deep=False) else part
    owner.set_params(n_jobs=min(threads_of(owner.n_jobs), n_threads))
    if owner is part:
        ranker.feature_part = part
    return ranker


def _fit(
    task: Task,
    ranker: Any,
    read_ahead: "Future[_ReadAhead]",
    frames: Sequence[Partition],
    eval_frames: Sequence[Partition] | None,
    workers: Collective,
) -> int:
    """Fit ``ranker`` in place to the rows of this worker; return how many these are.

    ``read_ahead`` is the result of :func:`_read_ahead`, and ``workers`` are the workers of the fit.
    The other arguments are as in :func:`fit_shard`.
    """
    columns = task.columns
    _refuse_other_versions(workers)
    reader, values, shard = read_ahead.result()
    if columns.categories:
        values.join(workers.gather_json(values.as_plain()))
    feature_columns = Columns.of_values(values)
    if columns.categories:
        shard = _read(reader, columns, feature_columns, frames, columns.weights)

    def agreed(shard: dict[str, Any] | None) -> tuple[Rows, dict[str, Any]]:
        rows, by_row = _agreed(workers, columns, feature_columns, shard)
        warn_of_copied_columns(reader, rows.values, {"y": by_row["y"]})
        return rows, by_row

    documents, by_row = agreed(shard)
    eval_set: EvalSet | None = None
    if eval_frames is not None:
        with naming("eval_set"):
            shard = _read(reader, columns, feature_columns, eval_frames, {})
            held_out, of_held_out = agreed(shard)
            held_out = replace(held_out, values=held_out.values.joined())
            groups = QueryGroups.from_qid(of_held_out["qid"], len(held_out))
            sets = [(held_out, {"": of_held_out["y"]}, groups)]
            eval_set = with_metrics(sets, [metric_of(ranker)])
    _check_path(workers, task.checkpoint)
    with keeping_freed_memory():
        data = training_set(documents, **by_row)
        fit_training_set(ranker, data, eval_set=eval_set, seed=task.seed)
    return len(data.y)


def _refuse_other_versions(workers: Collective) -> None:
    """Refuse workers of different versions of treerank, xgboost or numpy."""
    versions = [treerank.__version__, version("xgboost"), np.__version__]
    first, *other_versions = workers.gather_json(versions)
    for versions in other_versions:
        if versions != first:
            raise RuntimeError(
                "All workers must have the same versions of treerank, xgboost and numpy; got "
                f"{first} and {versions}."
            )


class _ReadAhead(NamedTuple):
    """What a worker reads of its own rows before it has met the others.

    ``reader`` is an unfitted ranker that knows the columns, and ``values`` has the categories of
    this worker. ``shard`` is what :func:`_read` returns, or None if features are categories: the
    workers have to agree on these first.
    """

    reader: Any
    values: TableValues
    shard: dict[str, Any] | None


def _read_ahead(task: Task, frames: Sequence[Partition]) -> _ReadAhead:
    """Read what needs no other worker of the partitions ``frames``.

    A thread does so while the workers meet, which takes a tenth of a second.
    """
    columns, values, reader = task.columns, TableValues(), clone(task.ranker)
    for (frame,) in frames if columns.categories else frames[:1]:  # names are the same in all
        table = nw.from_native(frame, eager_only=True)
        values.add(table.select(columns.features), columns.categories)
    if columns.categories:
        return _ReadAhead(reader, values, None)
    shard = _read(reader, columns, Columns.of_values(values), frames, columns.weights)
    return _ReadAhead(reader, values, shard)


def _read(
    reader: Any,
    columns: FrameColumns,
    feature_columns: Columns,
    frames: Sequence[Partition],
    weights: Mapping[str, str],
) -> dict[str, Any] | None:
    """Return features, labels, queries and weights as arguments of ``training_set``.

    None if no row has a label. ``X`` is a list with a matrix for each partition. Each partition is
    taken out of ``frames`` as it is read, so that its memory is free. ``weights`` maps arguments to
    columns.
    """
    matrices, others = list[np.ndarray](), list[Any]()
    needed = [*dict.fromkeys([columns.label, columns.query, *weights.values()])]
    for partition in frames:
        table = nw.from_native(partition.pop(), eager_only=True)
        if len(table) == 0:
            continue
        features = table.select(columns.features)
        texts = [name for name in text_columns(features) if name not in columns.categories]
        if texts:  # in a partition that is not what its frame says
            raise ValueError(
                f"frame must hold features that are numbers; got text in {quote(texts)}."
            )
        others.append(table.select(needed))
        is_first = not matrices  # the other partitions have its columns
        X = check_features(reader, features.to_native(), reset=is_first, columns=feature_columns)
        matrices.append(X)
        del table, features
        free_unused_memory()
    if not others:
        return None
    table = nw.concat(others)
    if _are_unjudged(table[columns.label]):  # as on one machine, where other rows have labels
        return None
    y = check_labels(table[columns.label].to_native())
    checked = {
        argument: check_weight(argument, table[column].to_numpy(), len(y))
        for argument, column in weights.items()
    }
    return {"X": matrices, "y": y, "qid": table[columns.query].to_numpy(), **checked}


def _are_unjudged(labels: nw.Series[Any]) -> bool:
    """Tell whether all labels are missing; text and dates are not, and are refused later."""
    if not (labels.dtype.is_numeric() or labels.is_null().all()):
        return False
    return bool(np.isnan(as_numbers("label", labels.to_numpy())).all())


def _agreed(
    workers: Collective,
    columns: FrameColumns,
    feature_columns: Columns,
    shard: dict[str, Any] | None,
) -> tuple[Rows, dict[str, Any]]:
    """Return ``(features, other arguments)`` of this worker's rows, alike on all workers.

    The features are a stacked matrix of the partitions, which trees drop once they have its bins.
    ``shard`` is what :func:`_read` returns; None becomes empty arrays. Features get a dtype that
    can hold the features of all workers. Refuses a frame that has no labels on any worker.
    """
    dtype = None if shard is None else np.result_type(*shard["X"]).str
    dtypes = [name for name in workers.gather_json(dtype) if name is not None]
    if not dtypes:
        raise ValueError("frame must have rows; got none with a label.")
    if shard is None:
        shard = {name: np.empty(0) for name in ("y", *columns.weights)}
        shard |= {"X": [], "qid": np.empty(0, dtype=np.int64)}
    X = StackedMatrix(shard.pop("X"), len(columns.features), np.result_type(*dtypes))
    return Rows(X, columns=feature_columns, workers=workers), shard


def _checkpoint_of(task: Task, workers: Collective) -> Checkpoint | None:
    """Return the task's checkpoint for this worker, None without one; only rank 0 writes to it."""
    return task.checkpoint and replace(task.checkpoint, is_writer=workers.rank == 0)


def _check_path(workers: Collective, checkpoint: Checkpoint | None) -> None:
    """Refuse a checkpoint in a folder that some workers do not share: all must resume from it.

    Rank 0 writes a file beside it, which the others must find.
    """
    if checkpoint is None:
        return
    mark = checkpoint.path.with_name(f"{checkpoint.path.name}.reached")
    if workers.rank == 0:
        mark.write_text("All workers of a fit must find this file.")
    workers.any(False)  # the others look once it is there
    is_lost = workers.any(not mark.exists())
    if workers.rank == 0:
        mark.unlink()
    if is_lost:
        raise ValueError(
            "path of checkpointing must be one that all workers reach, such as a shared folder; "
            f"got {quote(str(checkpoint.path))}, where some of them do not find what another one "
            "wrote."
        )


def _bytes_of(ranker: Any) -> bytes:
    """Return the model file of a ranker, not compressed: it is read at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fitted.treerank"
        write_archive(path, saved(ranker), compress=False)
        return path.read_bytes()


def fitted_from(ranker: Any, outcomes: Sequence[Outcome]) -> Any:
    """Return a ranker fitted as the workers' model; raise their error, and show their warnings.

    Of several errors, the first that is not the loss of another worker is raised.
    """
    if not outcomes:  # Spark runs no task where it knows that there are no rows
        raise ValueError("frame must have rows; got none.")
    reports = [json.loads(outcome.report) for outcome in outcomes]
    failures = [report["error"] for report in reports if report["error"]]
    for kind, text, trace in sorted(
        failures, key=lambda error: error[0] == LostWorkerError.__name__
    ):
        error = _error_of(kind, text)
        error.add_note(trace)
        raise error
    messages = [tuple(message) for report in reports for message in report["warnings"]]
    for text, kind in dict.fromkeys(messages):
        warn_user(text, _class_of(kind, Warning, UserWarning))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fitted.treerank"
        path.write_bytes(next(outcome.model for outcome in outcomes if outcome.model))
        classes: Any = {type(ranker).__name__: type(ranker)}
        state = read_model(path, classes).get_state()
    fitted = clone(ranker).set_state(state)  # with settings that files do not hold, such as losses
    fitted.feature_part_.n_jobs = make_feature_part(ranker.feature_part).n_jobs
    return fitted


def _error_of(kind: str, text: str) -> Exception:
    """Return a worker's error, given the name of its class and its message.

    It is a RuntimeError where the class is not one of Python or scikit-learn.
    """
    if kind == LostWorkerError.__name__:
        return LostWorkerError()
    error_class = _class_of(kind, Exception, None)
    try:
        return RuntimeError(f"{kind}: {text}") if error_class is None else error_class(text)
    except TypeError:  # a class that takes more than a text
        return RuntimeError(f"{kind}: {text}")


def _class_of(name: str, base: type, default: Any) -> Any:
    """Return the subclass of ``base`` with this name in Python or scikit-learn, or ``default``."""
    candidate = getattr(builtins, name, getattr(sklearn.exceptions, name, None))
    return candidate if isinstance(candidate, type) and issubclass(candidate, base) else default
