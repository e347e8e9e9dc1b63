"""Models in memory: what a fitted model of an engine would write to its file.

LightGBM: models of its own training, which may tell the categories of pandas.

pandas' categories are told behind the trees, for each column of categories in order.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treerank.checks import has_methods, shown
from treerank.forests.forest import Forest
from treerank.forests.lightgbm_text import read_lightgbm

_LEVELS = re.compile(r"^pandas_categorical:(\[.*\])$", re.MULTILINE)
_INFOS = re.compile(r"^feature_infos=(.*)$", re.MULTILINE)
#: What a model tells of a column of categories: its codes.
_CODES = re.compile(r"-?\d+(:-?\d+)*")


def read_lightgbm_model(text: str) -> Forest:
    """Return the trees of a model, with the categories of its columns if it tells them."""
    forest = read_lightgbm(text)
    found = _LEVELS.search(text, text.rfind("\nend of trees"))
    levels: list[Any] = json.loads(found[1]) if found else []
    infos = _INFOS.search(text)
    codes = [] if infos is None else infos[1].split(" ")
    places = [place for place, info in enumerate(codes) if _CODES.fullmatch(info)]
    if not levels or len(levels) != len(places):  # a column that no tree could use tells no codes
        return forest
    return replace(forest, levels=dict(zip(places, levels, strict=True)))


def content_of(model: Any) -> bytes:
    r"""Return the content of the file of a Booster, or of a fitted ranker of an engine.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> old = LGBMRanker(n_estimators=1, verbosity=-1).fit([[0.0], [1.0]], [0, 1], group=[2])
    >>> content_of(old)[:5]
    b'tree\n'
    """
    if has_methods(model, "get_booster"):  # a ranker of XGBoost
        model = model.get_booster()
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
    raise TypeError(
        "path must be a file, a Booster of LightGBM or XGBoost, or a fitted ranker of an engine; "
        f"got {shown(model)}."
    )
