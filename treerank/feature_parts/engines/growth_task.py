"""Growth task: what an engine needs to know to grow trees."""

from typing import Any, NamedTuple

from treerank.checks import shown
from treerank.feature_parts.engines.auto_sizes import Sizes
from treerank.feature_parts.engines.fixed_point import FixedPointDerivatives
from treerank.feature_parts.rows import Rows
from treerank.progress import Progress

#: Settings without which trees of rows in batches would be others than those of rows in memory.
_NEEDED: dict[str, Any] = {"subsample": 1.0, "warm_start": False, "init_model": None}


class GrowthTask(NamedTuple):
    """The input of ``grow``.

    Attributes
    ----------
    rows : Rows
        Documents.
    derivatives : FixedPointDerivatives
        Returns gradient and hessian of the scores of these documents.
    n_new : int
        Number of iterations to add.
    earlier : booster or None
        Trees to start from.
    validation_rows : Rows or None
        Documents whose scores the metric of ``progress`` gets after each iteration.
    progress : Progress
        Records each iteration and decides when to stop.
    seed : int
        Seed of everything random.
    sizes : Sizes
        Sizes of the trees.
    """

    rows: Rows
    derivatives: FixedPointDerivatives
    n_new: int
    earlier: Any
    validation_rows: Rows | None
    progress: Progress
    seed: int
    sizes: Sizes


def check_settings(part: Any, needed: dict[str, Any], where: str, **sizes: Any) -> None:
    """Refuse trees with other settings than the needed ones; ``sizes`` replace those of the part.

    Parameters
    ----------
    part : BoostedTrees
        Trees to grow.
    needed : dict from str to object
        The settings; None is also an empty dict.
    where : str
        What needs them, for the message.
    **sizes
        Sizes of the trees, which may be "auto" in the part.
    """
    for name, value in needed.items():
        found = sizes.get(name, getattr(part, name))
        if found != value and (value is not None or found):
            raise ValueError(f"{name} must be {value!r} where {where}; got {shown(found)}.")


def in_reading_order(part: Any, task: GrowthTask, **needed: Any) -> GrowthTask:
    """Return a task whose rows come as they are read; refuse settings that need them in memory.

    Objectives know the same rows in canonical order. Sums of derivatives are exact, so the order of
    rows changes no tree, as long as an engine draws no rows at random.

    Parameters
    ----------
    part : BoostedTrees
        Trees that an engine grows.
    task : GrowthTask
        Task with rows that are read in batches.
    **needed
        Settings that the engine needs, besides those that all need.
    """
    check_settings(part, _NEEDED | needed, "X is Batches")
    categorical = part._categorical_columns(task.rows)
    if categorical:
        raise ValueError(
            f"X must have no categories where it is read in batches; got {len(categorical)}. "
            "Write them as numbers, or read all rows at once."
        )
    rows, usual = task.rows.as_read(), task.derivatives
    derivatives = FixedPointDerivatives(
        usual.objective, len(rows), usual.iteration, rows.places, usual.most
    )
    return task._replace(rows=rows, derivatives=derivatives)
