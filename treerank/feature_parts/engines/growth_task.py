"""Growth task: what an engine needs to know to grow trees."""

from typing import Any, NamedTuple

from treerank.feature_parts.engines.auto_sizes import Sizes
from treerank.feature_parts.engines.fixed_point import FixedPointDerivatives
from treerank.feature_parts.rows import Rows
from treerank.progress import Progress


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
