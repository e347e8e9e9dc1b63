"""Texts of numbers: which columns of text hold numbers, as spreadsheets and programs write them."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

#: What stands for a missing value in files of other programs.
MISSING_TEXTS = (
    *("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NaN", "nan", "-NaN", "-nan"),
    *("None", "null", "NULL", "-", "--", "?", r"\N", "#DIV/0!"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
#: A number as Python reads it. The patterns mean the same to Python and to RE2, which Arrow has.
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
HEXADECIMAL = r"^\s*[-+]?0[xX][0-9a-fA-F]+\s*$"
_MONEY = "[$\u00a2-\u00a5\u0e3f\u20a0-\u20c0]"
#: Numbers with separators of thousands, decimal commas, %, a sign of money, a typographic minus, or
#: the parentheses by which accountants mark what is negative.
WRITTEN = (
    f"^\\s*\\(?\\s*[-+\u2212]?\\s*{_MONEY}?\\s*"
    "(\\d{1,3}([,._'\u2019\u00a0\u202f ]\\d{3})+([.,]\\d+)?|\\d+([.,]\\d+)?|[.,]\\d+)"
    f"([eE][-+\u2212]?\\d+)?\\s*[%\u2030]?\\s*{_MONEY}?\\s*\\)?\\s*$"
)
#: A column of text with a larger share of numbers is one of numbers with a wrong cell.
MOSTLY = 0.9
_WHOLE = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_CODE = re.compile(r"0\d+", re.ASCII)
_MEASURE = re.compile(
    r"\s*([-+]?\d[\d.,' ]*?)\s*([a-zA-Z\u00b5\u00b0]{1,4}[\u00b2\u00b3]?)\s*", re.ASCII
)
#: Units that may be mixed in a column, as 1.2 kg beside 800 g; any other has to be the only one.
_UNITS = frozenset(
    ["mg", "g", "kg", "t", "oz", "lb", "lbs", "mm", "cm", "m", "km", "in", "ft", "yd", "mi", "ml"]
).union(
    ["cl", "l", "gal", "s", "min", "h", "d", "kb", "mb", "gb", "tb", "w", "kw"],
)
_ORDINALS = ("st", "nd", "rd", "th")
#: Of this many texts or more, some are looked at.
_MOST = 1000
#: Fewer texts may well be categories: they are flags, or sizes.
FEW = 3


class NumberTexts(NamedTuple):
    """Numbers found among distinct texts.

    Attributes
    ----------
    example : str
        A text that is a number.
    other : str or None
        A text that is no number, if there is any; another example if the numbers have units.
    is_sure : bool
        Whether the texts are numbers beyond doubt; if not, they may be codes.
    has_unit : bool, default=False
        Whether the texts are numbers with units.
    """

    example: str
    other: str | None
    #: Whether the texts are numbers beyond doubt; if not, they may be codes, or have two meanings.
    is_sure: bool
    #: Whether the texts are numbers with a unit, of which ``other`` is another one.
    has_unit: bool = False


def numbers_among(texts: Sequence[str]) -> NumberTexts | None:
    r"""Return an example of the numbers among distinct texts; None where they are words or codes.

    Texts are surely numbers if almost all of them are, and at least one has a fraction, a
    separator, a sign or a unit. Whole numbers may be codes; with a leading 0 they surely are.

    Examples
    --------
    >>> numbers_among(["1,000", "250", r"\N"])
    NumberTexts(example='1,000', other='\\N', is_sure=True, has_unit=False)
    >>> numbers_among(["281", "77", "5"])
    NumberTexts(example='281', other=None, is_sure=False, has_unit=False)
    >>> numbers_among(["1,000 m", "250 m", "90 m"])
    NumberTexts(example='1,000 m', other='250 m', is_sure=False, has_unit=True)
    >>> numbers_among(["02139", "10001"]), numbers_among(["1.2.3", "red"])
    (None, None)
    """
    some = texts[:: len(texts) // _MOST + 1]
    values = [text for text in some if text.strip() not in MISSING_TEXTS]
    numbers = [text for text in values if is_number_text(text)]
    if any(_CODE.fullmatch(text.strip()) for text in numbers):
        return None
    not_numbers = {*some}.difference(numbers)
    other = min(not_numbers, key=str) if not_numbers else None
    if numbers and len(numbers) > MOSTLY * len(values):
        written = [text for text in numbers if not _WHOLE.fullmatch(text.strip())]
        if written:
            # The one that shows most of the notation.
            example = max(written, key=lambda text: len(re.sub(r"[\d.\s]", "", text)))
            return NumberTexts(example, other, is_sure=True)
    if 2 * len(numbers) >= len(values) and len(numbers) >= FEW:
        not_numbers = {text for text in values if text not in numbers}
        return NumberTexts(numbers[0], min(not_numbers, default=other), is_sure=False)
    measures = [text for text in values if number_of_measure(text)]
    if len(measures) >= FEW and len(measures) > MOSTLY * len(values):
        units = {unit_of(text) for text in measures}
        is_unit = len(units) == 1 and len(measures) == len(values)
        if (is_unit and units.isdisjoint(_ORDINALS)) or {unit.lower() for unit in units} <= _UNITS:
            return NumberTexts(measures[0], measures[1], is_sure=False, has_unit=True)
    return None


def number_of_measure(text: str) -> str | None:
    """Return the number in a text that is a number with a unit, as text; None for other texts.

    Examples
    --------
    >>> number_of_measure("1,000 m"), number_of_measure("1.2.3 m"), number_of_measure("5")
    ('1,000', None, None)
    """
    match = _MEASURE.fullmatch(text)
    return match[1] if match and is_number_text(match[1]) else None


def unit_of(text: str) -> str:
    """Return the unit of a text that is a number with a unit, see :func:`number_of_measure`.

    Examples
    --------
    >>> unit_of("1,000 m")
    'm'
    """
    match = _MEASURE.fullmatch(text)
    assert match is not None
    return match[2]


@cache  # few programs have texts: those that have none do not wait for patterns at import
def _numeric() -> list[re.Pattern[str]]:
    """Return the compiled patterns of numbers."""
    return [re.compile(text, re.ASCII) for text in (NUMBER, HEXADECIMAL, WRITTEN)]


def is_number_text(text: str) -> bool:
    """Tell whether a text is a number, in whatever notation.

    Examples
    --------
    >>> [is_number_text(text) for text in ("1,000", "5%", "(5)", "1.5kg", "1.2.3")]
    [True, True, True, False, False]
    """
    return any(pattern.search(text) for pattern in _numeric())
