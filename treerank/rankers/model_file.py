"""Model file: a fitted ranker as plain values, in an archive.

Rankers and feature parts are written as class, parameters and what ``get_state`` returns, wherever
they stand: a ranker may hold others. Among parameters none is fitted. A file names classes only
by their key in a registry, so loading it can create nothing else: no name of the file is ever
imported, evaluated or unpickled. Settings that are objects of the user's own (a loss, a weight)
are kept as the text of their name. A change that older versions cannot read raises
:data:`treerank.files.archive.FORMAT_VERSION`.
"""

from treerank.feature_parts.registry import FEATURE_PART_CLASSES
from treerank.files.archive import read_archive, write_archive
from treerank.lazy import load_object

_CLASS = "estimator class"


def save(ranker, path):
    """Write a fitted ranker to one file."""
    write_archive(path, _plain(ranker))


def read_model(path, rankers, parts=None):
    """Read a ranker of one of the classes ``rankers``; ``parts`` adds feature parts by name."""
    content = read_archive(path)
    try:
        _check_class(content[_CLASS], rankers)
        return _restored(content, {**FEATURE_PART_CLASSES, **rankers, **(parts or {})})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"path must hold a whole ranker that this version knows; got {error!r} in {path}."
        ) from error


def _plain(value, *, fitted=True):
    """Return a value with every estimator in it written out, with its state where it is fitted."""
    if isinstance(value, dict):
        return {name: _plain(item, fitted=fitted) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, fitted=fitted) for item in value)
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    params = _plain(value.get_params(deep=False), fitted=False)
    state = _plain(_state(value)) if fitted else None
    return {_CLASS: type(value).__name__, "params": params, "state": state}


def _state(estimator):
    if not hasattr(estimator, "get_state"):
        raise TypeError(f"feature_part must have get_state to be saved; got {estimator!r}.")
    return estimator.get_state()


def _restored(content, classes):
    """Return a value with every estimator in it made and given its state."""
    if isinstance(content, list | tuple):
        return type(content)(_restored(item, classes) for item in content)
    if not isinstance(content, dict):
        return content
    if _CLASS not in content:
        return {name: _restored(item, classes) for name, item in content.items()}
    name = content[_CLASS]
    _check_class(name, classes)
    found = classes[name]
    estimator_class = load_object(found) if isinstance(found, str) else found
    estimator = estimator_class(**_restored(content["params"], classes))
    if content["state"] is not None:
        estimator.set_state(_restored(content["state"], classes))
    return estimator


def _check_class(name, classes):
    if name not in classes:
        raise ValueError(
            f"The class must be one of {sorted(classes)}; got {name!r}. Pass your own feature "
            "part to load as parts={name: class}."
        )
