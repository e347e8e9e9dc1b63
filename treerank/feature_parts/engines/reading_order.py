"""Reading order: engines grow trees on rows in the order in which batches of them are read.

Objectives know the same rows in canonical order. Sums of derivatives are exact, so the order of
rows changes no tree, as long as an engine draws no rows at random.
"""

from typing import Any

from treerank.checks import shown
from treerank.feature_parts.engines.fixed_point import FixedPointDerivatives
from treerank.feature_parts.engines.growth_task import GrowthTask

#: Settings without which trees would be others than those of the rows in memory.
_NEEDED: dict[str, Any] = {"subsample": 1.0, "warm_start": False, "init_model": None}


def in_reading_order(part: Any, task: GrowthTask, **needed: Any) -> GrowthTask:
    """Return a task whose rows come as they are read; refuse settings that need them in memory.

    Parameters
    ----------
    part : BoostedTrees
        Trees that an engine grows.
    task : GrowthTask
        Task with rows that are read in batches.
    **needed
        Settings that the engine needs, besides those that all need.
    """
    for name, value in (_NEEDED | needed).items():
        if getattr(part, name) != value:
            raise ValueError(
                f"{name} must be {value!r} where X is Batches; got {shown(getattr(part, name))}."
            )
    categorical = part._categorical_columns(task.rows)
    if categorical:
        raise ValueError(f"X must have no categories where it is Batches; got {len(categorical)}.")
    rows, usual = task.rows.as_read(), task.derivatives
    derivatives = FixedPointDerivatives(
        usual.objective, len(rows), usual.iteration, rows.places, usual.most
    )
    return task._replace(rows=rows, derivatives=derivatives)
