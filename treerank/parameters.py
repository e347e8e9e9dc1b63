"""Parameters: types that say which values a parameter may have, and the check of all of them.

The type of a field or an argument holds its rule: ``n_estimators: Count = 100``. To a type checker
a ``Count`` is an ``int``. :func:`check_parameters` refuses what the rules of the fields of an
object do not allow, and :func:`check_arguments` does so for a function, before any work. To add a
type, annotate one with a :class:`Rule` over a check that takes a name and a value.
"""

import functools
import inspect
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, Self, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from treerank.checks import (
    check_choice,
    check_count,
    check_flag,
    check_instance,
    check_mapping,
    check_n_jobs,
    check_number,
    check_seed,
    check_sequence,
    closest,
    quote,
    refuse_other_order,
)

P = ParamSpec("P")
T = TypeVar("T")


class Rule:
    """A check of a parameter: ``check(name, value, **bounds)`` raises an error that names it.

    Examples
    --------
    >>> Rule(check_number, above=0)
    check_number(above=0)
    >>> Rule(check_number, above=0)("sigma", -1)
    Traceback (most recent call last):
    ...
    ValueError: sigma must be a finite number above 0; got -1.
    """

    def __init__(self, check: Callable[..., object], **bounds: Any) -> None:
        self.check, self.bounds = check, bounds

    def __call__(self, name: str, value: Any) -> None:
        """Refuse a value that the check does not allow."""
        self.check(name, value, **self.bounds)

    @classmethod
    def one_of(cls, allowed: Iterable[Any]) -> Self:
        """Return the rule that a value must be one of ``allowed``, such as the keys of a dict."""
        return cls(check_choice, allowed=tuple(allowed))

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value!r}" for name, value in self.bounds.items())
        return f"{self.check.__name__}({bounds})"


#: Stands for a value that is found from the data.
Auto = Literal["auto"]
#: A whole number of at least 1, as large as kernels can count.
Count = Annotated[int, Rule(check_count, at_most=2**63 - 1)]
#: A whole number of at least 1 that engines can store in 32 bits.
Size = Annotated[int, Rule(check_count, at_most=2**31 - 1)]
#: A whole number of at least 0.
Whole = Annotated[int, Rule(check_count, at_least=0, at_most=2**63 - 1)]
#: A whole number of at least 2.
Several = Annotated[int, Rule(check_count, at_least=2, at_most=2**63 - 1)]
#: A finite number above 0.
Positive = Annotated[float, Rule(check_number, above=0)]
#: A finite number of at least 0.
NotNegative = Annotated[float, Rule(check_number, at_least=0)]
#: Length of a step. With a larger one, scores would grow without bound.
LearningRate = Annotated[float, Rule(check_number, above=0, at_most=1e6)]
#: A finite number.
Finite = Annotated[float, Rule(check_number)]
#: A number above 0 and at most 1.
Share = Annotated[float, Rule(check_number, above=0, at_most=1)]
#: A number from 0 to 1.
Probability = Annotated[float, Rule(check_number, at_least=0, at_most=1)]
#: A number between 0 and 1, such as the level of an interval.
Level = Annotated[float, Rule(check_number, above=0, below=1)]
#: Number of workers.
Jobs = Annotated[int | None, Rule(check_n_jobs)]
#: Further arguments by name.
Options = Annotated[dict[str, Any], Rule(check_mapping)]
#: What a new random number generator starts from.
Seed = Annotated[int | np.random.RandomState | None, Rule(check_seed)]

#: Long unions of types by their names.
_UNIONS = {"ArrayLike": ArrayLike, "DTypeLike": DTypeLike}
#: Rules by the origin of a type, from its arguments.
_KINDS: dict[Any, Callable[..., Rule]] = {
    Literal: lambda *allowed: Rule.one_of(allowed),
    Mapping: lambda *_: Rule(check_mapping),
    Sequence: lambda *_: Rule(check_sequence),
}


