"""Growth task: what an engine needs to know to grow trees."""

from typing import Any, NamedTuple

from treerank.checks import shown
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
    whole : bool
        Whether earlier trees may have been grown on other data, so that they need whole values.
    """

    rows: Rows
    derivatives: FixedPointDerivatives
    n_new: int
    earlier: Any
    validation_rows: Rows | None
    progress: Progress
    seed: int
    sizes: Sizes
    whole: bool = False


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
