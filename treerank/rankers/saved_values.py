"""Saved values: how parameters and fitted attributes are written to model files, by kind.

An archive holds plain values and arrays. :data:`KINDS` has a row for every other kind of value that
a file gives back: estimators, trees, settings of this package such as ``NDCG(5)``, and states of
random number generators. To add a kind, add a row; the law of saved parameters finds it there.
Other values, such as a function of the user's own, are written as the text of their name.

A file may be forged. Classes are looked up in registries, and every value is checked as if a user
had passed it.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields
from datetime import date
from functools import partial
from numbers import Integral, Real
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from treerank.checks import NOT_SAVED, has_methods, quote
from treerank.feature_parts.base import params_of
from treerank.feature_parts.registry import FEATURE_PART_CLASSES
from treerank.files.archive import ARRAY_KINDS, unsaved_name
from treerank.files.states import array, check_state, count, number
from treerank.forests.forest import Forest
from treerank.lazy import load_object
from treerank.metrics.registry import BESIDE, METRICS
from treerank.objectives.lists.losses import LISTWISE, POINTWISE
from treerank.objectives.pairs.losses import PAIR_LOSSES
from treerank.objectives.pairs.rules import Pairs
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.rankers.scored import Scored
from treerank.rankers.scoring import check_settings

#: Key of the single entry of a dict that represents an object: the name of its kind, and content.
OBJECT = "object"
#: Import paths of classes by their names, or the classes, also with parameters that no file holds.
Classes = Mapping[str, Any]
#: Classes and functions by the names that a file holds of them, which ``load`` finds them by.
Named = dict[tuple[str, ...], Any]
#: Settings of this package that are objects, by the name of their class.
SETTINGS: dict[str, Any] = {
    type(value).__name__: type(value)
    for value in (*METRICS.values(), *BESIDE.values(), *LISTWISE.values(), *POINTWISE.values())
} | {"Pairs": Pairs}
#: Types of values that come back from a file as they are.
_PLAIN = (type(None), bool, int, float, str, bytes)
#: The state of the random numbers that ``RandomState(seed)`` draws.
_RANDOM_STATE = {
    "key": array("uint32", 624),
    "pos": count(at_most=624),
    "has_gauss": count(at_most=1),
    "gauss": number(),
}


class Kind(NamedTuple):
    """A kind of object, as a row of :data:`KINDS`.

    Attributes
    ----------
    holds : callable
        Tells whether a value is of the kind.
    write : callable
        ``write(value, fitted, named)`` returns its content as plain values; ``fitted`` is False for
        parameters, which are written unfitted. What is written by name alone enters ``named``.
    read : callable
        ``read(content, classes)`` returns the value, and refuses any other content.
    """

    holds: Callable[[Any], bool]
    write: Callable[[Any, bool, Named], Any]
    read: Callable[[Any, Classes], Any]


def saved(value: Any, *, fitted: bool = True, named: Named | None = None) -> Any:
    """Return a value as plain values, for :func:`treerank.files.archive.write_archive`.

    Objects become ``{"object": [kind, content]}``, see :data:`KINDS`. With ``fitted=False``,
    estimators are written without what they have learned. ``named`` are the classes and functions
    that the file has by name so far: another one of the same name is refused.

    Examples
    --------
    >>> from treerank.metrics import NDCG
    >>> saved({"metric": Pairs(top=5), "sizes": range(2)})
    {'metric': {'object': ['settings', ['Pairs', {'adjacent': False, 'top': 5, 'ties': False,
                'balanced': False}]]}, 'sizes': [0, 1]}
    """
    named = {} if named is None else named
    for name, kind in KINDS.items():
        if kind.holds(value):
            return {OBJECT: [name, kind.write(value, fitted, named)]}
    if value is None or isinstance(value, str | bytes | bool | np.ndarray):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Integral | Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, Mapping):
        return {name: saved(item, fitted=fitted, named=named) for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(saved(item, fitted=fitted, named=named) for item in value)
    if hasattr(value, "__array__"):  # columns of data frames
        return np.asarray(value)
    if isinstance(value, Collection):
        return [saved(item, fitted=fitted, named=named) for item in value]
    return value


def restored(content: Any, classes: Classes) -> Any:
    """Return the value that :func:`saved` was given.

    ``content`` is what :func:`saved` returned; estimators are of ``classes``, by name.

    Examples
    --------
    >>> restored(saved(np.random.RandomState(3)), {}).randint(100)
    24
    """
    if isinstance(content, list | tuple):
        return type(content)(restored(item, classes) for item in content)
    if not isinstance(content, dict):
        return content
    if OBJECT not in content:
        return {name: restored(item, classes) for name, item in content.items()}
    name, inner = content[OBJECT]
    return KINDS[name].read(inner, classes)


def check_class(name: Any, classes: Classes) -> None:
    """Refuse a class that is not among those that a file may name."""
    if name not in classes:
        raise ValueError(
            f"The class must be one of {sorted(classes)}; got {name!r:.50}. Pass your own feature "
            "part to load as parts={name: class}."
        )


def _write_estimator(value: Any, fitted: bool, named: Named) -> dict[str, Any]:
    if fitted and not has_methods(value, "get_state"):
        raise TypeError(
            f"feature_part must have get_state to be saved; got {quote(value)}. Write get_state() "
            "and set_state(state), of arrays and plain values."
        )
    if fitted:  # reading does the same: no file is written that it would refuse
        _check_settings(type(value), params_of(value))
    _check_class_name(type(value), named)
    params = saved(params_of(value), fitted=False, named=named)
    if not isinstance(value, Scored):  # load is given no functions of rankers
        _check_function_names(value, params, named)
    state = None
    if fitted:
        learned = value.get_state()
        _check_learned(f"{type(value).__name__}.get_state()", learned)
        state = saved(learned, named=named)
    return {"class": type(value).__name__, "params": params, "state": state}


def _check_class_name(written: type, named: Named) -> None:
    """Refuse a class of the user's own that ``load`` would take for another one of its name."""
    path = _path_of(written)
    first = named.setdefault((written.__name__,), written)
    of_package = FEATURE_PART_CLASSES.get(written.__name__, path).replace(":", ".")
    if first is not written or of_package != path:
        other = of_package if first is written else _path_of(first)
        raise ValueError(
            "feature_part must be of classes of different names to be saved, by which load finds "
            f"them; got {path} beside {other}. Rename {path}."
        )


