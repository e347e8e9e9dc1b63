"""Parameters: types that say which values a parameter may have, and the check of all of them.

The type of a field holds its rule: ``n_estimators: Count = 100``. To a type checker a ``Count`` is
an ``int``. :func:`check_parameters` refuses what the rules do not allow, before any work. To add a
type, annotate one with a :class:`Rule` over a check that takes a name and a value.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

import numpy as np

from treerank.checks import (
    check_choice,
    check_count,
    check_flag,
    check_mapping,
    check_n_jobs,
    check_number,
    check_seed,
)


class Rule:
    """A check of a parameter, with the bounds that the check gets.

    Parameters
    ----------
    check : callable
        ``check(name, value, **bounds)`` raises an error that names the parameter.
    **bounds
        Further arguments of the check.

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
        """Return the rule of a choice; the keys of a dict may be allowed."""
        return cls(check_choice, allowed=tuple(allowed))

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value!r}" for name, value in self.bounds.items())
        return f"{self.check.__name__}({bounds})"


#: A whole number of at least 1, as large as kernels can count.
Count = Annotated[int, Rule(check_count, at_most=2**63 - 1)]
#: A whole number of at least 1 that engines can store in 32 bits.
Size = Annotated[int, Rule(check_count, at_most=2**31 - 1)]
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
#: Number of workers.
Jobs = Annotated[int | None, Rule(check_n_jobs)]
#: Further arguments by name.
Options = Annotated[dict[str, Any], Rule(check_mapping)]
#: What a new random number generator starts from.
Seed = Annotated[int | np.random.RandomState | None, Rule(check_seed)]


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


@functools.cache
def rules_of(cls: Any) -> dict[str, Rule]:
    """Return the rule of each attribute whose type has one; subclasses replace types.

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
    return {name: rule for name, rule in rules.items() if rule is not None}


def _rule_of(hint: Any) -> Rule | None:
    """Return the rule that a type holds, if any; ``| None`` and literals allow more."""
    if hint is bool:
        return Rule(check_flag)
    if get_origin(hint) is Annotated:
        return next((rule for rule in hint.__metadata__ if isinstance(rule, Rule)), None)
    if get_origin(hint) not in (Union, UnionType):
        return None
    parts = get_args(hint)
    rules = [rule for rule in map(_rule_of, parts) if rule is not None]
    literals = [text for part in parts if get_origin(part) is Literal for text in get_args(part)]
    others = (*literals, None) if type(None) in parts else tuple(literals)
    return Rule(check_unless, others=others, rule=rules[0]) if rules else None


def check_unless(name: str, value: Any, *, others: Collection[str | None], rule: Rule) -> None:
    """Refuse what is neither one of the others nor allowed by the rule.

    Examples
    --------
    >>> check_unless("smoothing", "auto", others=("auto", None), rule=Rule(check_number))
    """
    is_other = (value is None or isinstance(value, str)) and value in others
    if not is_other:
        rule(name, value)
