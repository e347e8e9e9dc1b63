"""Checks: refuse a wrong argument before any work, and warn where the user can see it.

Every check takes the name of the argument first and raises a ``ValueError`` (a ``TypeError`` for
arrays that are not numbers). To add a check, write one sentence that says the rule.
"""

import ast
import difflib
import inspect
import math
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.spelling import spelled

#: End of the name of an object of the user's own, which is all that a model file holds of it.
NOT_SAVED = " (not saved)"
#: Largest weight, and one over the smallest: single precision holds products of two and a gain.
MAX_WEIGHT = 1e15
#: Largest seed of NumPy's ``RandomState``.
MAX_SEED = 2**32 - 1
#: Largest number, and 1 over the smallest, in single precision.
LARGEST_NUMBER = 1e30
#: Messages name an upper bound this large only where it is exceeded.
MANY = 2**20
#: Largest number of whole numbers in a sequence.
MOST_COUNTS = 1000
#: Number of characters of a value that a message shows, and of all values that are allowed.
MAX_SHOWN, MAX_CHOICES = 200, 1000


def check_count(
    name: str,
    value: Any,
    *,
    at_least: int = 1,
    at_most: int | None = None,
    no_limit: int | None = None,
) -> None:
    """Refuse what is not a whole number from ``at_least`` to ``at_most``, or equal to ``no_limit``.

    Examples
    --------
    >>> check_count("n_queries", 0)
    Traceback (most recent call last):
    ...
    ValueError: n_queries must be a whole number of at least 1; got 0.
    """
    most = math.inf if at_most is None else at_most
    if not is_whole(value) or not (at_least <= value <= most or value == no_limit):
        is_told = most < MANY or (is_whole(value) and value > most)
        bounds = f"at least {at_least}" + (f" and at most {most}" if is_told else "")
        other = "" if no_limit is None else f"{no_limit} for no limit or "
        raise ValueError(
            f"{spelled(name)} must be {other}a whole number of {bounds}; got {quote(value)}."
        )


def check_number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> None:
    """Refuse what is not a finite number within the bounds; ``above`` and ``below`` are excluded.

    Examples
    --------
    >>> check_number("sigma", 0.0, above=0)
    Traceback (most recent call last):
    ...
    ValueError: sigma must be a finite number above 0; got 0.0.
    """
    number = float(value) if isinstance(value, np.floating) else value
    is_number = isinstance(number, int | float | np.integer) and not isinstance(number, bool)
    # A whole number may be beyond the largest float.
    is_finite = is_number and abs(number) <= sys.float_info.max
    if is_finite and number != 0 and not 1 / LARGEST_NUMBER <= abs(number) <= LARGEST_NUMBER:
        raise ValueError(
            f"{spelled(name)} must be from {1 / LARGEST_NUMBER:g} to {LARGEST_NUMBER:g} in size, "
            f"or 0; got {quote(value)}."
        )
    if not is_finite or not (above < number < below and at_least <= number <= at_most):
        rules = {"above": above, "of at least": at_least, "of at most": at_most, "below": below}
        bounds = [f"{rule} {bound:g}" for rule, bound in rules.items() if math.isfinite(bound)]
        allowed = " ".join(["a finite number", " and ".join(bounds)]).strip()
        raise ValueError(f"{spelled(name)} must be {allowed}; got {quote(value)}.")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {quote(value)}.")


def check_seed(name: str, value: Any) -> None:
    """Refuse what is not ``None``, a ``RandomState`` of NumPy, or a whole number that seeds one.

    Examples
    --------
    >>> check_seed("random_state", -1)
    Traceback (most recent call last):
    ...
    ValueError: random_state must be None, a RandomState or a whole number from 0 to 4294967295; \
got -1.
    """
    is_seed = value is None or isinstance(value, np.random.RandomState)
    if not is_seed and not (is_whole(value) and 0 <= value <= MAX_SEED):
        raise ValueError(
            f"{name} must be None, a RandomState or a whole number from 0 to {MAX_SEED}; "
            f"got {quote(value)}."
        )


def check_n_jobs(name: str, value: Any) -> None:
    """Refuse what is not ``None`` or a number of workers as joblib takes it, which is never 0."""
    if value is not None and (not is_whole(value) or value == 0):
        raise ValueError(f"{name} must be None or a whole number but 0; got {quote(value)}.")