def _path_of(written: type) -> str:
    return f"{written.__module__}.{written.__qualname__}"


def _check_function_names(part: Any, params: dict[str, Any], named: Named) -> None:
    """Refuse functions of a parameter that ``load`` would take for each other, of one name.

    ``params`` are the parameters of the part as they are written.
    """
    values = params_of(part)
    for param, content in params.items():
        if isinstance(content, (*_PLAIN, list, tuple, dict, np.ndarray, date)):
            continue
        key = type(part).__name__, param, unsaved_name(content)
        first = named.setdefault(key, values[param])
        if _comparable(first) != _comparable(values[param]):
            raise ValueError(
                f"{param} of {key[0]} must be functions of different names to be saved, by which "
                f"load finds them; got {quote(first)} and {quote(values[param])}. Write a def of "
                "another name for one."
            )


def _comparable(value: Any) -> Any:
    """Return what an object has in common with its copies, which fitted parts hold.

    Copies of functions and classes are these themselves, and those of partials are new ones; copies
    of other objects are not told apart.
    """
    if isinstance(value, partial):
        keywords = {name: _comparable(argument) for name, argument in value.keywords.items()}
        return _comparable(value.func), [*map(_comparable, value.args)], keywords
    is_itself = isinstance(value, (*_PLAIN, FunctionType, BuiltinFunctionType, np.ufunc, type))
    return value if is_itself else type(value)


def _check_learned(name: str, value: Any) -> None:
    """Refuse an entry of a state that would not come back as it is: predictions depend on it.

    ``name`` is the expression that gives the entry, for the message.
    """
    if type(value) in _PLAIN or any(kind.holds(value) for kind in _OBJECTS):
        return  # nested estimators check their own states
    if isinstance(value, Mapping):
        for key, entry in value.items():
            _check_learned(f"each key of {name}", key)
            _check_learned(f"{name}[{key!r:.50}]", entry)
        return
    is_masked = isinstance(value, np.ma.MaskedArray)  # no file holds the mask
    is_array = isinstance(value, np.ndarray) and not is_masked
    if is_array and value.dtype.kind == "O" and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            if type(entry) not in _PLAIN:  # lists may be long
                _check_learned(f"{name}[{index}]", entry)
        return
    if is_array:
        is_held = value.dtype.kind in ARRAY_KINDS
    elif isinstance(value, np.generic):
        is_held = type(value.item()) in _PLAIN
    else:
        is_held = isinstance(value, _PLAIN)
    if not is_held:
        raise TypeError(
            f"{name} must be an array of numbers or text, a number, text, bytes, a truth value, "
            f"None, or a list, tuple or dict of these; got {quote(value)}. Write it as one of "
            "these, and make it anew in set_state."
        )


def _read_estimator(content: dict[str, Any], classes: Classes) -> Any:
    name = content["class"]
    check_class(name, classes)
    path_or_class = classes[name]
    is_path = isinstance(path_or_class, str)
    estimator_class, given = given_with(load_object(path_or_class) if is_path else path_or_class)
    params = restored(content["params"], classes)
    for param, value in given.items():
        if not isinstance(value, ByName):
            params[param] = value
        elif is_unsaved(params[param]):
            params[param] = value[params[param].removesuffix(NOT_SAVED)]
    estimator = estimator_class(**params)
    if content["state"] is not None:
        _check_settings(estimator_class, params)
        estimator.set_state(restored(content["state"], classes))
    return estimator


class ByName(dict[str, Any]):
    """Values of a parameter that no file holds, by the names that the file has of them."""


