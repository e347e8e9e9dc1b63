"""Model file: a fitted ranker as plain values, in an archive.

A ranker or a feature part is stored as its class, its parameters and its state, which is what
``get_state`` returns. Estimators within parameters and states are stored in the same way; those
within parameters are stored unfitted. A file names classes only by their key in a registry, so
loading it creates nothing else: no name in the file is imported, evaluated or unpickled. Settings
that are the user's own objects (a loss, a weight) are kept as the text of their name. A change that
older versions cannot read raises :data:`treerank.files.archive.FORMAT_VERSION`.
"""

import inspect
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import has_methods
from treerank.feature_parts.registry import FEATURE_PART_CLASSES
from treerank.files.archive import NOT_SAVED, one_error, read_archive, write_archive
from treerank.forests.forest import Forest
from treerank.lazy import load_object
from treerank.rankers.scored import Scored

_CLASS = "estimator class"
#: Classes that are parameters of rankers, but no rankers and no feature parts.
_SETTINGS = {"ClickRelevance": "treerank.clicks.relevance:ClickRelevance"}
_FOREST = "trees of a forest"
#: Parameters of older files, for classes that have them no more, and the value that they must have;
#: None where they say nothing of a fitted model.
_GONE = {
    **dict.fromkeys(("batches", "boosting", "calibration", "conditional", "device", "estimate")),
    **dict.fromkeys(("final_gamma", "gradient_clip", "head_penalty", "importance_type")),
    **dict.fromkeys(("init_model", "label_limits", "max_iter", "multi_strategy", "n_thresholds")),
    **dict.fromkeys(("per_level", "random_state", "softness", "standardize", "target_margin")),
    **dict.fromkeys(("tolerance", "tree_method", "tree_options", "warm_start")),
    **{"batch_norm": False, "oblivious": False, "output": "score", "weak_ranker": "feature"},
}
#: Values of older files that say nothing of a fitted model and are gone, and what replaces them.
_OLDER = {("decay", "adaptive"): None, ("pairs", "balanced"): "adjacent"}
#: Largest number of features of a ranker whose scores are tried on loading.
_MOST_FEATURES = 2**16


def save(ranker: Any, path: str | Path) -> None:
    """Write a fitted ranker to one file."""
    write_archive(path, _plain(ranker))


def read_model(
    path: str | Path, rankers: Mapping[str, str], parts: Mapping[str, type] | None = None
) -> Any:
    """Read a ranker of one of the classes ``rankers``, import paths such as ``"module:Class"``.

    ``parts`` adds classes of feature parts. Both are by name of the class.
    """
    content = read_archive(path)
    with one_error(f"path must hold a whole ranker that this version knows; {path} does not"):
        _check_class(content[_CLASS], rankers)
        classes = {**FEATURE_PART_CLASSES, **_SETTINGS, **rankers, **(parts or {})}
        ranker = _restored(content, classes)
        if not parts:  # feature parts of the user's own may give any scores
            _check_scores(ranker)
    return ranker


def _plain(value: Any, *, fitted: bool = True) -> Any:
    """Return a value in which each estimator is a dict, with its state if it is ``fitted``."""
    if isinstance(value, dict):
        return {name: _plain(item, fitted=fitted) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, fitted=fitted) for item in value)
    if isinstance(value, Forest):
        return {_FOREST: value.as_state()}
    if not has_methods(value, "get_params"):
        return value
    if fitted and not has_methods(value, "get_state"):
        raise TypeError(f"feature_part must have get_state to be saved; got {value!r}.")
    params = _plain(value.get_params(deep=False), fitted=False)
    state = _plain(value.get_state()) if fitted else None
    return {_CLASS: type(value).__name__, "params": params, "state": state}


def _restored(content: Any, classes: Mapping[str, Any]) -> Any:
    """Return a value in which each estimator is made from its dict."""
    if isinstance(content, list | tuple):
        return type(content)(_restored(item, classes) for item in content)
    if not isinstance(content, dict):
        return content
    if _FOREST in content:
        return Forest.of_state(content[_FOREST])
    if _CLASS not in content:
        return {name: _restored(item, classes) for name, item in content.items()}
    name = content[_CLASS]
    _check_class(name, classes)
    found = classes[name]
    estimator_class = load_object(found) if isinstance(found, str) else found
    params = _restored(content["params"], classes)
    params = _of_today(params, inspect.signature(estimator_class).parameters)
    estimator = estimator_class(**params)
    if content["state"] is not None:
        _check_settings(estimator_class, params)
        estimator.set_state(_restored(content["state"], classes))
    return estimator


def _of_today(params: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the parameters of a file of any version as those of this one."""
    gone = {name: value for name, value in params.items() if name in _GONE and name not in known}
    for name, value in gone.items():
        if _GONE[name] not in (None, value):
            raise ValueError(f"{name} must be {_GONE[name]!r} in this version; got {value!r}.")
    if params.get("head_alpha", 0) is None:
        params = params | {"head_alpha": 10.0}
    older = {name: new for (name, old), new in _OLDER.items() if params.get(name) == old}
    return {name: value for name, value in (params | older).items() if name not in gone}


def _check_settings(estimator_class: Any, params: dict[str, Any]) -> None:
    """Check the parameters of a ranker as ``fit`` does, but for objects that are not in files."""
    if issubclass(estimator_class, Scored):
        unsaved = {n for n, v in params.items() if isinstance(v, str) and v.endswith(NOT_SAVED)}
        saved = {name: value for name, value in params.items() if name not in unsaved}
        estimator_class(**saved).check_settings()


def _check_class(name: Any, classes: Mapping[str, Any]) -> None:
    if name not in classes:
        raise ValueError(
            f"The class must be one of {sorted(classes)}; got {name!r:.50}. Pass your own feature "
            "part to load as parts={name: class}."
        )


def _check_scores(ranker: Any) -> None:
    """Refuse a ranker that gives a simple document no finite score.

    The checks of states are about shapes and indices. This one is about their values: enormous
    weights that overflow, for instance.
    """
    _ = ranker.reads_sparse  # predict asks for it, which makes the feature part of the parameters
    n_features = ranker.n_features_in_
    if n_features > _MOST_FEATURES:  # a dense row would take too much memory
        return
    rows = [np.full(n_features, value) for value in (np.nan, 0.0, 1.0, -1.0)]
    rows += [*np.random.default_rng(0).normal(size=(12, n_features))]
    with np.errstate(all="ignore"):
        scores = ranker._scores(np.stack(rows))  # scores_of would speak of X
    if scores.shape != (len(rows),) or not np.isfinite(scores).all():
        raise ValueError("the scores of some simple documents are not finite")