def check_instance(name: str, value: Any, classes: Collection[type]) -> None:
    """Refuse what is not an instance of one of the classes.

    The message says where one is inside of a pipeline or a search, and how a model of another
    program becomes a ranker.
    """
    if not isinstance(value, tuple(classes)):
        names = " or a ".join(cls.__name__ for cls in classes if cls is not type(None))
        steps, best, advice = getattr(value, "steps", None), "best_estimator_", ""
        if isinstance(steps, list) and steps and isinstance(steps[-1][-1], tuple(classes)):
            advice = f" Write {name}=pipeline[-1], and pipeline[:-1].transform(X) for X."
        elif hasattr(value, best) and isinstance(getattr(value, best), tuple(classes)):
            advice = f" Write {name}=search.{best}."
        elif is_of_engine(value) and any(hasattr(cls, "predict") for cls in classes):
            advice = f" Write {name}=ForestRanker(read_forest(model))."
        raise TypeError(f"{name} must be a {names}; got {quote(value)}.{advice}")


def is_of_engine(value: Any) -> bool:
    """Tell whether a value is a model of LightGBM, XGBoost or CatBoost, which read_forest reads."""
    return type(value).__module__.partition(".")[0] in ("catboost", "lightgbm", "xgboost")


def check_mapping(name: str, value: Any) -> None:
    """Refuse what is not a dict with names as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} must be a dict like {{'name': ...}}; got {quote(value)}.")


def check_sequence(name: str, value: Any, *, or_mapping: bool = False) -> None:
    """Refuse what is not a sequence, such as a number or text.

    A dict is allowed if ``or_mapping``.
    """
    is_sized = np.iterable(value) and hasattr(value, "__len__")
    is_allowed = or_mapping or not isinstance(value, Mapping)
    if not is_sized or not is_allowed or isinstance(value, str | bytes):
        other = " or a dict" if or_mapping else ""
        raise TypeError(f"{name} must be a sequence{other}; got {quote(value)}.")


def check_counts(
    name: str, value: Any, *, shortest: int = 0, at_least: int = 1, at_most: int | None = None
) -> None:
    """Refuse what is not a sequence of ``shortest`` or more whole numbers within the bounds.

    Examples
    --------
    >>> check_counts("hidden", [64, 0])
    Traceback (most recent call last):
    ...
    ValueError: each of hidden must be a whole number of at least 1; got 0.
    """
    check_sequence(name, value)
    if not shortest <= len(value) <= MOST_COUNTS:
        rule = f"from {shortest} to {MOST_COUNTS} entries"
        raise ValueError(f"{name} must have {rule}; got {quote(value)}.")
    for entry in value:
        check_count(f"each of {name}", entry, at_least=at_least, at_most=at_most)


def check_choice(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Refuse a value that is not in ``allowed``, which holds strings, numbers or ``None``.

    Examples
    --------
    >>> check_choice("optimizer", "adm", {"adam", "sgd"})
    Traceback (most recent call last):
    ...
    ValueError: optimizer must be one of ['adam', 'sgd']; got 'adm'. Did you mean 'adam'?
    """
    # Arrays and many others cannot be looked up, and True would be found as 1.
    is_plain = value is None or isinstance(value, str | int | float | np.number)
    if not is_plain or isinstance(value, bool) or value not in allowed:
        meant = closest(value, allowed)
        ordered = sorted(allowed, key=lambda value: (value is not None, value))
        raise ValueError(
            f"{spelled(name)} must be one of {quote(ordered, MAX_CHOICES)}; got "
            f"{quote(value)}.{meant}"
        )


def closest(value: Any, allowed: Iterable[Any]) -> str:
    """Return " Did you mean 'word'?" with the allowed word most like the value; "" if none is.

    Of a function that a model file holds by its name alone, say what to do.

    Examples
    --------
    >>> closest("NDCG", ["map", "ndcg"]), closest("lambdarank", ["hinge"])
    (" Did you mean 'ndcg'?", '')
    """
    if isinstance(value, str) and value.endswith(NOT_SAVED):
        return " A model file holds no functions: pass it again by set_params."
    by_lower = {str(name).lower(): name for name in allowed if isinstance(name, str)}
    matches = difflib.get_close_matches(str(value).lower(), by_lower, n=1, cutoff=0.75)
    return (
        f" Did you mean {quote(by_lower[matches[0]])}?"
        if isinstance(value, str) and matches
        else ""
    )


