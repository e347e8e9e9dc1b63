"""Spark: tasks of a barrier stage fit one model, on data frames that are spread over a cluster."""

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from treerank.distributed.launcher import tracker_for
from treerank.distributed.parts import Part, blocks
from treerank.distributed.processes import portable
from treerank.distributed.ray_workers import check_names
from treerank.distributed.worker import fit_share
from treerank.distributed.xgboost_team import LostTeamError


class SparkWorkers:
    """Tasks of Spark in barrier mode, as ``workers`` of :func:`treerank.distributed.fit`.

    ``X`` may be a data frame of Spark, whose rows stay in the cluster; ``y`` and ``qid`` are names
    of its columns. An ``eval_set`` is in memory or a file that all workers can read.

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
        self._frame: Any = None

    @contextmanager
    def parts(self, columns: Mapping[str, Any]) -> Iterator[list[list[Part]]]:
        """Return the parts of each worker; rows of a data frame come when the stage runs."""
        if isinstance(columns["X"], np.ndarray):
            rows = blocks(len(columns["y"]), self.n_workers)
            yield [[{name: each[own] for name, each in columns.items()}] for own in rows]
            return
        check_names(columns)
        if self._frame is not None:
            raise TypeError(
                "eval_set must be in memory or a file where X is a data frame of Spark."
            )
        self._frame = columns["X"]
        try:
            yield [[{"X": None, "y": columns["y"], "qid": columns["qid"]}]] * self.n_workers
        finally:
            self._frame = None

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a worker of its own; return their results, see ``Launcher``."""
        context = self.session.sparkContext
        every = context.broadcast([pickle.dumps(task) for task in tasks])
        spread = self._frame
        if spread is None:
            spread = self.session.range(len(tasks))
        spread = spread.repartition(len(tasks))

        def work(batches: Any) -> Any:
            yield from _work(every.value, batches)

        try:
            rows = spread.mapInArrow(work, "answer binary", barrier=True).collect()
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


def _work(tasks: list[bytes], batches: Any) -> Any:
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
            address = stack.enter_context(tracker_for(len(tasks), host))
        address = json.loads(context.allGather(json.dumps(address))[0])
        try:
            parts = task["train"]["parts"]
            if isinstance(parts[0], dict) and parts[0]["X"] is None:
                parts[:] = [parts[0] | {"X": batch.to_pandas()} for batch in batches]
            answer = fit_share(**task, address=address), None
        except Exception as error:  # raised, Spark would start the stage again
            answer = None, portable(error)
        context.barrier()  # the tracker lives until all have ended
    yield pyarrow.RecordBatch.from_pydict({"answer": [pickle.dumps(answer)]})