#: Arguments of any type that have a row for each document.
_BY_ROW = ("X", "y", "qid")
#: What else to say of a wrong call, by the qualified name of the function.
_INSTEAD = {
    "Comparison.summary": "test(metric, first, second, test=...) tests two rankers.",
    "Comparing.explain": "X_a and X_b are the documents of a pair; explain_lead(ranker, X) of "
    "treerank.inspection explains the positions in a list.",
    "Scoring.predict": "rank(X, qid) returns ranks, and score(X, y, qid) measures.",
    "Scoring.score": "The metric is a parameter, as in TreeDirectRanker(metric='map'), or write "
    "get_metric('map')(y, ranker.predict(X), qid).",
    "compare": "The data are one tuple: compare(rankers, (X, y, qid)).",
    "fit": "It takes a data frame of Dask or Spark, whose workers it uses. Other "
    "arguments, such as position=, are for ranker.fit.",
    "slices": "The values are get_metric('ndcg@10').per_query(y, ranker.predict(X), qid).",
}


#: What to say of an argument of another program, by the qualified name of the function.
_THEIRS: dict[str, dict[str, str]] = {
    "read_csv": dict.fromkeys(
        ("delim", "delimiter", "sep"),
        "It sees whether cells end at commas, semicolons, tabs or bars",
    ),
    "Scoring.predict": {
        name: advice
        for advice, names in {
            "explain(X_a, X_b) says what each feature adds to a pair": (
                *("approx_contribs", "pred_contrib", "pred_contribs", "pred_interactions"),
            ),
            "forest() has the trees": ("pred_leaf",),
            "The trees of the best iteration are those of the ranker": (
                *("iteration_range", "ntree_end", "ntree_limit", "ntree_start", "num_iteration"),
                "start_iteration",
            ),
            "Scores are raw, and predict_relevance(X) returns probabilities": (
                *("output_margin", "prediction_type", "raw_score"),
            ),
            "Scores start at 0": ("base_margin",),
        }.items()
        for name in names
    },
}


def check_parameters(owner: Any) -> None:
    """Refuse values that the types of the attributes of an object do not allow.

    Examples
    --------
    >>> class Model:
    ...     n_trees: Count | None = None
    ...     verbose: bool = "yes"
    >>> check_parameters(Model())
    Traceback (most recent call last):
    ...
    ValueError: verbose must be True or False; got 'yes'.
    """
    cls: Any = type(owner)
    for name, rule in rules_of(cls).items():
        rule(name, getattr(owner, name))


def is_given(owner: Any, name: str) -> bool:
    """Return whether a parameter of an object is not the default of its class.

    An attribute that is no parameter of the class is not given: its author has fixed it.

    Examples
    --------
    >>> class Model:
    ...     def __init__(self, n_trees=100):
    ...         self.n_trees, self.depth = n_trees, 3
    >>> is_given(Model(), "n_trees"), is_given(Model(10), "n_trees"), is_given(Model(), "depth")
    (False, True, False)
    """
    parameter = inspect.signature(type(owner)).parameters.get(name)
    return parameter is not None and not np.array_equal(getattr(owner, name), parameter.default)