def by_name(name: str, value: Any, allowed_values: Mapping[str, Any], kind: type) -> Any:
    """Return the object of ``allowed_values`` with this name.

    An object of the class ``kind`` is kept. Refuses anything else; ``name`` is the argument.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in allowed_values:
        return allowed_values[value]
    allowed = f"a {kind.__name__} or one of {sorted(allowed_values)}"
    raise ValueError(
        f"{spelled(name)} must be {allowed}; got {quote(value)}.{closest(value, allowed_values)}"
    )


def check_signature(name: str, function: Any, *arguments: str) -> None:
    """Refuse a function that cannot be called with positional arguments of these names.

    The names are for the message. Functions without a signature, in C, are not checked.

    Examples
    --------
    >>> check_signature("metric", lambda scores, y, qid, k: 0.0, "y", "scores", "qid")
    Traceback (most recent call last):
    ...
    TypeError: metric must be a function of (y, scores, qid); got one of (scores, y, qid, k).
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C have no signature
        return
    try:
        if "estimator" in signature.bind(*arguments).arguments:
            raise TypeError("a scorer of scikit-learn")
    except TypeError as error:
        rule = f"{name} must be a function of ({', '.join(arguments)})"
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        taken = str(inspect.Signature(bare))
        raise TypeError(f"{rule}; got one of {taken}.") from error


def check_column(
    name: str,
    values: ArrayLike,
    n_documents: int | None = None,
    *,
    some_unjudged: bool = False,
    all_unjudged: bool = False,
    or_table: bool = False,
    advice: str = "",
) -> np.ndarray:
    """Return a column of ``n_documents`` finite numbers as float64; refuse any other.

    ``n_documents=None`` allows any number but 0. With ``some_unjudged``, entries may be NaN,
    and with ``all_unjudged``, too, all of them may be. With ``or_table``, a table of one column is
    taken as that column, as ``fit`` takes labels. The error of an entry that is not finite ends in
    ``advice``.

    Examples
    --------
    >>> check_column("y", [1, 0])
    array([1., 0.])
    """
    if values is None:
        raise ValueError(f"{name} must be one-dimensional, an entry per document; got None.")
    column = as_numbers(name, values)
    if or_table and column.shape[1:] == (1,):
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {column.shape}.")
    if n_documents is not None and len(column) != n_documents:
        raise ValueError(
            f"{name} must have one entry per document; got {len(column)} for {n_documents}."
        )
    if len(column) == 0 and n_documents != 0:
        raise ValueError(f"{name} must have at least one entry; got {quote(values)}.")
    with np.errstate(over="ignore", invalid="ignore"):
        # If the sum is finite, so are all entries; otherwise each entry is tested.
        is_finite = np.isfinite(column.sum()) or np.isfinite(column).all()
    if not is_finite:
        unjudged = np.isnan(column)
        if some_unjudged and unjudged.all() and not all_unjudged:
            raise ValueError(
                f"{name} must hold a label in some row; got NaN, no judgment, in all {len(column)}."
            )
        allowed = np.isfinite(column) | (unjudged & some_unjudged)
        refuse_where(~allowed, column, f"{name} must be finite", advice)
    refuse_rounded(name, values, column)
    # For an array that must not be written, numba would compile kernels again.
    return column if column.flags.writeable else column.copy()


def refuse_rounded(name: str, values: Any, column: np.ndarray) -> None:
    """Refuse integers of 2**53 or more, such as times in nanoseconds: as floats, some are equal.

    ``column`` has the ``values`` as floats.
    """
    rounded = np.abs(column) >= 2**53
    if rounded.any():
        array = np.asarray(values)
        # Integers of pandas, polars and Arrow become doubles where some of them are missing.
        kind = str(getattr(values, "dtype", getattr(values, "type", "")))
        are_integers = array.dtype.kind in "iu" or re.match(r"u?int\d", kind, re.IGNORECASE)
        if are_integers or (array.dtype == object and any(map(is_whole, array.flat))):
            rule = f"{name} must be below 2**53 in size as integers"
            advice = f" Larger ones are rounded: subtract a number from all of {name}."
            refuse_where(rounded, column, rule, advice)


