"""Model file: a fitted ranker as plain values, in an archive.

A ranker or a feature part is stored as its class, its parameters and its state, which is what
``get_state`` returns. Estimators within parameters and states are stored in the same way; those
within parameters are stored unfitted. How each kind of value is written stands in
:mod:`treerank.rankers.saved_values`. A file names classes only by their key in a registry, so
loading it creates nothing else: no name in the file is imported, evaluated or unpickled. A change
that older versions cannot read raises :data:`treerank.files.archive.FORMAT_VERSION`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from treerank.checks import NOT_SAVED, quote
from treerank.feature_parts.registry import FEATURE_PART_CLASSES
from treerank.files.archive import ArgumentError, one_error, read_archive, write_archive
from treerank.lazy import load_object
from treerank.parameters import check_parameters
from treerank.rankers.saved_values import (
    OBJECT,
    ByName,
    check_class,
    given_with,
    is_unsaved,
    params_in,
    restored,
    saved,
)

#: Classes that are parameters of rankers, but no rankers and no feature parts.
_SETTINGS = {"ClickRelevance": "treerank.clicks.relevance:ClickRelevance"}
#: Name of how columns of the training file were read, and what it tells.
_COLUMNS, _ROLES = "columns", {"label", "query", "document", "days_since"}
#: Rankers with more features do not score test documents on loading.
_MOST_FEATURES = 2**16


def save(ranker: Any, path: str | Path, columns: Mapping[str, str] | None = None) -> None:
    """Write a fitted ranker to one file.

    ``columns`` are the names of the training file's columns that were not features, by their role:
    "label", "query" and "document". Its "days_since" is the date from which dates count days.
    """
    named = {} if columns is None else {_COLUMNS: dict(columns)}
    write_archive(path, saved(ranker) | named)


def columns_in(path: str | Path) -> dict[str, str]:
    """Return the ``columns`` that a model was saved with, by "label", "query" and "document".

    The dict is empty if none were saved. Refuses a file that is no whole model of this version.

    Examples
    --------
    >>> from treerank.baselines import RankSVM
    >>> path = getfixture("tmp_path") / "m.treerank"
    >>> save(RankSVM().fit([[1.0], [2.0]], [0, 1]), path, {"label": "grade"})
    >>> columns_in(path)
    {'label': 'grade'}
    """
    with one_error(f"path must hold a whole ranker that this version knows; {path} does not"):
        columns = read_archive(path).get(_COLUMNS, {})
        texts = [*columns.keys(), *columns.values()]
        if not all(isinstance(text, str) for text in texts) or not columns.keys() <= _ROLES:
            raise ValueError(f"columns must be texts by their role; got {columns!r:.50}")
    return dict(columns)


def read_model(
    path: str | Path,
    rankers: Mapping[str, str],
    parts: Mapping[str, type | partial[Any]] | None = None,
    build: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Read a ranker from a model file.

    Parameters
    ----------
    path : str or Path
        Model file.
    rankers : mapping from str to str
        Import paths, such as ``"module:Class"``, of the classes that the ranker may be of, by name.
    parts : mapping from str to type or partial, default=None
        Further classes of feature parts, by name. A partial also has parameters that no file holds;
        a mapping has one for each name of one in the file.
    build : callable or mapping from str to callable, default=None
        Makes the modules of a :class:`~treerank.feature_parts.TorchModule`, which no file holds,
        and of the classes in ``parts`` that are derived from it. A mapping has one function for
        each name of a function in the file.
    """
    _check_parts(parts)
    if build is not None:
        module_class = load_object(FEATURE_PART_CLASSES["TorchModule"])
        for function in build.values() if isinstance(build, Mapping) else [build]:
            check_parameters(module_class(function))
    content = read_archive(path)
    with one_error(f"path must hold a whole ranker that this version knows; {path} does not"):
        kind, ranker_content = content[OBJECT]
        if kind != "estimator":
            raise ValueError(f"a model must be an estimator; got {kind!r:.50}")
        check_class(ranker_content["class"], rankers)
        own = {name: _with_names(name, entry, content) for name, entry in (parts or {}).items()}
        classes = {**FEATURE_PART_CLASSES, **_SETTINGS, **rankers, **own}
        if build is not None:
            modules = {"TorchModule": module_class} | {
                name: entry for name, entry in own.items() if _takes_build(entry, module_class)
            }
            saved_builds = [*params_in(content, modules, "build")]
            build = _by_name("build", build, saved_builds, "build={}".format)
            classes |= {name: partial(entry, build=build) for name, entry in modules.items()}
        ranker = restored(content, classes)
        if not parts:  # feature parts of the user's own may give any scores
            _check_scores(ranker)
    return ranker


