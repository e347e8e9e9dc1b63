"""States: what a fitted estimator keeps in a model file, checked before it is used.

A class describes its state by rules, one per entry. A rule is a function of the name of an entry,
its value and the sizes known so far; it raises a ``ValueError`` if the value breaks it. Rules see
to it that no index is out of range and that all shapes agree. To add a kind of entry, write such
a function.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from treerank.checks import check_count, check_number

#: ``rule(name, value, sizes)``; a rule adds the sizes that it is the first to see to ``sizes``.
StateRule = Callable[[str, Any, dict[str, int]], None]


def check_state(state: Any, rules: Mapping[str, StateRule], **sizes: int) -> dict[str, int]:
    """Check each entry of a state by its rule; return all named sizes.

    A rule is called as ``rule(name, value, sizes)``. ``sizes`` are those known before; rules add
    those that they see first. Refuses missing and further entries.

    Examples
    --------
    >>> rules = {"coef": array("float64", "n_features"), "n_iter": count()}
    >>> check_state({"coef": np.zeros(3), "n_iter": 7}, rules)
    {'n_features': 3}
    >>> check_state({"coef": np.zeros(3), "n_iter": 7}, rules, n_features=2)
    Traceback (most recent call last):
    ...
    ValueError: coef must be a float64 array of shape (n_features,) = (2,); got float64 of (3,).
    """
    if not isinstance(state, Mapping) or set(state) != set(rules):
        raise ValueError(f"A state must have the entries {sorted(rules)} and no others.")
    sizes_so_far = dict(sizes)
    for name, rule in rules.items():
        rule(name, state[name], sizes_so_far)
    return sizes_so_far


def unshared(value: Any) -> Any:
    """Return nested dicts, lists and tuples with copies of their arrays, so that none is shared.

    Examples
    --------
    >>> values = np.zeros(2)
    >>> unshared({"values": [values]})["values"][0] is values
    False
    """
    if isinstance(value, dict):
        return {name: unshared(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(unshared, value))
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def array(
    dtype: str,
    *shape: str | int,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: str | None = None,
    infinite: bool = False,
) -> StateRule:
    """Return a rule: an array of this dtype and shape, without NaN, within bounds.

    ``shape`` has a number, or the name of a size, per axis; a size is fixed by its first use.
    ``below`` names a size that all entries must be below. ``infinite`` allows infinities.
    """

    def check(name: str, value: Any, sizes: dict[str, int]) -> None:
        if not isinstance(value, np.ndarray):
            raise ValueError(f"{name} must be an array; got {type(value).__name__}.")
        named = dict(zip(shape, value.shape, strict=False))
        expected = tuple(n if isinstance(n, int) else sizes.get(n, named.get(n)) for n in shape)
        if value.dtype != np.dtype(dtype) or value.shape != expected:
            axes = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
            raise ValueError(
                f"{name} must be a {dtype} array of shape {axes} = {expected}; "
                f"got {value.dtype} of {value.shape}."
            )
        sizes.update({n: size for n, size in named.items() if isinstance(n, str)})
        high = at_most if below is None else sizes[below] - 1
        if value.dtype.kind == "f" and not infinite and not np.isfinite(value).all():
            raise ValueError(f"{name} must be finite.")
        if value.size and not (value.min() >= at_least and value.max() <= high):  # NaN fails
            raise ValueError(f"{name} must be from {at_least} to {high}; got another value.")

    return check


def count(at_least: int = 0, at_most: int | None = None) -> StateRule:
    """Return a rule: a whole number from ``at_least`` to ``at_most``, None for no upper bound."""

    def check(name: str, value: Any, sizes: dict[str, int]) -> None:
        check_count(name, value, at_least=at_least, at_most=at_most)

    return check


def size(of: str) -> StateRule:
    """Return a rule: a whole number of at least 1, which becomes the size named ``of``.

    Rules of later entries can check shapes against it.
    """

    def check(name: str, value: Any, sizes: dict[str, int]) -> None:
        check_count(name, value, at_least=1)
        sizes[of] = value

    return check


def number(**bounds: float) -> StateRule:
    """Return a rule: a finite number within ``bounds``, which are arguments of ``check_number``."""
    return lambda name, value, sizes: check_number(name, value, **bounds)


def optional(rule: StateRule) -> StateRule:
    """Return a rule that allows ``None``, and checks other values by ``rule``."""
    return lambda name, value, sizes: None if value is None else rule(name, value, sizes)


def entries(rules: Mapping[str, StateRule]) -> StateRule:
    """Return a rule: a dict with exactly these entries, each checked by its own rule."""

    def check(name: str, value: Any, sizes: dict[str, int]) -> None:
        sizes.update(check_state(value, rules, **sizes))

    return check


def numbers(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Rule of a list of numbers."""
    if not isinstance(value, list) or not all(type(item) in (int, float) for item in value):
        raise ValueError(f"{name} must be a list of numbers.")


#: Name of a set of documents that a fit watches.
_SET = r"validation(_\d+)?"


def history(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Rule of learning curves: ``{"validation": {metric name: list of numbers}, ...}``."""
    is_named = isinstance(value, dict) and all(re.fullmatch(_SET, str(key)) for key in value)
    if not is_named:
        raise ValueError(f"{name} must be a dict of 'validation', 'validation_1' and so on.")
    for curves in value.values():
        if not isinstance(curves, dict):
            raise ValueError(f"{name} must hold a dict of lists.")
        for metric, curve in curves.items():
            numbers(f"{name} of {metric!r:.50}", curve, sizes)
