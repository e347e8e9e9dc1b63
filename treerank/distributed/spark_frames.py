"""Spark: a fit to a data frame of Spark 4, classic or Connect, by barrier tasks, and its scores.

Spark reads the partitions and shuffles their rows by query. Then one task for each worker runs at
the same time, see :mod:`treerank.distributed.shard`. The first one is where the workers meet, so
the driver needs no port, and each attempt has a meeting point of its own.
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from threading import Thread
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from treerank.checks import quote
from treerank.distributed.collective import start_tracker, stop_tracker
from treerank.distributed.shard import Outcome, Task, fit_shard
from treerank.progress import ignore_progress

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")
#: Settings of a session whose workers encrypt what they send.
_ENCRYPTING = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")
#: Column that says which rows are held out: a task of Spark reads one frame.
_HELD_OUT = "treerank_is_held_out"
#: Seconds for workers to leave each other after a fit, and after an error.
_LEAVING, _GIVING_UP = 60, 1
#: Seconds in which Spark ends tasks after Ctrl-C.
_FREED = 10
#: How Spark says that it does not try a barrier stage again.
_LOST = "Could not recover from a failed barrier"


#: Types of columns that are text or categories.
OF_CATEGORIES = frozenset(["string"])


def kinds_of(frame: Any) -> dict[str, str]:
    """Return the type of each column that is not of numbers, by name."""
    return {name: kind for name, kind in frame.dtypes if kind not in _NUMBERS}


def fit_frames(
    task: Task,
    frame: Any,
    eval_frame: Any,
    *,
    n_workers: int | None,
    client: Any,
    encrypted: bool,
) -> list[Outcome]:
    """Shuffle the rows of frames to tasks by query, fit there, and return the tasks' outcomes.

    ``eval_frame`` may be None, and ``client`` must be. ``n_workers=None`` is as many tasks as run
    at a time. With ``encrypted``, a session that encrypts its connections is refused, since those
    of a fit are in the clear. Errors of Spark after the death of a worker become one sentence.
    """
    if client is not None:
        raise ValueError(f"client must be None for a data frame of Spark; got {quote(client)}.")
    session, columns = frame.sparkSession, task.columns
    n = _n_workers(session, n_workers)
    _refuse_encryption(session, encrypted)
    rows = frame.select(*map(_quoted, columns.of_training))
    if eval_frame is not None:
        held_out = eval_frame.select(*map(_quoted, columns.of_evaluation))
        rows = _marked(rows, False).unionByName(_marked(held_out, True), allowMissingColumns=True)
    partitioned = _numbered(rows.repartition(n, _quoted(columns.query)))
    work = partial(_fit_here, task, n, eval_frame is not None)
    fitted = partitioned.mapInArrow(work, "model binary, report string", barrier=True)
    try:
        outcomes = _collected(session, fitted)
    except Exception as error:
        if _LOST in str(error):
            raise _death(str(error)) from None
        raise
    return [Outcome(bytes(row.model), row.report) for row in outcomes]


def _collected(session: Any, frame: Any) -> list[Any]:
    """Return the rows of a frame; on Ctrl-C, cancel the tasks that compute them.

    Another thread collects them. In this one, a handler of Ctrl-C could not reach the driver: a
    thread has one connection to it, which is busy until the tasks are done.
    """
    from pyspark import inheritable_thread_target

    tag, rows = f"treerank-{uuid4().hex}", Future[list[Any]]()

    def collect() -> None:
        session.addTag(tag)
        try:
            rows.set_result(frame.collect())
        except BaseException as error:
            rows.set_exception(error)
        finally:
            session.removeTag(tag)

    with_settings = inheritable_thread_target(session)  # of this thread, such as a pool
    Thread(target=with_settings(collect), daemon=True).start()
    try:
        return rows.result()
    except KeyboardInterrupt:
        session.interruptTag(tag)
        wait([rows], timeout=_FREED)
        raise


def _quoted(name: str) -> str:
    """Return a column's name in backticks, since Spark reads a dot as access to a member."""
    return f"`{name.replace('`', '``')}`"


def _numbered(frame: Any) -> Any:
    """Return a frame with its columns renamed to ``column_0`` and so on.

    ``mapInArrow`` does not find columns whose names have dots.
    """
    return frame.toDF(*(f"column_{number}" for number in range(len(frame.columns))))


def _marked(frame: Any, is_held_out: bool) -> Any:
    from pyspark.sql import functions

    return frame.withColumn(_HELD_OUT, functions.lit(is_held_out))


