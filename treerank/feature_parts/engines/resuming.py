"""Resuming: a fit of boosted trees goes on from a checkpoint."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import quote
from treerank.feature_parts.engines.auto_sizes import Sizes
from treerank.files.checkpoint import Checkpoint, current_checkpoint
from treerank.inputs.canonical import row_hashes
from treerank.inputs.rows import Rows
from treerank.objectives.base import Objective
from treerank.team import current_team

#: Parameters that may differ between a fit and the one that goes on with it.
_FREE = ("n_estimators", "n_jobs", "warm_start")
#: About so many rows tell whether features are the same.
_N_ROWS = 1000


class Saver(NamedTuple):
    """Saves the trees of one fit, whose settings and data the text ``fit`` identifies."""

    checkpoint: Checkpoint
    fit: str

    def saved(self) -> dict[str, Any] | None:
        """Return the state from which all workers go on, or None."""
        team = current_team()
        state = self.checkpoint.load(self.fit) if team.rank == 0 else None
        found: dict[str, Any] | None = team.gather(state)[0]
        return found

    def __call__(self, iteration: int, dump: Callable[[], Any], values: list[float]) -> None:
        """Save the trees and the values of the metric after an iteration, where it is time to."""
        if iteration % self.checkpoint.every == 0 and current_team().rank == 0:
            self.checkpoint.save(self.fit, {"model": dump(), "values": values})


def saver_of(part: Any, rows: Rows, objective: Objective, start: int, sizes: Sizes) -> Saver | None:
    """Return what saves the trees of a fit, or None where there is no checkpoint."""
    checkpoint = current_checkpoint()
    if checkpoint is None:
        return None
    for name, value in part.settings_to_resume.items():
        found = sizes.of_tree().get(name, getattr(part, name))
        if found != value and (value is not None or found):  # None is also an empty dict
            where = "where the fit has a checkpoint, but with HistogramTrees"
            raise ValueError(f"{name} must be {value!r} {where}; got {quote(found)}.")
    return Saver(checkpoint, _identity(part, rows, objective, start, sizes))


def _identity(part, rows, objective, start, sizes):
    """Return a text that is the same for the same settings and data, however they are spread."""
    params = part.get_params() | sizes.of_tree()
    params = {name: value for name, value in params.items() if name not in _FREE}
    shape = (len(rows), objective.n_outputs) if objective.n_outputs > 1 else (len(rows),)
    derivatives = objective.derivatives(np.zeros(shape), iteration=0)
    columns = np.concatenate([each.reshape(len(rows), -1) for each in derivatives], axis=1)
    places = np.arange(len(rows)) if rows.places is None else rows.places
    sums = [row_hashes(np.column_stack([places, columns]).astype(np.float64)).sum()]
    if not rows.is_batched:
        step = max(1, sum(current_team().gather(len(rows))) // _N_ROWS)
        sums.append(row_hashes(rows.take(np.flatnonzero(places % step == 0)).array()).sum())
    total = np.sum(current_team().gather(np.array(sums, dtype=np.uint64)), axis=0)
    return f"{type(part).__name__} {params} after {start}: {total.tolist()}"
