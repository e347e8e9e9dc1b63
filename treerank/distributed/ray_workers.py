"""Ray: tasks of a Ray cluster fit one model, on datasets that are spread over it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from treerank.distributed.collective import LostTeamError
from treerank.distributed.launcher import meeting_for
from treerank.distributed.parts import Arguments, blocks
from treerank.distributed.worker import fit_share

#: Seconds in which the other workers may tell why, after the first one has failed.
_PATIENCE = 5


@dataclass(frozen=True)
class RayPart:
    """A share of a dataset of Ray.

    Attributes
    ----------
    dataset : ray.data.Dataset
        The rows, with columns for labels and query ids.
    y, qid : str
        Names of these columns.
    """

    dataset: Any
    y: str
    qid: str

    def read(self) -> Iterator[Arguments]:
        """Yield the rows, some at a time."""
        for batch in self.dataset.iter_batches(batch_format="pandas"):
            yield {"X": batch, "y": self.y, "qid": self.qid}


class RayWorkers:
    """Tasks of a Ray cluster, as ``workers`` of :func:`treerank.distributed.fit`.

    ``X`` may be a dataset of Ray, whose rows stay where they are until the workers exchange them;
    ``y`` and ``qid`` are names of its columns. Call ``ray.init`` before.

    Parameters
    ----------
    n_workers : int
        Number of tasks, which must be able to run at the same time.
    patience : float, default=300
        Seconds within which the cluster must have room for all tasks.
    **options : dict
        Options of each task, such as ``num_cpus``, see ``ray.remote``.

    Examples
    --------
    >>> workers = RayWorkers(4, num_cpus=8)  # doctest: +SKIP
    >>> fitted = fit(ranker, dataset, "label", "query", workers=workers)  # doctest: +SKIP
    """

    def __init__(self, n_workers: int, *, patience: float = 300, **options: Any):
        self.n_workers, self.patience, self.options = n_workers, patience, options

    @contextmanager
    def parts(self, columns: Mapping[str, Any]) -> Iterator[list[list[Any]]]:
        """Return the parts of each worker: shares of a dataset, or rows in Ray's object store."""
        if isinstance(columns["X"], np.ndarray):
            rows = blocks(len(columns["y"]), self.n_workers)
            yield [[{name: each[own] for name, each in columns.items()}] for own in rows]
            return
        check_names(columns)
        shares = columns["X"].split(self.n_workers)
        yield [[RayPart(share, columns["y"], columns["qid"])] for share in shares]

    def run(self, tasks: Sequence[dict[str, Any]]) -> list[Any]:
        """Run each task in a worker of its own; return their results, see ``Launcher``."""
        import ray
        from ray.util.placement_group import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        room = placement_group([{"CPU": self.options.get("num_cpus", 1)}] * len(tasks))
        try:
            if not room.wait(self.patience):
                raise RuntimeError(
                    f"The cluster must have room for {len(tasks)} tasks; it had none within "
                    f"{self.patience} s."
                )
            place = PlacementGroupSchedulingStrategy(room)
            options = {"max_retries": 0, "scheduling_strategy": place, **self.options}
            remote = ray.remote(**{"num_cpus": 1, **options})(fit_share)
            with meeting_for(len(tasks), ray.util.get_node_ip_address()) as address:
                return _results([remote.remote(**task, address=address) for task in tasks])
        finally:
            remove_placement_group(room)  # also ends what runs in it


def check_names(columns: Mapping[str, Any]) -> None:
    """Refuse what is not the name of a column beside data that are spread over a cluster.

    Examples
    --------
    >>> check_names({"X": None, "y": "label", "qid": [1, 2]})
    Traceback (most recent call last):
    ...
    TypeError: qid must be the name of a column of X; got <class 'list'>.
    """
    for name, column in columns.items():
        if name != "X" and not isinstance(column, str):
            raise TypeError(f"{name} must be the name of a column of X; got {type(column)}.")


def _results(running: list[Any]) -> list[Any]:
    """Return what the tasks return; raise the error that the others follow from."""
    import ray

    waiting, errors = running, list[Exception]()
    while waiting:
        done, waiting = ray.wait(waiting, timeout=_PATIENCE if errors else None)
        if not done:
            break
        errors += [error for error in map(_error_of, done) if error is not None]
        if any(not isinstance(error, LostTeamError) for error in errors):
            break
    if errors:
        raise min(errors, key=lambda error: isinstance(error, LostTeamError))
    results: list[Any] = ray.get(running)
    return results


def _error_of(task: Any) -> Exception | None:
    """Return the error with which a task has ended."""
    import ray

    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        return error.cause if isinstance(error.cause, Exception) else error
    except ray.exceptions.RayError as error:
        return RuntimeError(f"every worker must live until the fit is done; one is gone: {error}")
    return None
