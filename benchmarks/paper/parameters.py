"""Parameters: what the rankers of a file of results were, and whether they are built so today.

A default may change, and then a file shows rankers that the code no longer builds. So every script
has a function ``shown(about)``. It returns the rankers of a part of a file, as today's code builds
them from what the part says about itself. ``protocol.measure`` writes their parameters into the
file, and discards results of other parameters; ``protocol.read`` refuses such a file. Parameters
that differ from point to point, as the seed, are given for one of the points. A class is stored
by its name without its module, so that moving it changes nothing.
"""

import copy
import reprlib
from dataclasses import fields

from sklearn.pipeline import Pipeline

from treerank.documents.reading import accepted_by
from treerank.evaluation.store import describe
from treerank.objectives.pairs.settings import PairSettings
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.ranker import Ranker
from treerank.rankers.scored import Scored

#: Settings that a ranker of treerank has either as a parameter or as an attribute of its class.
SETTINGS = tuple(
    name
    for owner in (Scored, Ranker, DirectRanker)
    for name in owner.__annotations__
    if not (name.startswith("_") or name.endswith("_"))
)
#: What a ranker's objective is made with where the ranker does not say.
OF_PAIRS = {each.name: each.default for each in fields(PairSettings)} | {"pairs": "all"}
#: Sizes of trees, and no early stopping, where a ranker would find them itself.
SIZES = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "num_leaves": 31,
    "min_child_samples": 20,
    "colsample_bytree": 1.0,
    "early_stopping_rounds": None,
}
#: A setting and its value that play no part in fits to labels.
OF_CLICKS = ("clicks", None)
#: Marks an entry that one of two values lacks.
ABSENT = object()
#: Only the outermost names of what is absent are printed.
SHORT = reprlib.Repr()
SHORT.maxlevel = 1


def about_rankers(rankers, grids=None):
    """Return the parameters of rankers by name, and what is tried of each, as JSON values."""
    grids = {"grids": describe(dict(grids))} if grids is not None else {}
    found = {name: parameters_of(as_compared(ranker)) for name, ranker in rankers.items()}
    return {"rankers": found} | grids


def as_compared(ranker):
    """Return a ranker that finds nothing itself: engines' sizes of trees, and no early stopping.

    The papers choose neither by the data. What a script sets stays.
    """
    params = ranker.get_params()
    texts = {name: value for name, value in params.items() if isinstance(value, str)}
    automatic = {name: name.split("__")[-1] for name, text in texts.items() if text == "auto"}
    known = {name: SIZES[last] for name, last in automatic.items() if last in SIZES}
    return copy.deepcopy(ranker).set_params(**known) if known else ranker


def parameters_of(ranker):
    """Return class, parameters, and the fixed settings of a ranker as JSON values."""
    is_pipeline = isinstance(ranker, Pipeline)
    last = ranker[-1] if is_pipeline else ranker
    given = last.get_params(deep=False)
    defaults = OF_PAIRS if isinstance(last, DirectRanker) else {}
    left_out = {*given} if accepted_by(last).several_labels else {*given, "label_weights"}
    names = [name for name in (*SETTINGS, *defaults) if name not in left_out]
    settled = {name: getattr(last, name, defaults.get(name, ABSENT)) for name in names}
    settled = {name: value for name, value in settled.items() if value is not ABSENT}
    part = settled.pop("feature_part", None)
    if part is not None:  # built from the ranker's parameters and the defaults of its own
        own = part.get_params(deep=False)
        settled["feature_part"] = {n: value for n, value in own.items() if n not in given}
    steps = {"class": "Pipeline", "params": describe(dict(ranker.steps))} if is_pipeline else {}
    described = describe(ranker) | steps | {"settled": describe(settled)}
    described.pop("code", None)  # of a class of the benchmarks: each edit would change all files
    return without_modules(described)


def without_modules(value):
    """Return a JSON value in which each class has its name alone, and nothing is of clicks."""
    if isinstance(value, list):
        return [without_modules(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    settings = (setting for setting in value.items() if setting != OF_CLICKS)
    bare = {name: without_modules(entry) for name, entry in settings}
    return bare | ({"class": bare["class"].split(".")[-1]} if "class" in bare else {})


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