def check_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Refuse arguments that their types do not allow, before the function begins.

    An argument whose type is a class of this package, a mapping or a sequence has to be one.
    Columns of pandas must have their rows in one order.

    Examples
    --------
    >>> @check_arguments
    ... def repeat(text: str, n_times: Count = 2) -> str:
    ...     return text * n_times
    >>> repeat("ab", n_times=0)
    Traceback (most recent call last):
    ...
    ValueError: n_times must be a whole number of at least 1; got 0.
    """
    signature = inspect.signature(function)
    hints = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    rules = {name: _rule_of(hint) or _rule_of_kind(hint) for name, hint in hints.items()}
    columns = [name for name, hint in hints.items() if name in _BY_ROW or _holds_arrays(hint)]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        arguments = bound(function.__qualname__, signature, args, kwargs)
        _refuse_data(function.__name__, signature, arguments)
        for name, value in arguments.items():
            rule = rules.get(name)
            if rule is not None:
                rule(name, value)
        if len(columns) > 1:
            refuse_other_order({name: arguments[name] for name in columns if name in arguments})
        return function(*args, **kwargs)

    vars(checked)["__signature__"] = plain_signature(function)
    return checked


def _refuse_data(name: str, signature: inspect.Signature, arguments: Mapping[str, Any]) -> None:
    """Refuse data that a reader returned for ``X``, and say how the function takes their parts."""
    X = arguments.get("X")
    if not is_dataclass(X) or not hasattr(X, "qid"):
        return
    parts = list[str]()
    for parameter in signature.parameters.values():
        is_named = parameter.kind is parameter.KEYWORD_ONLY
        value = f"data.{parameter.name}" if parameter.name in _BY_ROW else parameter.name
        if parameter.name in _BY_ROW or parameter.default is parameter.empty:
            parts.append(f"{parameter.name}=..." if is_named else value)
    written = ", ".join(part for part in parts if part not in ("self", "cls"))
    written = written.replace("data.X, data.y, data.qid", "*data")
    raise TypeError(f"X must be documents alone; got {quote(X)}. Write {name}({written}).")


@functools.cache  # types are the same again and again
def _holds_arrays(hint: Any) -> bool:
    """Return whether a type hint allows an array, or a mapping of arrays, as for several labels."""
    if get_origin(hint) is Mapping:
        return _holds_arrays(get_args(hint)[1])
    parts = get_args(hint)
    return all(part in parts for part in get_args(ArrayLike)) or any(
        get_origin(part) is Mapping and _holds_arrays(part) for part in parts
    )


def plain_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return a signature whose types are those that a caller writes, without their rules.

    ``help`` and ``inspect.signature`` show it.

    Examples
    --------
    >>> def draw(n: Count, weight: ArrayLike | None = None, seed: Seed = 0) -> None: ...
    >>> print(plain_signature(draw))
    (n: int, weight: 'ArrayLike | None' = None, seed: int | numpy.random.mtrand.RandomState | None \
= 0) -> None
    """
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=_plain_type(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=_plain_type(signature.return_annotation)
    )


