"""Columns of the workers: their features must be the same, by number and by name."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

import treerank
from treerank.checks import check_weight, quote
from treerank.distributed.parts import Arguments
from treerank.inputs.columns import Columns
from treerank.inputs.documents import feature_names_of
from treerank.rankers.reading import read_share
from treerank.team import current_team


def dense_columns(reader: Any, columns: Mapping[str, Any]) -> Arguments:
    """Return arguments of ``fit`` as checked arrays, but query ids as they are.

    The first call tells a reader, which is a ranker that is not fitted itself, its columns, which
    those of the next calls must have, too.
    """
    X, y, qid = read_share(reader, *(columns.get(name) for name in ("X", "y", "qid")))
    if reader.columns_.categories or not hasattr(X, "flags"):
        raise ValueError("X must be dense numbers, without categories, for several workers.")
    weights = [name for name in columns if name not in ("X", "y", "qid")]
    checked = {name: check_weight(name, columns[name], len(y)) for name in weights}
    return {"X": X, "y": y, "qid": qid, **checked}


def agree_on_columns(
    reader: Any, shards: Sequence[Arguments], names: Sequence[str] | None
) -> tuple[list[Arguments], Columns]:
    """Return shards with the columns of all workers, at least one, and these columns.

    The reader knows the columns of the shards, if there are any. ``names`` are those of the
    features, where the shards have none.
    """
    versions = {"treerank": treerank.__version__}
    if find_spec("xgboost"):
        versions["xgboost"] = version("xgboost")
    own = None
    if shards:
        names = names if feature_names_of(reader) is None else reader.feature_names_in_
        dtype = np.result_type(*(shard["X"] for shard in shards)).str
        features = [reader.n_features_in_, None if names is None else list(names)]
        own = [features, dtype, list(shards[0])]
    gathered = current_team().gather((versions, own))
    for each, _ in gathered:
        if each != gathered[0][0]:
            raise RuntimeError(
                f"All workers must have the same versions; got {gathered[0][0]} and {each}."
            )
    known = [each for _, each in gathered if each is not None]
    if not known:
        raise ValueError("X must have rows whose weights are not 0; got none.")
    (n_features, names), _, columns = known[0]
    for (n_theirs, theirs), _, _ in known:
        if (n_theirs, theirs) != (n_features, names):
            raise ValueError(
                "X must have the same columns in all partitions; got "
                f"{quote(names or n_features)} and {quote(theirs or n_theirs)}."
            )
    nothing = dict.fromkeys(columns, np.empty(0))
    nothing |= {"X": np.empty((0, n_features)), "qid": np.empty(0, dtype=np.uint64)}
    dtype = np.result_type(*(each for _, each, _ in known)).str
    alike = [each | {"X": each["X"].astype(dtype, copy=False)} for each in shards or [nothing]]
    return alike, Columns(names=None if names is None else tuple(names))