def _n_workers(session: Any, n_workers: int | None) -> int:
    """Return ``n_workers``, or if it is None the number of tasks that run at a time.

    Refuses more than that; and None where Spark does not tell it, as with Spark Connect.
    """
    slots, context = None, getattr(session, "sparkContext", None)  # Spark Connect has none
    if context is not None and session.conf.get("spark.default.parallelism", None) is None:
        per_task = int(session.conf.get("spark.task.cpus", "1"))
        slots = max(1, context.defaultParallelism // per_task)
    if n_workers is None and slots is None:
        raise ValueError(
            "n_workers must be given where Spark does not tell how many tasks run at a time, as "
            "with Spark Connect; got None."
        )
    if n_workers is not None and slots is not None and n_workers > slots:
        raise ValueError(
            f"n_workers must be at most {slots}, the number of tasks that Spark runs at a time; "
            f"got {n_workers}. All workers of a fit run at the same time."
        )
    return n_workers or slots or 1


def _refuse_encryption(session: Any, encrypted: bool) -> None:
    """Refuse a session that encrypts its connections, unless ``encrypted`` is False.

    The connections of a fit are not encrypted.
    """
    for name in _ENCRYPTING if encrypted else ():
        if session.conf.get(name, "false") == "true":
            raise ValueError(
                "encrypted must be False to fit by a session of Spark whose connections are "
                "encrypted: the sums of a fit, some 50,000 rows and the scores of eval_set pass "
                f"between its workers in the clear; got True and {name}=true."
            )


def _death(text: str) -> RuntimeError:
    """Return a one-sentence error from Spark's message on a failed task or a lost worker."""
    raised = re.search(
        r"Traceback \(most recent call last\):.*?\n(\w[\w.]*: [^\n]*)", text, re.DOTALL
    )
    if raised is not None:  # before or after the fit itself, such as a package that is not there
        return RuntimeError(f"A task of the fit failed on a worker of Spark: {raised[1].strip()}")
    reason = re.search(r"(ExecutorLostFailure[^\n]*|[^\n]*(?:crashed|exited|EOF)[^\n]*)", text)
    reason_text = "" if reason is None else f" Spark says: {reason[0].strip()[:300]}"
    return RuntimeError(
        "Every worker must live until the fit is done; Spark has lost one, often because it had "
        f"too little memory; the log of that worker tells why.{reason_text}"
    )


def _fit_here(
    task: Task, n_workers: int, has_eval_set: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Fit to the rows of this Spark task; yield one row with its outcome, ``model`` and ``report``.

    ``batches`` are the task's rows, with those to evaluate on among them if ``has_eval_set``.
    """
    from pyspark import BarrierTaskContext

    context: Any = BarrierTaskContext.get()
    rank, network = context.partitionId(), ""
    rows = list(batches)
    if rank == 0:
        host = context.getTaskInfos()[0].address.rpartition(":")[0]
        network = json.dumps(start_tracker(n_workers, host))
    meeting = json.loads(context.allGather(network)[0])
    is_fitted = False
    try:
        table, held_out = _tables(task, rows, has_eval_set)
        rows.clear()
        frames = [deque([table])]
        eval_frames = None if held_out is None else [deque([held_out])]
        del table, held_out
        n_threads = max(1, context.cpus())
        outcome = fit_shard(
            task, frames, eval_frames, rank, meeting, n_threads=n_threads, listener=ignore_progress
        )
        is_fitted = outcome.is_fitted
    finally:
        if rank == 0:
            stop_tracker(meeting, _LEAVING if is_fitted else _GIVING_UP)
    schema = pa.schema([("model", pa.binary()), ("report", pa.string())])
    columns = {"model": [outcome.model], "report": [outcome.report]}
    yield pa.RecordBatch.from_pydict(columns, schema=schema)


def _tables(task: Task, rows: list[pa.RecordBatch], has_eval_set: bool) -> tuple[Any, Any]:
    """Return ``(training rows, held-out rows)`` of a task as Arrow tables.

    The latter are None without an ``eval_set``. Without any rows, both are empty tables.
    """
    columns = task.columns
    types = {name: pa.string() for name in columns.categories}
    empty = {name: pa.array([], types.get(name, pa.float64())) for name in columns.of_training}
    nothing = pa.table(empty)
    if not rows:
        return nothing, (nothing if has_eval_set else None)
    table = pa.Table.from_batches(rows)
    if not has_eval_set:
        return table.rename_columns(columns.of_training), None
    table = table.rename_columns([*columns.of_training, _HELD_OUT])
    held_out = table[_HELD_OUT]
    return table.filter(pc.invert(held_out)), table.filter(held_out)


def predict_frame(ranker: Any, frame: Any, features: list[str]) -> Any:
    """Return the Spark frame with a further column "score"; refuse a frame that has one."""
    from pyspark.sql.types import DoubleType, StructType

    if "score" in frame.columns:
        raise ValueError(f"frame must have no column 'score' yet; got {frame.columns}.")
    schema = StructType([*frame.schema.fields]).add("score", DoubleType())
    work = partial(_scored, ranker, frame.columns, features)
    return _numbered(frame).mapInArrow(work, schema)


def _scored(
    ranker: Any, names: list[str], features: list[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield each batch with a column "score".

    ``names`` are the names of its columns, and ``features`` those that the ranker takes. Empty
    batches are left out.
    """
    for batch in batches:
        if batch.num_rows:
            table = pa.Table.from_batches([batch]).rename_columns(names)
            scores = ranker.predict(table.select(features))
            yield batch.append_column("score", pa.array(scores, pa.float64()))