def refuse_where(wrong: np.ndarray, values: np.ndarray, rule: str, advice: str = "") -> None:
    """Raise a ValueError if an entry of ``wrong`` is true.

    It names the first such value and its row. The message is "<rule>; got <value> in row
    <i>.<advice>".
    """
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{rule}; got {quote(float(values[row]))} in row {row}.{advice}")


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Return an array of float64; refuse text, dates, complex numbers and masked entries.

    None and the NA of pandas are NaN.

    Examples
    --------
    >>> as_numbers("y", [1, None])
    array([ 1., nan])
    >>> as_numbers("y", ["1", "0"])
    Traceback (most recent call last):
    ...
    TypeError: y must be numbers; got text; the order is X, y, qid. np.asarray(y, float) reads ...
    """
    refuse_masked(name, values)
    if isinstance(values, str):
        raise TypeError(
            f"{name} must be numbers, one per row; got {quote(values)}. Pass the values of a "
            f"column, as in {name}=table[{quote(values)}], and leave the column out of X."
        )
    text = ""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "cmMSTU" and not _holds_text(array):
            numbers = _without_na(array) if array.dtype == object else array
            return np.asarray(numbers, dtype=np.float64, order="C")
        if array.dtype.kind in "STU" or _holds_text(array):
            order = "; the order is X, y, qid" if name == "y" else ""
            text = f"text{order}. np.asarray({name}, float) reads text of digits"
            text = text if spelled(name) == name and _is_expression(name) else "text"
    except (TypeError, ValueError, OverflowError):  # refused below
        pass
    raise TypeError(f"{spelled(name)} must be numbers; got {text or quote(values)}.")


def _is_expression(name: str) -> bool:
    """Tell whether the name of an argument is code, as ``X['a']`` is and ``scores of a`` is not."""
    try:
        ast.parse(name, mode="eval")
    except SyntaxError:
        return False
    return True


def _holds_text(values: np.ndarray) -> bool:
    """Return whether an array of objects has text in it, which NumPy might read as a number."""
    return values.dtype == object and any(isinstance(value, str | bytes) for value in values.flat)


def _without_na(values: np.ndarray) -> np.ndarray:
    """Return an array of objects with NaN for the NA of pandas, of which NumPy makes no number."""
    is_na = [type(value).__name__ == "NAType" for value in values.flat]
    return np.where(np.reshape(is_na, values.shape), np.nan, values)


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


def refuse_complex(X: Any, name: str = "X") -> None:
    """Refuse an array of complex numbers in the words of scikit-learn, which prints all of them.

    Examples
    --------
    >>> refuse_complex(np.array([1j]))
    Traceback (most recent call last):
    ...
    ValueError: X must be real numbers: Complex data not supported; got complex128.
    """
    if X.dtype.kind == "c":
        raise ValueError(f"{name} must be real numbers: Complex data not supported; got {X.dtype}.")


def check_rows(name: str, rows: ArrayLike, n_rows: int, unit: str = "document") -> np.ndarray:
    """Return the numbers of rows, given by number or by a mask; -1 is the last of ``n_rows`` rows.

    ``unit`` is what a row is, for the message.

    Examples
    --------
    >>> check_rows("rows", [2, -1], 4), check_rows("rows", [False, True], 2)
    (array([2, 3]), array([1]))
    """
    numbers = np.asarray(rows, dtype=None if np.size(rows) else np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "biu":
        raise TypeError(f"{name} must be whole numbers or a mask; got {quote(rows)}.")
    if numbers.dtype.kind == "b":
        if len(numbers) != n_rows:
            counts = f"{len(numbers)} entries for {n_rows} {unit}s"
            raise ValueError(f"{name} must be a mask with one entry per {unit}; got {counts}.")
        numbers = np.flatnonzero(numbers)
    wrong = (numbers < -n_rows) | (numbers >= n_rows)
    refuse_where(wrong, numbers, f"{name} must be {name.removesuffix('s')} numbers below {n_rows}")
    return numbers % max(n_rows, 1)


def check_weight(name: str, weight: ArrayLike | None, n_documents: int) -> np.ndarray | None:
    """Return a weight per document as float64: finite and not negative; ``None`` stays ``None``.

    A single number is the weight of all documents.

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
    refuse_where(values < 0, values, f"{name} must not be negative")
    wrong = (values > MAX_WEIGHT) | ((values < 1 / MAX_WEIGHT) & (values > 0))
    refuse_where(wrong, values, f"{name} must be 0 or from {1 / MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
    return values


def refuse_other_order(by_row: Mapping[str, Any]) -> None:
    """Refuse columns of pandas whose index has the rows of an earlier argument in another order.

    Rows are matched by position, so these values would be assigned to the wrong documents.
    Arguments may be dicts of columns.

    Examples
    --------
    >>> import pandas as pd
    >>> y, scores = pd.Series([1, 0], index=["a", "b"]), pd.Series([0.1, 0.2], index=["b", "a"])
    >>> refuse_other_order({"y": y, "scores": scores})
    Traceback (most recent call last):
    ...
    ValueError: scores must have the rows of y in their order; its index has them in another one. \
If the rows are in order, as after reset_index of one of them, write scores.to_numpy(), else \
scores.loc[y.index].
    """
    first, index = "", None
    for name, values in _columns_by_name(by_row):
        other: Any = getattr(values, "index", None)
        if not hasattr(other, "is_unique"):  # lists have a method of this name
            continue
        if index is None:
            first, index = name, other
            continue
        if _is_permuted(other, index):
            raise ValueError(
                f"{name} must have the rows of {first} in their order; its index has them in "
                "another one. If the rows are in order, as after reset_index of one of them, write "
                f"{name}.to_numpy(), else {name}.loc[{first}.index]."
            )


def has_other_order(values: Any, others: Any) -> bool:
    """Tell whether the indexes of two columns or tables of pandas have the same rows in two orders.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Series([1, 0], index=["a", "b"])
    >>> has_other_order(y, y[::-1]), has_other_order(y, [1, 0])
    (True, False)
    """
    indexes = [getattr(of, "index", None) for of in (values, others)]
    return all(hasattr(of, "is_unique") for of in indexes) and _is_permuted(*indexes)


def _is_permuted(other: Any, index: Any) -> bool:
    """Return whether an index of pandas has the entries of another one in another order."""
    may_be_permuted = not index.equals(other) and len(index) == len(other)
    return bool(may_be_permuted and index.is_unique and _has_all_of(other, index))


def _has_all_of(other: Any, index: Any) -> bool:
    """Return whether an index of pandas has all entries of another one."""
    try:
        return bool(index.nlevels == other.nlevels and index.isin(other).all())
    except (AssertionError, TypeError, ValueError):  # of kinds that pandas cannot compare
        return False


def _columns_by_name(by_row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield ``(name, column)`` of each argument.

    Of a dict, such as several labels, each entry's.
    """
    for name, values in by_row.items():
        if isinstance(values, Mapping) and not hasattr(values, "shape"):  # as sparse matrices have
            yield from ((f"{name}[{quote(key)}]", column) for key, column in values.items())
        else:
            yield name, values


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest call from outside of this package, through however many functions.

    The ``cached_property`` of functools and the decorators of contextlib are no such calls.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_user("The model is constant.")
    >>> caught[0].message
    UserWarning('The model is constant.')
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.startswith("treerank.") or module in ("contextlib", "functools")


def has_methods(value: Any, *names: str) -> bool:
    """Tell whether a value is an object, and no class, that has methods of these names.

    Examples
    --------
    >>> has_methods("text", "lower"), has_methods(str, "lower"), has_methods("text", "fit")
    (True, False, False)
    """
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number of Python or NumPy, and no truth value.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def quote(value: Any, at_most: int = MAX_SHOWN) -> str:
    """Return the text of a value for a message, in one line, of ``at_most`` characters or cut.

    Examples
    --------
    >>> quote("no"), quote([0] * 1000)[-12:]
    ("'no'", '0, 0, 0, ...')
    >>> quote(np.eye(2))
    'array([[1., 0.], [0., 1.]])'
    """
    try:
        text = f"the class {value.__name__}, no object" if isinstance(value, type) else repr(value)
        text = re.sub(r"\n\s*", " ", text)  # of estimators and arrays, which take several lines
    except Exception:  # such as a number with too many digits, or a broken object
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= at_most else f"{text[: at_most - 1]}..."


def numba_reason(error: Exception) -> str:
    """Return what an error of numba says first, without the stage before and candidates after it.

    Examples
    --------
    >>> lines = "Failed in nopython mode", "Cannot unify a number and text", "During: typing"
    >>> numba_reason(ValueError(chr(10).join(lines)))
    "'Cannot unify a number and text'"
    """
    lines = [line.strip(" >") for line in str(error).splitlines()]
    stage = 1 if lines and lines[0].startswith("Failed in ") else 0
    explanation = takewhile(
        lambda line: not line.startswith(("There are ", "During: ")), lines[stage:]
    )
    return quote(" ".join(filter(None, explanation)))


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Within the block, begin the messages of errors with the argument's name, if they lack it.

    Examples
    --------
    >>> with naming("eval_set"):
    ...     raise ValueError("qid must not be missing")
    Traceback (most recent call last):
    ...
    ValueError: eval_set: qid must not be missing
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        if "contains infinity" in str(error):  # of scikit-learn
            advice = "write NaN where a value is missing, and a finite number elsewhere"
            raise ValueError(f"{argument} must not hold infinity; {advice}.") from error
        if re.search(rf"\b{argument}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{argument}: {error}") from error


@contextmanager
def naming_label(label: str) -> Iterator[None]:
    """Name the label, of several, that an error is about; "" is the only one.

    Examples
    --------
    >>> with naming_label("bought"):
    ...     raise ValueError("y must be finite")
    Traceback (most recent call last):
    ...
    ValueError: label 'bought': y must be finite
    """
    try:
        yield
    except ValueError as error:
        if not label:
            raise
        raise ValueError(f"label {quote(label)}: {error}") from error
