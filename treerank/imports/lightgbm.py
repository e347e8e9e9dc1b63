"""LightGBM: models of its own training, which may tell the categories of pandas.

They are told behind the trees, for each column of categories in order.
"""

import json
import re
from dataclasses import replace

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
    levels = json.loads(found[1]) if found else []
    codes = _INFOS.findall(text)[0].split(" ")
    places = [place for place, info in enumerate(codes) if _CODES.fullmatch(info)]
    if not levels or len(levels) != len(places):  # a column that no tree could use tells no codes
        return forest
    return replace(forest, levels=dict(zip(places, levels, strict=True)))
