"""Conversions: the code that turns a column of another type into numbers, for error messages."""

import re
from collections.abc import Sequence
from datetime import date, time, timedelta
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np

from treerank.checks import quote
from treerank.documents.date_texts import first_date
from treerank.documents.number_texts import (
    MISSING_TEXTS,
    is_number_text,
    number_of_measure,
    unit_of,
)
from treerank.documents.queries import is_missing
from treerank.spelling import has_spelling

_DATES, _TIMES, _DURATIONS = "days since 1970", "hours", "days"
#: What makes numbers of a column in pandas and in polars, by what the numbers are.
_PANDAS = {
    _DATES: "(pd.to_datetime({}, utc=True) - pd.Timestamp(0, tz='UTC')) / pd.Timedelta('1D')",
    _TIMES: "pd.to_timedelta({}.astype(str), errors='coerce') / pd.Timedelta('1h')",
    _DURATIONS: "pd.to_timedelta({}) / pd.Timedelta('1D')",
}
_POLARS = {
    _DATES: "{}.dt.epoch('s') / 86400",
    _TIMES: "{}.cast(pl.Int64) / 3.6e12",
    _DURATIONS: "{}.dt.total_seconds() / 86400",
}
#: The same for ISO texts of dates.
_PANDAS_DATE_TEXTS = _PANDAS[_DATES].replace("{}", "{}, format='ISO8601', errors='coerce'")
_POLARS_DATE_TEXTS = "{}.cast(pl.String).str.to_datetime(time_zone='UTC').dt.epoch('s') / 86400"
#: The same for the types that only pandas has, by how their names begin.
_OF_PANDAS = {
    "period": (_DATES, "({}.dt.to_timestamp() - pd.Timestamp(0)) / pd.Timedelta('1D')"),
    "interval": ("their left ends", "{}.map(lambda interval: interval.left).astype(float)"),
    "Sparse": ("a dense column", "{}.sparse.to_dense()"),
}
_OF_TYPES = {nw.Datetime: _DATES, nw.Date: _DATES, nw.Time: _TIMES, nw.Duration: _DURATIONS}
_OF_OBJECTS = {
    (date, np.datetime64): _DATES,  # also datetimes, also of pandas
    (time,): _TIMES,
    (timedelta, np.timedelta64): _DURATIONS,
}


def shown_type(column: Any) -> str:
    """Return the type of a column for messages; for objects, with an example.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"month": pd.PeriodIndex(["2026-05"], freq="M"), "size": [[1, 2]]})
    >>> [shown_type(column) for column in nw.from_native(X).iter_columns()]
    ['period[M]', 'objects such as [1, 2]']
    """
    if column.dtype == nw.Object:
        return f"objects such as {first_value(column)!r:.80}"
    native = column.to_native()
    kind = getattr(native, "dtype", None) or getattr(native, "type", column.dtype)
    return str(kind if column.dtype == nw.Unknown else column.dtype)


def conversion_of(column: Any) -> str:
    """Return advice, with code, for a column of a data frame that is not numeric.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"wait": pd.to_timedelta(["36h"])})
    >>> conversion_of(nw.from_native(X)["wait"])
    "Leave it out, or encode it as days: X['wait'] = pd.to_timedelta(X['wait']) / \
pd.Timedelta('1D')."
    """
    example, native = first_value(column), str(getattr(column.to_native(), "dtype", ""))
    if isinstance(example, str):
        texts = {value for value in column.to_list() if isinstance(value, str)}
        return text_conversion(column, sorted(texts))
    kind = next((kind for dtype, kind in _OF_TYPES.items() if column.dtype == dtype), None)
    if column.dtype == nw.Object:
        kinds = (kind for types, kind in _OF_OBJECTS.items() if isinstance(example, types))
        kind = next(kinds, None)
    template: str | None = None
    if _by_pandas(column):
        matches = (entry for prefix, entry in _OF_PANDAS.items() if native.startswith(prefix))
        kind, template = next(matches, (kind, _PANDAS.get(kind or "")))
    elif column.implementation.is_polars():
        template = _POLARS.get(kind or "")
        if column.dtype == nw.Date:
            template = "{}.dt.epoch('d')"
    advice = f"Leave it out, or encode it as {kind or 'numbers'}"
    return f"{advice}: {_assigned(column, template)}." if template else f"{advice}."


def text_conversion(column: Any, texts: Sequence[str]) -> str:
    """Return advice, with code, for a column of numbers as text, or of text and numbers.

    ``texts`` are the distinct texts of the column.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"price": ["1,000", "5"]})
    >>> text_conversion(nw.from_native(X)["price"], ["1,000", "5"])
    "Make numbers of it: X['price'] = pd.to_numeric(X['price'].str.replace(',', ''))."
    """
    numbers = _conversion_to_numbers(column, texts)
    if numbers is None and _by_pandas(column):
        text = _assigned(column, "{}.astype('string')")
        return f"Make it text, and so categories: {text}."
    return numbers or "Make it numbers, or text, and so categories."