def given_with(entry: Any) -> tuple[Any, dict[str, Any]]:
    """Return the class of an entry of ``Classes``, and the parameters that come with it.

    Examples
    --------
    >>> given_with(partial(Pairs, top=5))
    (<class 'treerank.objectives.pairs.rules.Pairs'>, {'top': 5})
    """
    if not isinstance(entry, partial):
        return entry, {}
    arguments = inspect.signature(entry.func).bind_partial(*entry.args)
    return entry.func, arguments.arguments | entry.keywords


def params_in(content: Any, names: Collection[str], param: str) -> Iterator[Any]:
    """Yield a parameter of each estimator in ``content`` whose class has one of ``names``."""
    match content:
        case {"object": ["estimator", {"class": str(name), "params": {**params}}]}:
            if name in names and param in params:
                yield params[param]
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list | tuple):
        for item in content:
            yield from params_in(item, names, param)


def is_unsaved(content: Any) -> bool:
    """Tell whether the content of a file is the name of an object that it does not hold."""
    return isinstance(content, str) and content.endswith(NOT_SAVED)


def _check_settings(estimator_class: Any, params: dict[str, Any]) -> None:
    """Check the parameters of a ranker as ``fit`` does, except objects that no file has held."""
    if issubclass(estimator_class, Scored):
        kept = {name: value for name, value in params.items() if not _holds_unsaved(value)}
        check_settings(estimator_class(**kept))


def _holds_unsaved(value: Any) -> bool:
    """Tell whether a parameter is the text of an object that no file has held.

    Also true for a list or a feature part that contains one.
    """
    if isinstance(value, list | tuple):
        return any(map(_holds_unsaved, value))
    if has_methods(value, "get_params") and not isinstance(value, Scored):
        return _holds_unsaved([*params_of(value).values()])
    return is_unsaved(value)


def _write_settings(value: Any, fitted: bool, named: Named) -> list[Any]:
    settings = {field.name: getattr(value, field.name) for field in fields(value)}
    # The keys of a mapping are query ids, which may be numbers or tuples.
    pairs = {name: [*v.items()] for name, v in settings.items() if isinstance(v, dict)}
    return [type(value).__name__, {name: saved(v) for name, v in (settings | pairs).items()}]


def _read_settings(content: Any, classes: Classes) -> Any:
    name, settings = content
    return SETTINGS[name](**restored(settings, classes))


def _write_random_state(value: np.random.RandomState, fitted: bool, named: Named) -> dict[str, Any]:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise TypeError(
            "random_state must be a number or RandomState(number) to be saved; got one of "
            f"{state['bit_generator']}."
        )
    content = state["state"] | {name: state[name] for name in ("has_gauss", "gauss")}
    return {name: value if name == "key" else saved(value) for name, value in content.items()}


def _read_random_state(content: Any, classes: Classes) -> np.random.RandomState:
    check_state(content, _RANDOM_STATE)
    inner = {name: content[name] for name in ("key", "pos")}
    random_state = np.random.RandomState()
    random_state.set_state({"bit_generator": "MT19937", "state": inner} | content)
    return random_state


def _named(table: Mapping[str, Any]) -> Kind:
    """Return the kind of the objects in ``table``, all of one class; files hold their names."""
    (kind,) = set(map(type, table.values()))

    def name_of(value: Any) -> str | None:
        return next((name for name, named in table.items() if named == value), None)

    return Kind(
        lambda value: isinstance(value, kind) and name_of(value) is not None,
        lambda value, fitted, named: name_of(value),
        lambda name, classes: table[name],
    )


def _is_estimator(value: Any) -> bool:
    """Tell whether a value is an estimator, or a feature part of the user's own."""
    return has_methods(value, "get_params") or has_methods(value, "fit", "transform")


#: Every kind of object in model files, by name. A value is of the first kind that holds it.
KINDS: dict[str, Kind] = {
    "estimator": Kind(_is_estimator, _write_estimator, _read_estimator),
    "forest": Kind(
        lambda value: isinstance(value, Forest),
        lambda forest, fitted, named: forest.as_state(),
        lambda state, classes: Forest.of_state(state),
    ),
    "settings": Kind(
        lambda value: SETTINGS.get(type(value).__name__) is type(value),
        _write_settings,
        _read_settings,
    ),
    "pair loss": _named(PAIR_LOSSES),
    "pair weight": _named(PAIR_WEIGHTS),
    "random state": Kind(
        lambda value: isinstance(value, np.random.RandomState),
        _write_random_state,
        _read_random_state,
    ),
    # Users choose names of labels and parameters: one of them may be the key ``OBJECT``.
    "dict": Kind(
        lambda value: isinstance(value, Mapping) and OBJECT in value,
        lambda value, fitted, named: [
            [name, saved(item, fitted=fitted, named=named)] for name, item in value.items()
        ],
        lambda content, classes: {name: restored(item, classes) for name, item in content},
    ),
}

#: Kinds of objects that come back, also within states. The content of a dict is checked.
_OBJECTS = [kind for name, kind in KINDS.items() if name != "dict"]