def _check_parts(parts: Any) -> None:
    """Refuse ``parts`` that are no classes by name, such as a list or objects of the classes.

    A class may come with parameters that no file holds, as a partial.
    """
    is_mapping = isinstance(parts, Mapping)
    entries = [*parts.values()] if is_mapping else parts if isinstance(parts, list | tuple) else []
    classes = [entry.func if isinstance(entry, partial) else entry for entry in entries]
    if parts is None or (is_mapping and all(isinstance(entry, type) for entry in classes)):
        for name, entry in (parts or {}).items():
            if isinstance(entry, partial):
                try:
                    signature(entry.func).bind_partial(*entry.args, **entry.keywords)
                except TypeError as error:
                    raise TypeError(f"parts[{name!r:.50}]: {error}") from error
        return
    first = classes[0] if classes else None
    name = getattr(first, "__name__", "Own" if first is None else type(first).__name__)
    if is_mapping:
        name = str(next(iter(parts)))
    raise TypeError(
        f"parts must be a dict from names to classes, as in load(path, parts={{{name!r:.50}: "
        f"{name:.50}}}); got {quote(parts)}."
    )


def _takes_build(entry: Any, module_class: type) -> bool:
    """Tell whether a class of ``parts`` is one of modules whose ``build`` does not come with it."""
    part_class, given = given_with(entry)
    is_module = issubclass(part_class, module_class) and "build" in signature(part_class).parameters
    return is_module and "build" not in given


def _with_names(name: str, entry: Any, content: Any) -> Any:
    """Return a class of ``parts`` with its parameters by the names in the content of a file."""
    part_class, given = given_with(entry)
    if not given:
        return part_class

    def named(param: str, value: Any) -> Any:
        return _by_name(
            f"{param} of parts[{name!r}]",
            value,
            [*params_in(content, [name], param)],
            lambda example: f"parts={{{name!r}: partial({name}, {param}={example})}}",
        )

    return partial(part_class, **{param: named(param, value) for param, value in given.items()})


def _by_name(name: str, value: Any, saved_params: list[Any], argument: Callable[[str], str]) -> Any:
    """Return a parameter that no file holds, by name if it is a mapping and the file has names.

    Refuses one value where the file has several, and a mapping without one. In the message,
    ``name`` is that of the parameter, and ``argument`` of the example is what to pass to load.
    """
    unsaved = [content for content in saved_params if is_unsaved(content)]
    names = sorted({content.removesuffix(NOT_SAVED) for content in unsaved})
    if isinstance(value, Mapping):
        if value.keys() >= {*names}:
            return ByName(value) if names else value
        given = f"{quote([*value])} alone"
    else:
        if len(names) < 2 and len(unsaved) in (0, len(saved_params)):
            return value
        given = quote(value)
    example = ", ".join(f"{function!r}: {function}" for function in names)
    raise ArgumentError(
        f"{name} must have a function for each name of one in the file, as in load(path, "
        f"{argument(f'{{{example}}}')}); got {given}."
    )


def _check_scores(ranker: Any) -> None:
    """Refuse a ranker that gives a simple document no finite score.

    The checks of states are about shapes and indices. This one is about their values: enormous
    weights that overflow, for instance.
    """
    _ = ranker._given_columns  # makes the feature part of the parameters, which fit will need
    n_features = ranker.n_features_in_
    if n_features > _MOST_FEATURES:  # a dense row would take too much memory
        return
    rows = [np.full(n_features, value) for value in (np.nan, 0.0, 1.0, -1.0)]
    rows += [*np.random.default_rng(0).normal(size=(12, n_features))]
    with np.errstate(all="ignore"):
        scores = ranker._scores(np.stack(rows))  # scores_of would speak of X
    if scores.shape != (len(rows),) or not np.isfinite(scores).all():
        raise ValueError("the scores of some simple documents are not finite")
