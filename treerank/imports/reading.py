"""Reading of forests: the program that wrote a file is told from the content of the file.

To add a format, write its file and list it in ``READERS``. A document is a text, or what a file of
JSON or UBJSON holds. Files are not trusted: no code in them is run, every number is checked, and
the memory taken is bounded by a multiple of the file's size.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treerank.files.archive import check_regular, one_error
from treerank.forests.forest import Forest
from treerank.forests.lightgbm_text import is_lightgbm
from treerank.forests.ubjson import is_ubjson, read_ubjson
from treerank.forests.xgboost_model import is_xgboost
from treerank.imports.catboost import is_catboost, read_catboost
from treerank.imports.forest_json import is_forest_json, read_forest_json
from treerank.imports.in_memory import content_of, read_lightgbm_model
from treerank.imports.ranklib import is_ranklib, read_ranklib
from treerank.imports.xgboost import read_xgboost_model


class Reader(NamedTuple):
    """A function that tells whether it knows a document, and one that returns its forest."""

    knows: Callable[[Any], bool]
    read: Callable[[Any], Forest]


READERS = {
    "CatBoost": Reader(is_catboost, read_catboost),
    "LightGBM": Reader(is_lightgbm, read_lightgbm_model),
    "RankLib": Reader(is_ranklib, read_ranklib),
    "XGBoost": Reader(is_xgboost, read_xgboost_model),
    "treerank's JSON": Reader(is_forest_json, read_forest_json),
}


def read_forest(path: Any, *, n_features: int | None = None) -> Forest:
    """Read the trees of a model that another program has trained.

    The file is a model of LightGBM (text), XGBoost (JSON or UBJSON), RankLib (XML of LambdaMART or
    MART), CatBoost (JSON, without categories) or a forest that this package exported as JSON.
    :class:`~treerank.rankers.forest_ranker.ForestRanker` makes a ranker of it.

    Parameters
    ----------
    path : str, path, or model in memory
        The file; or a Booster of LightGBM or XGBoost; or a fitted LGBMRanker, XGBRanker or
        CatBoostRanker.
    n_features : int, default=None
        Number of columns of X; needed if the file does not say it, as RankLib's. ``None`` is the
        number that the file says, or else the last feature that is used.

    Returns
    -------
    Forest
        Its scores are the raw scores of the program that trained the model, the margins of
        XGBoost: to the last bit, but for CatBoost and booster DART. If XGBoost stopped early, they
        are those of XGBRanker, up to the best iteration; a Booster takes all trees.

    Raises
    ------
    ValueError
        If the file is damaged, or holds what no forest can: linear leaves or several outputs.

    Examples
    --------
    >>> import lightgbm
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) // 10
    >>> old = lightgbm.LGBMRanker(n_estimators=3, min_child_samples=5, verbosity=-1, n_jobs=1)
    >>> read_forest(old.fit(X, y, group=[40])).n_trees
    3
    """
    if isinstance(path, str | Path):
        check_regular(Path(path))
        content = Path(path).read_bytes()
    else:
        content, path = content_of(path), type(path).__name__
    with one_error(f"path must hold a model that is a sum of trees; {path} does not"):
        with np.errstate(all="ignore"):  # numbers that overflow are refused
            forest = _forest(_document(content))
        return forest if n_features is None else replace(forest, n_features=n_features)


def _forest(document: Any) -> Forest:
    for reader in READERS.values():
        if reader.knows(document):
            forest = reader.read(document)
            if forest.n_outputs != 1:
                raise ValueError(f"a ranker has one output; got {forest.n_outputs}")
            return _without_default_names(forest)
    raise ValueError(f"a file of none of {', '.join(READERS)}")


def _document(content: bytes) -> Any:
    """Return what a file holds."""
    if is_ubjson(content):
        return read_ubjson(content)
    text = content.decode("utf-8")
    return json.loads(text) if text.lstrip().startswith("{") else text


def _without_default_names(forest: Forest) -> Forest:
    """Return a forest without the names that LightGBM and this package give to unnamed columns."""
    for stem in ("Column_", "f") if forest.feature_names else ():
        if forest.feature_names == tuple(f"{stem}{i}" for i in range(forest.n_features)):
            return replace(forest, feature_names=None)
    return forest
