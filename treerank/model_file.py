"""Model file: a fitted ranker as plain values, in an archive.

A file names classes only by their key in a registry, so loading it can create nothing else: no
name of the file is ever imported, evaluated or unpickled. Settings that are objects of the user's
own (a loss, a weight) are kept as the text of their name. A new fitted attribute of a ranker
goes into ``_content`` and ``_restored``; one that older versions cannot do without raises
:data:`treerank.archive.FORMAT_VERSION`.
"""

import numpy as np

from treerank.archive import read_archive, write_archive
from treerank.columns import Columns
from treerank.feature_parts.registry import FEATURE_PART_CLASSES
from treerank.head import AntisymmetricHead


def save(ranker, path):
    """Write a fitted ranker to one file."""
    write_archive(path, _content(ranker))


def read_model(path, rankers, parts=None):
    """Read a ranker of one of the classes ``rankers``; ``parts`` adds feature parts by name."""
    content = read_archive(path)
    try:
        return _restored(content, rankers, parts or {})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"path must hold a whole ranker that this version knows; got {error!r} in {path}."
        ) from error


def _content(ranker):
    part = ranker.feature_part_
    if not hasattr(part, "get_state"):
        raise TypeError(f"feature_part must have get_state to be saved; got {part!r}.")
    names = getattr(ranker, "feature_names_in_", None)
    return {
        "ranker": type(ranker).__name__,
        "params": ranker.get_params(deep=False) | {"feature_part": _setting(ranker.feature_part)},
        "feature_part": _setting(part) | {"state": part.get_state()},
        "head": {"weight": ranker.head_.weight, "tau": ranker.head_.tau},
        "categories": ranker.columns_.categories,
        "feature_names": None if names is None else list(names),
        "n_features": ranker.n_features_in_,
        "steepness": ranker.steepness_,
        "evals_result": ranker.evals_result_,
        "best_iteration": ranker.best_iteration_,
    }


def _setting(part):
    if isinstance(part, str):
        return part
    return {"class": type(part).__name__, "params": part.get_params(deep=False)}


def _restored(content, rankers, parts):
    ranker = _look_up(content["ranker"], rankers, "ranker")(**content["params"])
    if not isinstance(ranker.feature_part, str):
        ranker.feature_part = _unfitted(ranker.feature_part, parts)
    ranker.feature_part_ = _unfitted(content["feature_part"], parts)
    ranker.feature_part_.set_state(content["feature_part"]["state"])
    ranker.head_ = AntisymmetricHead(**content["head"])
    ranker.columns_ = Columns(content["categories"])
    if content["feature_names"] is not None:
        ranker.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    ranker.n_features_in_ = content["n_features"]
    ranker.steepness_ = content["steepness"]
    ranker.evals_result_ = content["evals_result"]
    ranker.best_iteration_ = content["best_iteration"]
    return ranker


def _unfitted(setting, parts):
    name = setting["class"]
    if name in parts:
        return parts[name](**setting["params"])
    return _look_up(name, FEATURE_PART_CLASSES, "feature part")()(**setting["params"])


def _look_up(name, registry, kind):
    if name not in registry:
        raise ValueError(
            f"The {kind} of the file must be one of {sorted(registry)}; got {name!r}. Pass your "
            "own to load as parts={name: class}."
        )
    return registry[name]