def shows_options(source: Callable[..., Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function with ``**options`` so that its signature lists those of ``source``.

    Examples
    --------
    >>> def read(path: str, *, label: str = "label") -> None: ...
    >>> @shows_options(read)
    ... def read_text(path: str, **options: Any) -> None: ...
    >>> print(inspect.signature(read_text))
    (path: str, *, label: str = 'label') -> None
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        *named, _ = signature.parameters.values()
        names = {parameter.name for parameter in named}
        listed = inspect.signature(source).parameters
        options = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for name, parameter in listed.items()
            if name not in names
        ]
        vars(function)["__signature__"] = signature.replace(parameters=[*named, *options])
        return function

    return decorate


class PlainSignature:
    """Signature of a class, as :func:`plain_signature` returns it, with all subclasses.

    Examples
    --------
    >>> class Model:
    ...     __signature__ = PlainSignature()
    ...     def __init__(self, n_trees: Count = 100) -> None: ...
    >>> print(inspect.signature(Model))
    (n_trees: int = 100) -> None
    """

    def __get__(self, instance: Any, owner: Any) -> inspect.Signature:
        if instance is not None or owner.__init__ is object.__init__:
            raise AttributeError("__signature__")  # an instance has that of its __call__
        signature = plain_signature(owner.__init__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


@functools.cache
def _plain_type(hint: Any) -> Any:
    """Return a type hint without rules, as a text if it has a union of NumPy with a name."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _plain_type(parts[0])
    if origin is Mapping:
        plain = [_plain_type(part) for part in parts]
        has_texts = any(isinstance(part, str) for part in plain)
        return f"Mapping[{', '.join(map(_type_name, plain))}]" if has_texts else hint
    if origin not in (Union, UnionType):
        return hint
    unions = [name for name, union in _UNIONS.items() if all(p in parts for p in get_args(union))]
    in_unions = [part for name in unions for part in get_args(_UNIONS[name])]
    others = [_plain_type(part) for part in parts if part not in in_unions]
    if unions or any(isinstance(part, str) for part in others):
        return " | ".join([*unions, *map(_type_name, others)])
    return functools.reduce(operator.or_, others)


def _type_name(plain: Any) -> str:
    if isinstance(plain, str):
        return plain
    return "None" if plain is NoneType else inspect.formatannotation(plain)


def bound(name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return arguments by name; refuse those that do not fit, and say how to write the call.

    Examples
    --------
    >>> signature = inspect.Signature.from_callable(lambda text, *, n_times=2: text * n_times)
    >>> bound("repeat", signature, ["ab"], {"times": 3})
    Traceback (most recent call last):
    ...
    TypeError: repeat: got an unexpected keyword argument 'times'. Did you mean 'n_times'?
    """
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
        short = name.rpartition(".")[2]
        unknown = [word for word in kwargs if word not in signature.parameters]
        word = unknown[0] if unknown else ""
        if theirs := _THEIRS.get(name, {}).get(word):
            raise TypeError(f"{short} has no {word}. {theirs}.") from None
        if meant := closest(word, [p.name for p in parameters]):
            raise TypeError(f"{short}: {error}.{meant}") from None
        untyped = inspect.Signature([p.replace(annotation=p.empty) for p in parameters])
        message = f"{short}: {error}. Write {short}{untyped}. {_INSTEAD.get(name, '')}"
        raise TypeError(message.rstrip()) from None


@functools.cache
def rules_of(cls: Any) -> dict[str, Rule]:
    """Return the rule of each attribute whose type has one; subclasses replace types.

    A property has none: what it takes from another object is checked there.

    Examples
    --------
    >>> class Model:
    ...     step: Positive = 0.1
    ...     name: str = "model"
    >>> rules_of(Model)
    {'step': check_number(above=0)}
    """
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        hints |= inspect.get_annotations(base)
    rules = {name: _rule_of(hint) for name, hint in hints.items()}
    return {
        name: rule
        for name, rule in rules.items()
        if rule is not None and not isinstance(getattr(cls, name, None), property)
    }


def _rule_of(hint: Any) -> Rule | None:
    """Return the rule in a type hint, None without one.

    ``| None`` and literals are allowed, too.
    """
    if hint is bool:
        return Rule(check_flag)
    if get_origin(hint) is Annotated:
        return next((rule for rule in hint.__metadata__ if isinstance(rule, Rule)), None)
    if get_origin(hint) not in (Union, UnionType):
        return None
    parts = get_args(hint)
    kinds = [part for part in parts if part is not NoneType and get_origin(part) is not Literal]
    if bool in kinds and kinds != [bool]:  # numpy's ArrayLike may be a bool
        return None
    rules = [rule for rule in map(_rule_of, parts) if rule is not None]
    literals = [text for part in parts if get_origin(part) is Literal for text in get_args(part)]
    exceptions = (*literals, None) if type(None) in parts else tuple(literals)
    return Rule(check_unless, exceptions=exceptions, rule=rules[0]) if rules else None


def _rule_of_kind(hint: Any) -> Rule | None:
    """Return the rule that a hint of a class of this package, a mapping or a sequence implies.

    None for any other hint.
    """
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [part for part in parts if part is not NoneType]
    if all(getattr(kind, "__module__", "").startswith("treerank.") for kind in kinds):
        rule = Rule(check_instance, classes=kinds)
    elif len(kinds) == 1 and get_origin(kinds[0]) in _KINDS:
        rule = _KINDS[get_origin(kinds[0])](*get_args(kinds[0]))
    else:
        return None
    return rule if kinds == [*parts] else Rule(check_unless, exceptions=(None,), rule=rule)


def check_unless(name: str, value: Any, *, exceptions: Collection[str | None], rule: Rule) -> None:
    """Refuse what is neither one of the exceptions nor allowed by the rule.

    Examples
    --------
    >>> check_unless("smoothing", "high", exceptions=("auto", None), rule=Rule(check_number))
    Traceback (most recent call last):
    ...
    ValueError: smoothing must be 'auto' or a finite number; got 'high'.
    """
    if (value is None or isinstance(value, str)) and value in exceptions:
        return
    try:
        rule(name, value)
    except (TypeError, ValueError) as error:
        allowed = "".join(f"{exception!r} or " for exception in exceptions if exception is not None)
        raise type(error)(str(error).replace("must be ", f"must be {allowed}", 1)) from error
