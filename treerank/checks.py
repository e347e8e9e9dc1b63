"""Checks: refuse a wrong argument before any work, and warn where the user can see it.

Every check takes the name of the argument first and raises a ``ValueError`` (a ``TypeError`` for
arrays that are not numbers). To add a check, write one sentence that says the rule.
"""

import math
import sys
import warnings
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Number of characters of a value that a message shows.
MAX_SHOWN = 200
#: Largest weight, and one over the smallest: single precision holds products of two and a gain.
MAX_WEIGHT = 1e15


def check_count(name: str, value: Any, *, at_least: int = 1, at_most: int | None = None) -> None:
    """Refuse what is not a whole number between two bounds; both bounds are allowed.

    Examples
    --------
    >>> check_count("n_queries", 0)
    Traceback (most recent call last):
    ...
    ValueError: n_queries must be a whole number of at least 1; got 0.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        allowed = f"at least {at_least}" + ("" if at_most is None else f" and at most {at_most}")
        raise ValueError(f"{name} must be a whole number of {allowed}; got {value!r}.")


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> None:
    """Refuse what is not a finite number between bounds; ``above`` itself is not allowed.

    Examples
    --------
    >>> check_number("sigma", 0.0, above=0)
    Traceback (most recent call last):
    ...
    ValueError: sigma must be a finite number above 0; got 0.0.
    """
    is_finite = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_finite or value <= above or not at_least <= value <= at_most:
        rules = {"above": above, "of at least": at_least, "of at most": at_most}
        bounds = [f"{rule} {bound:g}" for rule, bound in rules.items() if math.isfinite(bound)]
        allowed = " ".join(["a finite number", " and ".join(bounds)]).strip()
        raise ValueError(f"{name} must be {allowed}; got {value!r}.")


def check_choice(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Refuse what is not among the values allowed.

    Examples
    --------
    >>> check_choice("optimizer", "adm", {"adam", "sgd"})
    Traceback (most recent call last):
    ...
    ValueError: optimizer must be one of ['adam', 'sgd']; got 'adm'.
    """
    try:
        is_allowed = value in allowed
    except TypeError:  # a value that cannot be hashed is in no set
        is_allowed = False
    if not is_allowed:
        raise ValueError(f"{name} must be one of {_sorted(allowed)}; got {value!r}.")


def check_column(name: str, values: ArrayLike, n_documents: int | None = None) -> np.ndarray:
    """Return one finite float64 per document.

    Examples
    --------
    >>> check_column("y", [1, 0])
    array([1., 0.])
    """
    column = as_numbers(name, values)
    if column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {column.shape}.")
    if n_documents is not None and len(column) != n_documents:
        raise ValueError(
            f"{name} must have one entry per document; got {len(column)} for {n_documents}."
        )
    if len(column) == 0 and n_documents != 0:
        raise ValueError(f"{name} must have at least one entry; got {shown(values)}.")
    with np.errstate(over="ignore", invalid="ignore"):
        # If the sum is finite, so are all entries; otherwise each entry is tested.
        is_finite = np.isfinite(column.sum()) or np.isfinite(column).all()
    if not is_finite:
        row = int(np.argmin(np.isfinite(column)))
        raise ValueError(f"{name} must be finite; got {column[row]} in row {row}.")
    return column


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Return an array of float64; refuse text, dates, complex numbers and masked entries.

    Examples
    --------
    >>> as_numbers("y", [1, None])
    array([ 1., nan])
    >>> as_numbers("y", ["good", "bad"])
    Traceback (most recent call last):
    ...
    TypeError: y must be numbers; got ['good', 'bad'].
    """
    refuse_masked(name, values)
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "cmM":
            return np.asarray(found, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):  # refused below
        pass
    raise TypeError(f"{name} must be numbers; got {shown(values)}.")


def refuse_masked(name: str, values: Any) -> None:
    """Refuse masked entries: NumPy would read the values below the mask.

    Examples
    --------
    >>> refuse_masked("y", np.ma.array([1.0, 2.0], mask=[False, True]))
    Traceback (most recent call last):
    ...
    ValueError: y must have no masked entries; got 1 of 2.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must have no masked entries; got {count} of {values.size}.")


def check_weight(name: str, weight: ArrayLike | None, n_documents: int) -> np.ndarray | None:
    """Return a weight per document, finite and not negative; ``None`` stays ``None``.

    Examples
    --------
    >>> check_weight("sample_weight", 2, 3)
    array([2., 2., 2.])
    """
    if weight is None:
        return None
    weight = as_numbers(name, weight)
    if weight.ndim == 0:
        weight = np.full(n_documents, weight)
    values = check_column(name, weight, n_documents)
    if values.min() < 0:
        row = int(np.argmin(values))
        raise ValueError(f"{name} must not be negative; got {float(values[row])!r} in row {row}.")
    wrong = (values > MAX_WEIGHT) | ((values < 1 / MAX_WEIGHT) & (values > 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must be 0 or from {1 / MAX_WEIGHT:g} to {MAX_WEIGHT:g}; "
            f"got {float(values[row])!r} in row {row}."
        )
    return values


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest call from outside of this package, through however many functions.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_user("The model is constant.")
    >>> caught[0].message
    UserWarning('The model is constant.')
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treerank."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def shown(value: Any) -> str:
    """Return the text of a value for a message, cut where it is long.

    Examples
    --------
    >>> shown("no"), shown([0] * 1000)[-12:]
    ("'no'", '0, 0, 0, ...')
    """
    try:
        text = repr(value)
    except Exception:  # as that of a number with too many digits, or of a broken object
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}..."


def _sorted(allowed: Collection[Any]) -> list[Any]:
    """Return the values in ascending order, ``None`` first."""
    return sorted(allowed, key=lambda value: (value is not None, value))
