"""Spark: tasks of a barrier stage fit one model, on data frames that are spread over a cluster."""

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from treerank.distributed.collective import LostTeamError
from treerank.distributed.launcher import meeting_for
from treerank.distributed.parts import Part, blocks
from treerank.distributed.processes import portable
from treerank.distributed.progress_relay import Place, hearing_progress
from treerank.distributed.ray_workers import check_names
from treerank.distributed.worker import fit_share

#: Columns in which rows of several data frames travel.
_SCHEMA = "number long, rows binary"
#: A row without any; Spark starts no task for nothing.
_NO_ROWS = "-1L as number", "cast(null as binary) as rows"


class SparkPart(NamedTuple):
    """The rows of a data frame that a task gets when the stage runs.

    Attributes
    ----------
    number : int
        Number of the data frame among those of the stage.
    y, qid : str
        Names of its columns.
    """

    number: int
    y: str
    qid: str


class SparkWorkers:
    """Tasks of Spark in barrier mode, as ``workers`` of :func:`treerank.distributed.fit`.

    ``X`` may be a data frame of Spark, whose rows stay in the cluster; ``y`` and ``qid`` are names
    of its columns. An ``eval_set`` may be a data frame, too.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        Session with a slot for each worker.
    n_workers : int
        Number of tasks.

    Examples
    --------
    >>> workers = SparkWorkers(session, 4)  # doctest: +SKIP
    >>> fitted = fit(ranker, frame, "label", "query", workers=workers)  # doctest: +SKIP
    """

    def __init__(self, session: Any, n_workers: int):
        self.session, self.n_workers = session, n_workers
        self._frames: list[Any] = []

    @contextmanager
    def parts(self, columns: Mapping[str, Any]) -> Iterator[list[list[Part]]]:
        """Return the parts of each worker; rows of a data frame come when the stage runs."""
        if isinstance(columns["X"], np.ndarray):
            rows = blocks(len(columns["y"]), self.n_workers)
            yield [[{name: each[own] for name, each in columns.items()}] for own in rows]
            return
        check_names(columns)
        self._frames.append(columns["X"])
        part: Any = SparkPart(len(self._frames) - 1, columns["y"], columns["qid"])
        try:
            yield [[part]] * self.n_workers
        finally:
            self._frames.pop()

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a worker of its own; return their results, see ``Launcher``."""
        context = self.session.sparkContext
        every = context.broadcast([pickle.dumps(task) for task in tasks])
        spread = self._spread(len(tasks)).repartition(len(tasks))
        try:
            with hearing_progress(context.getConf().get("spark.driver.host")) as place:
                rows = spread.mapInArrow(
                    lambda batches: _work(every.value, place, batches),
                    "answer binary",
                    barrier=True,
                ).collect()
        except Exception as error:  # of many kinds; errors of the workers are answers
            raise RuntimeError(
                "every worker must live until the fit is done; Spark has ended them."
            ) from error
        finally:
            every.destroy()
        answers = [pickle.loads(row.answer) for row in rows]
        errors = [error for _, error in answers if error is not None]
        if errors:
            raise min(errors, key=lambda error: isinstance(error, LostTeamError))
        return [ranker for ranker, _ in answers]

    def _spread(self, n_tasks):
        """Return the rows of all data frames as one, in which each row is many of theirs."""
        frames = [
            frame.mapInArrow(lambda batches, number=number: _packed(number, batches), _SCHEMA)
            for number, frame in enumerate(self._frames)
        ]
        nothing = self.session.range(n_tasks).selectExpr(*_NO_ROWS)
        return reduce(lambda one, other: one.union(other), frames, nothing)


def _packed(number: int, batches: Any) -> Any:
    """Yield batches of rows as bytes, with the number of their data frame."""
    import pyarrow

    for batch in batches:
        stream = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        packed = {"number": [number], "rows": [stream.getvalue().to_pybytes()]}
        yield pyarrow.RecordBatch.from_pydict(packed)


def _unpacked(batches: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of a data frame, and some of its rows as one of pandas."""
    import pyarrow

    for batch in batches:
        for row in batch.to_pylist():
            if row["rows"] is not None:
                yield row["number"], pyarrow.ipc.open_stream(row["rows"]).read_pandas()


def _work(tasks: list[bytes], place: Place | None, batches: Any) -> Any:
    """Run the task of this partition; yield its ranker or its error as a batch of Arrow."""
    import pyarrow
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    number = context.partitionId()
    task = pickle.loads(tasks[number])
    answer: tuple[Any, Any]
    with ExitStack() as stack:
        address = None
        if number == 0:
            host = context.getTaskInfos()[0].address.partition(":")[0]
            address = stack.enter_context(meeting_for(len(tasks), host))
        address = json.loads(context.allGather(json.dumps(address))[0])
        try:
            rows = list(_unpacked(batches))
            for share in filter(None, (task["train"], task["held_out"])):
                share["parts"] = [part for each in share["parts"] for part in _filled(each, rows)]
            answer = fit_share(**task, address=address | {"progress": place}), None
        except Exception as error:  # raised, Spark would start the stage again
            answer = None, portable(error)
        context.barrier()  # the meeting lasts until all have ended
    yield pyarrow.RecordBatch.from_pydict({"answer": [pickle.dumps(answer)]})


def _filled(part: Any, rows: list[tuple[int, Any]]) -> list[Part]:
    """Return a part as it is, or those of the rows of its data frame."""
    if not isinstance(part, SparkPart):
        return [part]
    return [{"X": X, "y": part.y, "qid": part.qid} for number, X in rows if number == part.number]
