"""Parameters: what the rankers of a file of results were, and whether they are built so today.

Defaults move, and then a file shows rankers that nobody builds any more. So every script brings
``shown(about)``: the rankers of a file, as its code builds them for what the file says about
itself. ``protocol.measure`` writes them down when it computes, and begins a file of others anew;
``protocol.read`` refuses one. What is up to the single point, as its seed or the epochs for its
number of documents, stands there for one of them.
"""

import reprlib

from sklearn.pipeline import Pipeline

from treerank.evaluation.store import describe
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.ranker import Ranker

#: Settings that a ranker of treerank has as a parameter, or else from its class.
SETTINGS = tuple(
    name
    for owner in (Ranker, DirectRanker)
    for name in owner.__annotations__
    if not name.startswith("_")
)
#: Stands for what one of two values does not have.
ABSENT = object()
#: Of what is absent, the names are enough.
SHORT = reprlib.Repr()
SHORT.maxlevel = 1


def about_rankers(rankers, grids=None):
    """Return the parameters of rankers by name, and what is tried of each, as JSON values."""
    grids = {"grids": describe(dict(grids))} if grids is not None else {}
    return {"rankers": {name: parameters_of(ranker) for name, ranker in rankers.items()}} | grids


def parameters_of(ranker):
    """Return class, parameters, and what a ranker of treerank settles besides, as JSON values."""
    last = ranker[-1] if isinstance(ranker, Pipeline) else ranker
    given = last.get_params(deep=False)
    names = [name for name in SETTINGS if name not in given and hasattr(last, name)]
    settled = {name: getattr(last, name) for name in names}
    part = settled.pop("feature_part", None)
    if part is not None:  # built from the ranker's parameters and the defaults of its own
        own = part.get_params(deep=False)
        settled["feature_part"] = {n: value for n, value in own.items() if n not in given}
    return describe(ranker) | {"settled": describe(settled)}


def moved(before, now, name=""):
    """Return a line for each value that two JSON values differ in."""
    if isinstance(before, dict) and isinstance(now, dict):
        places = dict.fromkeys([*before, *now])
        pairs = [(place, before.get(place, ABSENT), now.get(place, ABSENT)) for place in places]
        return [line for place, *pair in pairs for line in moved(*pair, f"{name}.{place}")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = zip(before, now, strict=True)
        return [line for i, pair in enumerate(pairs) for line in moved(*pair, f"{name}.{i}")]
    if before == now:
        return []
    was, is_now = ("absent" if v is ABSENT else SHORT.repr(v) for v in (before, now))
    return [f"{name.lstrip('.')} was {was} and is {is_now}"]
