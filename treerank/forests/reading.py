"""Reading of forests: the content of a file tells which program wrote it.

To add a format, write its file and list it in ``READERS``. A document is a text, or what a file of
JSON or UBJSON holds. Files are not trusted: no code in them is run, every number is checked, and
the memory taken is bounded by a multiple of the file's size.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from treerank.checks import check_count, check_sequence, has_methods, quote
from treerank.documents.columns import default_names
from treerank.files.archive import check_regular, one_error
from treerank.forests.forest import Forest
from treerank.forests.readers.catboost import read_catboost
from treerank.forests.readers.dumps import (
    read_lightgbm_dump,
    read_plugin_model,
    read_xgboost_dump,
    with_columns,
)
from treerank.forests.readers.forest_json import read_forest_json
from treerank.forests.readers.lightgbm import read_lightgbm_model
from treerank.forests.readers.ranklib import read_ranklib
from treerank.forests.readers.ubjson import is_ubjson, read_ubjson
from treerank.forests.readers.xgboost import read_xgboost_model
from treerank.parameters import check_arguments

#: Reader of each format, after the beginnings of its texts, or a key of its JSON objects.
READERS: dict[str, tuple[tuple[str, ...], Callable[[Any], Forest]]] = {
    "a plugin of Elasticsearch or OpenSearch": (
        ("model", "_source"),
        lambda document: read_plugin_model(document, _read),
    ),
    "CatBoost": (("features_info",), read_catboost),
    "LightGBM": (("tree\n",), read_lightgbm_model),
    "LightGBM's dump_model": (("tree_info",), read_lightgbm_dump),
    "RankLib": (("##", "<ensemble"), read_ranklib),
    "XGBoost": (("learner",), read_xgboost_model),
    "XGBoost's get_dump": (("splits",), read_xgboost_dump),
    "treerank's JSON": (("format",), read_forest_json),
}
#: What binary files are and what to do about them, by their first bytes.
_BINARY = {
    b"CBM1": "CatBoost's binary format; write `save_model(path, format='json')`",
    b"PK\x03\x04": "a zip file; treerank.load(path) reads a ranker that treerank has saved",
    b"\x1f\x8b": "a compressed file; decompress it, as gunzip does",
    b"\x80": "a pickle, which may run code; load it and pass the model: `read_forest(model)`",
    b"binf": "XGBoost's old binary format; write `save_model('model.json')` in XGBoost 3.0",
}


class UnknownFormatError(ValueError):
    """A file is of no format that can be read."""

    def __init__(self) -> None:
        super().__init__(f"a file of none of {', '.join(READERS)}")


@check_arguments
def read_forest(
    path: Any, *, n_features: int | None = None, feature_names: Sequence[str] | None = None
) -> Forest:
    """Read the trees of a model that another program has trained.

    The file is a model of LightGBM (text), XGBoost (JSON or UBJSON), RankLib (XML of LambdaMART,
    MART or Random Forests), CatBoost (JSON, without categories) or a forest that this package
    exported as JSON. Models of LightGBM and XGBoost contain the categories of pandas.

    It may also be what a search engine holds: the dumps of LightGBM (``dump_model()`` as JSON) and
    of XGBoost (``get_dump(dump_format="json")``) that Vespa reads; and a ``model/xgboost+json``,
    ``model/xgboost+json+raw`` or ``model/ranklib`` of the plugins of Elasticsearch and OpenSearch,
    alone, in the request that uploads it, or in the answer to ``GET _ltr/_model/NAME``.
    :class:`~treerank.rankers.forest_ranker.ForestRanker` makes a ranker of it. Only models
    of LightGBM tell their monotone constraints, which :func:`treerank.rankers.refresh` keeps; it
    cannot keep other constraints.

    Columns of data frames are found by their names in the file. If the file has no names, or
    default names such as f0, f1, ... or LightGBM's Column_0, Column_1, ..., they are found by
    default names if a data frame has exactly these, and are taken in their order otherwise.

    Parameters
    ----------
    path : str, path, or model in memory
        The file; or a Booster of LightGBM or XGBoost; or a fitted LGBMRanker, XGBRanker or
        CatBoostRanker.
    n_features : int, default=None
        Number of columns of X, for files without it and without names, such as RankLib's. ``None``
        is the number in the file, or else the last feature that is used.
    feature_names : sequence of str, default=None
        Names of the columns of X in their order: for dumps of XGBoost, which have the names of
        the features that their trees use alone; for models without names, which take them in this
        order; and for models of LightGBM, which write an underscore for a space. ``None`` takes
        the names in the file, and those of a dump of XGBoost in alphabetical order.

    Returns
    -------
    Forest
        Its scores equal the raw scores (margins) of the program that trained the model: for
        CatBoost up to rounding, else bit for bit, except that XGBoost's logarithm of
        ``base_score``, as in ``count:poisson``, may differ in the last digit of single precision.
        A random forest scores by the mean of its trees, up to rounding; LightGBM's raw scores are
        their sum. A dump of XGBoost lacks the ``base_score``, so that all its scores differ by that
        number, and the weights of DART's trees, so that only a model file of DART ranks as XGBoost
        does; where engines treat missing values otherwise than XGBoost, scores equal XGBoost's.
        If XGBoost stopped early, trees after the best iteration are dropped, as in XGBRanker; a
        Booster keeps all trees.

    Raises
    ------
    ValueError
        If the file is damaged, or holds what no forest can: linear leaves or several outputs, or
        features that are not among ``feature_names``.

    Examples
    --------
    >>> import lightgbm
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) // 10
    >>> old = lightgbm.LGBMRanker(n_estimators=3, min_child_samples=5, verbosity=-1, n_jobs=1)
    >>> read_forest(old.fit(X, y, group=[40])).n_trees
    3
    """
    if isinstance(path, str | Path) and not _is_text_of_model(path):
        check_regular(Path(path))
        content = Path(path).read_bytes()
    else:
        content, path = _content_of(path), type(path).__name__
    message = f"path must hold a model that is a sum of trees; {path} does not"
    with one_error(message), np.errstate(all="ignore"):  # numbers that overflow are refused
        forest = _without_default_names(_read(_document(content)))
    if feature_names is not None:
        check_sequence("feature_names", feature_names)
        forest = _named(forest, tuple(feature_names))
    if n_features is None:
        return forest
    check_count("n_features", n_features)
    n_used = int(forest.feature.max(initial=-1)) + 1
    if n_features < n_used:
        raise ValueError(
            f"n_features must be at least {n_used}, the features that the trees use; got "
            f"{quote(n_features)}."
        )
    names = forest.feature_names
    if names is not None and n_features != len(names):
        raise ValueError(
            f"n_features must be {len(names)}, the features that have names in "
            f"{'the file' if feature_names is None else 'feature_names'}; got "
            f"{quote(n_features)}. Write feature_names=[...] with the names of all columns."
        )
    is_known = forest.has_all_columns or names is None
    return replace(forest, n_features=n_features, has_all_columns=is_known)


def _is_text_of_model(path: str | Path) -> bool:
    """Tell whether a text is a model rather than the path of one: it has lines, or is JSON."""
    return isinstance(path, str) and ("\n" in path or path.startswith(('{"', '["', "[{")))


def _content_of(model: Any) -> bytes:
    """Return a Booster, or the model of a fitted ranker of an engine, as the bytes of a file."""
    if has_methods(model, "get_booster"):  # a ranker of XGBoost
        model = model.get_booster()
    elif has_methods(model, "save_raw", "set_attr"):  # a Booster scores by all of its trees
        model = model.copy()
        model.set_attr(best_iteration=None)
    if has_methods(model, "save_raw"):
        return bytes(model.save_raw("json"))
    booster = getattr(model, "booster_", model)  # of LightGBM
    if has_methods(booster, "model_to_string"):
        return booster.model_to_string().encode()
    if type(model).__module__.startswith("catboost"):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            model.save_model(path, format="json")
            return path.read_bytes()
    is_model = isinstance(model, dict | list | str | bytes | bytearray)
    advice = " Pass the Booster, or write the model to a file and pass its path." * is_model
    raise TypeError(
        "path must be a file, a Booster of LightGBM or XGBoost, or a fitted ranker of an engine; "
        f"got {quote(model)}.{advice}"
    )


def _read(document: Any) -> Forest:
    for signs, read in READERS.values():
        if isinstance(document, list):
            read, is_it = read_xgboost_dump, True
        elif isinstance(document, str):
            is_it = document.startswith(signs)
        else:
            is_it = any(sign in document for sign in signs)
        if is_it:
            forest = read(document)
            if forest.n_outputs != 1:
                raise ValueError(f"a ranker has one output; got {forest.n_outputs}")
            return forest
    if isinstance(document, str) and document.startswith("booster["):
        advice = "write `dump_model(path, dump_format='json')` or `save_model(path)`"
        raise ValueError(f"XGBoost's dump as text, in which numbers are rounded; {advice}")
    raise UnknownFormatError


def _document(content: bytes) -> Any:
    """Return the content of a file: an object of JSON or UBJSON, or otherwise text."""
    if is_ubjson(content):
        return read_ubjson(content)
    for start, advice in _BINARY.items():
        if content.startswith(start):
            raise ValueError(advice)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnknownFormatError from error
    return json.loads(text) if text.lstrip().startswith(("{", "[")) else text


def _named(forest: Forest, names: tuple[str, ...]) -> Forest:
    """Return a forest whose features are the named columns, in this order.

    Features without names are found by their default names if ``names`` has these, and have
    ``names`` in their order otherwise.
    """
    if forest.feature_names is not None:
        return with_columns(forest, names)
    used = {f"f{feature}" for feature in forest.feature[~forest.is_leaf].tolist()}
    defaults = default_names(names, forest.n_features)
    if used <= {*names} or defaults is not None:
        by_name = forest if defaults is None else replace(forest, feature_names=tuple(defaults))
        return with_columns(by_name, names)
    least = forest.n_features  # of all columns, or of those up to the last that a tree uses
    if len(names) < least or (forest.has_all_columns and len(names) > least):
        bound = "" if forest.has_all_columns else "at least "
        raise ValueError(
            f"feature_names must be {bound}{least} names, one for each feature; got "
            f"{quote([*names])}."
        )
    return replace(forest, n_features=len(names), feature_names=names, has_all_columns=True)


def _without_default_names(forest: Forest) -> Forest:
    """Return a forest without names if these are "Column_0", ... or "f0", ...

    LightGBM and this package give them to unnamed columns. Data frames with such names are read by
    them all the same.
    """
    for stem in ("Column_", "f") if forest.feature_names else ():
        if forest.feature_names == tuple(f"{stem}{i}" for i in range(forest.n_features)):
            return replace(forest, feature_names=None)
    return forest