def number_advice(column: Any) -> str:
    r"""Return advice, with code, for a column of text or categories where ``fit`` had numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"price": ["1,000", "5"], "brand": ["ACME", "Bolt"]})
    >>> print(*map(number_advice, nw.from_native(X).iter_columns()), sep="\n")
    Make numbers of it: X['price'] = pd.to_numeric(X['price'].str.replace(',', '')).
    Write numbers, as in fit, or fit a new model, to which the text is a category.
    """
    texts = sorted({str(value) for value in column.to_list() if not is_missing(value)})
    if not isinstance(first_value(column), str):
        return f"Make numbers of it: {_assigned(column, '{}.astype(float)')}."
    date_text = first_date(texts)
    if date_text is not None:
        advice = "Make the numbers of it that fit had"
        if not re.match(r"\d{4}-\d\d-\d\d", date_text):
            return f"{advice}, such as days since a date."
        template = _POLARS_DATE_TEXTS if column.implementation.is_polars() else _PANDAS_DATE_TEXTS
        return f"{advice}, such as {_DATES}: {_assigned(column, template)}."
    other = "Write numbers, as in fit, or fit a new model, to which the text is a category."
    return _conversion_to_numbers(column, texts) or other


def code_advice(column: Any) -> str:
    """Return advice, with code, for a column of categories that trees of another program may split.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": pd.Categorical([3, 7])})
    >>> code_advice(nw.from_native(X)["size"])
    "If it was a category in training, write its codes: X['size'] = X['size'].astype(\
pd.CategoricalDtype(kinds)).cat.codes.replace(-1, np.nan), where kinds are the categories of the \
training data in their order. The model file does not tell which categories this column has."
    """
    template = "{}.astype(pd.CategoricalDtype(kinds)).cat.codes.replace(-1, np.nan)"
    if column.implementation.is_polars():
        template = "{}.cast(pl.Enum(kinds), strict=False).to_physical()"
    return (
        f"If it was a category in training, write its codes: {_assigned(column, template)}, where "
        "kinds are the categories of the training data in their order. The model file does not "
        "tell which categories this column has."
    )


def category_conversion(column: Any, levels: Sequence[Any]) -> str | None:
    """Return advice, with code, for a column of another kind than the categories of ``fit``.

    ``levels`` are the categories of ``fit``. None if no code is known to make them of the values.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": pd.Categorical([36.0, None]), "color": [b"red", b"blue"]})
    >>> category_conversion(nw.from_native(X)["size"], ["36", "37"])
    "Write X['size'] = X['size'].astype('Int64').astype('str')."
    >>> category_conversion(nw.from_native(X)["color"], ["blue", "red"])
    "Write X['color'] = X['color'].str.decode('utf-8')."
    """
    template = _category_template(column, {*levels})
    # The shell runs no code, and polars casts no Python objects.
    if template is None or not has_spelling("X"):
        return None
    if column.implementation.is_polars() and column.dtype == nw.Object:
        return None
    return f"Write {_assigned(column, template)}."


def _category_template(column: Any, levels: set[Any]) -> str | None:
    """Return the code that makes categories of ``fit`` of a column of another kind, or None.

    {} in it is the column.
    """
    is_polars = column.implementation.is_polars()
    values = {value for value in column.to_list() if not is_missing(value)}
    are_numbers = all(isinstance(value, Real) for value in values)
    if not all(isinstance(level, str) for level in levels):  # as in frames of pandas alone
        texts = (value for value in values if isinstance(value, str) and is_number_text(value))
        if any(text.strip() in map(str, levels) for text in texts):
            return "pd.to_numeric({}, errors='coerce').astype('category')"
        return "{}.astype('category')" if are_numbers else None
    if all(isinstance(value, bytes) for value in values):
        return "{}.cast(pl.String)" if is_polars else "{}.str.decode('utf-8')"
    to_text = "{}.cast(pl.String)" if is_polars else "{}.astype('str')"
    if all(isinstance(value, Integral) for value in column.to_list()):
        return to_text
    # In pandas, whole numbers beside missing values are floats, whose text is 36.0.
    are_whole = are_numbers and all(float(value).is_integer() for value in values)
    if are_whole and any(str(int(value)) in levels for value in values):
        return to_text.replace("{}", "{}.cast(pl.Int64)" if is_polars else "{}.astype('Int64')")
    return to_text if are_numbers and any(str(value) in levels for value in values) else None


