"""Columns of the workers: their features must be the same, by number and by name."""

from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import treerank
from treerank.checks import check_weight, shown
from treerank.rankers.reading import read_share
from treerank.team import current_team

#: Packages that must have the same version in all workers, where they are installed.
_ENGINES = ("lightgbm", "xgboost")


def dense_columns(ranker: Any, columns: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return documents, labels, query ids, and weights by name, of arguments of ``fit``.

    The first call tells a ranker its columns, which those of the next calls must have, too.
    """
    X, y, qid = read_share(ranker, *(columns.get(name) for name in ("X", "y", "qid")))
    if ranker.columns_.categories or not hasattr(X, "flags"):
        raise ValueError("X must be dense numbers, without categories, for several workers.")
    weights = [name for name in columns if name not in ("X", "y", "qid")]
    return X, y, qid, {name: check_weight(name, columns[name], len(y)) for name in weights}


class FeatureColumns(NamedTuple):
    """What a worker knows of the features.

    Attributes
    ----------
    n_features : int
        Number of features.
    names : list of str or None
        Their names.
    dtype : str
        Type of the numbers.
    """

    n_features: int
    names: list[str] | None
    dtype: str


def agree_on_columns(own: FeatureColumns | None) -> FeatureColumns:
    """Return the features of all workers; a worker without rows passes None.

    Examples
    --------
    >>> agree_on_columns(FeatureColumns(2, ["a", "b"], "<f4")).names
    ['a', 'b']
    """
    versions = {name: version(name) for name in _ENGINES if find_spec(name)}
    versions["treerank"] = treerank.__version__
    gathered = current_team().gather((versions, own))
    for each, _ in gathered:
        if each != gathered[0][0]:
            raise RuntimeError(
                f"All workers must have the same versions; got {gathered[0][0]} and {each}."
            )
    known = [FeatureColumns(*each) for _, each in gathered if each is not None]
    if not known:
        raise ValueError("X must have rows whose weights are not 0; got none.")
    first = known[0]
    for each in known:
        if each[:2] != first[:2]:
            raise ValueError(
                "X must have the same columns in all partitions; got "
                f"{shown(first.names or first.n_features)} and "
                f"{shown(each.names or each.n_features)}."
            )
    return first._replace(dtype=np.result_type(*(each.dtype for each in known)).str)
