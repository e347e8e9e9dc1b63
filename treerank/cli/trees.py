"""Trees of one size: the same number of trees, leaves and learning rate in every engine."""

from collections.abc import Collection
from typing import Any

from treerank.feature_parts.registry import make_feature_part

_GROW_TREES = "lightgbm, xgboost and histogram do."
#: What engines call the largest number of leaves of a tree.
_LEAVES = ("num_leaves", "max_leaves")


def tree_parameters(
    known: Collection[str],
    n_estimators: int | None,
    num_leaves: int | None,
    learning_rate: float | None,
) -> dict[str, Any]:
    """Return the parameters of trees in the words of an engine.

    XGBoost's own ranker says ``max_leaves``. It grows leaf by leaf only with
    ``grow_policy="lossguide"``, and then still stops at a depth of 6 unless ``max_depth`` is 0.

    Parameters
    ----------
    known : collection of str
        The names of the engine's parameters.
    n_estimators, num_leaves : int
        Number of trees, and largest number of leaves of a tree.
    learning_rate : float
        Factor of each tree.

    Returns
    -------
    dict
        Parameters for the engine's own ranker and for our feature part alike.

    Examples
    --------
    >>> tree_parameters({"n_estimators", "num_leaves", "learning_rate"}, 100, 31, 0.1)
    {'n_estimators': 100, 'learning_rate': 0.1, 'num_leaves': 31}
    """
    leaves = _LEAVES[0] if _LEAVES[0] in known else _LEAVES[1]
    parameters = {"n_estimators": n_estimators, "learning_rate": learning_rate, leaves: num_leaves}
    by_leaf = {"max_depth": 0, "grow_policy": "lossguide"} if leaves == _LEAVES[1] else {}
    return parameters | by_leaf


def make_trees(
    feature_part: str,
    n_estimators: int | None = None,
    num_leaves: int | None = None,
    learning_rate: float | None = None,
) -> Any:
    """Make a feature part by its name that grows trees; a size of None is found from the data."""
    part = make_feature_part(feature_part)
    known = part.get_params()
    if "n_estimators" not in known:
        raise ValueError(f"feature_part must grow trees; got {feature_part!r}. {_GROW_TREES}")
    if known.keys().isdisjoint(_LEAVES):
        raise ValueError(f"feature_part must grow trees of leaves; got {feature_part!r}.")
    sizes = tree_parameters(known, n_estimators, num_leaves, learning_rate)
    return part.set_params(**{name: size for name, size in sizes.items() if size is not None})