def _conversion_to_numbers(column: Any, texts: Sequence[str]) -> str | None:
    """Return advice for a column of numbers as text; None if fewer than half of them are."""
    is_pandas, is_polars = _by_pandas(column), column.implementation.is_polars()
    values = [text for text in texts if text.strip() not in MISSING_TEXTS]
    numbers = [text for text in values if is_number_text(text)]
    measures = {text: number for text in values if (number := number_of_measure(text))}
    if 2 * (len(numbers) + len(measures)) >= len(values) > 2 * len(numbers):
        return _measure_conversion(column, measures, are_all=len(measures) == len(texts))
    if 2 * len(numbers) < len(values):
        return None
    if not (is_pandas or is_polars):
        return "Make numbers of it."
    return _number_conversion(column, _replacements(numbers), len(numbers) == len(texts))


def _number_conversion(column: Any, replacements: Sequence[tuple[str, str]], are_all: bool) -> str:
    """Return advice to make numbers of texts; ``replacements`` are pairs (old, new).

    ``are_all`` tells whether all texts are then numbers, so that none becomes a missing value.
    """
    cells = "{}.astype('string')" if column.dtype == nw.Object else "{}"
    if column.implementation.is_polars() and column.dtype != nw.String:
        cells = "{}.cast(pl.String)"
    for old, new in replacements:
        if _by_pandas(column):
            flag = ", regex=True" if len(old) > 1 else ""
            cells += f".str.replace({quote(old)}, {quote(new)}{flag})"
        else:
            cells += f".str.replace_all({quote(old)}, {quote(new)})"
    if _by_pandas(column):
        written = f"pd.to_numeric({cells}{'' if are_all else ', errors=' + repr('coerce')})"
    else:
        written = f"{cells}.cast(pl.Float64{'' if are_all else ', strict=False'})"
    return f"Make numbers of it: {_assigned(column, written)}."


def _measure_conversion(column: Any, measures: dict[str, str], *, are_all: bool) -> str:
    """Return advice for a column of numbers with units; ``measures`` maps texts to their numbers.

    ``are_all`` tells whether all texts are such numbers.
    """
    units = {unit_of(text) for text in measures}
    if len(units) > 1:
        return f"Make numbers of one unit of it; got the units {', '.join(sorted(units))}."
    if not (_by_pandas(column) or column.implementation.is_polars()):
        return "Make numbers of it."
    removed = [("[^0-9]+$", ""), *_replacements([*measures.values()])]
    return _number_conversion(column, removed, are_all)


def _replacements(numbers: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs (old, new) to replace, in order, so that Python reads the numbers."""
    together = "\n".join(numbers)
    replacements = list[tuple[str, str]]()
    # 1.234,5 and 1,5 have decimal commas, 1,234 and 1,234.5 have not.
    if re.search(r"\d,(\d{1,2}|\d{4,})(?!\d)(?!,)|\.\d{3},\d", together):
        pointed = [text for text in numbers if "." in text]
        are_thousands = all(re.search(r"\.\d{3}(?!\d)", text) for text in pointed)
        replacements += [("[.]", "")] * (pointed != [] and are_thousands) + [(",", ".")]
    if "(" in together:
        replacements.append(("[(]", "-"))
    if "\u2212" in together:
        replacements.append(("\u2212", "-"))
    ignored = {*together}.difference(
        "0123456789+-.eExX(\u2212\n", "".join(old for old, _ in replacements)
    )
    if ignored:
        signs = "".join(sorted(ignored))
        replacements.append((signs if len(signs) == 1 and signs not in "$)" else f"[{signs}]", ""))
    return replacements


def _assigned(column: Any, written: str) -> str:
    """Return the code that assigns an expression to a column of X; {} in it is the column."""
    if column.implementation.is_polars():
        return f"X = X.with_columns({written.format(f'pl.col({quote(column.name)})')})"
    to_pandas = "" if column.implementation.is_pandas_like() else "X = X.to_pandas(); "
    return f"{to_pandas}X[{quote(column.name)}] = {written.format(f'X[{quote(column.name)}]')}"


def _by_pandas(column: Any) -> bool:
    """Tell whether pandas makes numbers of a column; tables of Arrow become frames of it."""
    return bool(column.implementation.is_pandas_like() or column.implementation.is_pyarrow())


def first_value(column: Any) -> Any:
    """Return the first text of a column, or its first value if it has no text.

    Examples
    --------
    >>> import pandas as pd
    >>> first_value(nw.from_native(pd.Series([None, 2.5, "a"], dtype=object), allow_series=True))
    'a'
    """
    values = [value for value in column.to_list() if not is_missing(value)]
    return next((value for value in values if isinstance(value, str)), next(iter(values), None))
