"""Texts of dates: which columns of text hold dates or times, as common programs write them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np

from treerank.checks import quote

_CLOCK = r"([01]?\d|2[0-4]):[0-5]\d(:[0-6]\d([.,]\d+)?)?( ?[ap]\.?m\.?)?"
_ZONE = r"( ?(z|utc|gmt|[+-]\d\d(:?\d\d)?))?"
_DAY, _MONTH, _YEAR = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(1[89]|20|21)\d\d"
_WORD = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    rf"{_YEAR}(?P<a>[-/.]){_MONTH}(?P=a){_DAY}",  # 2026-05-01
    rf"{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])",  # 20260501, 20260501T120000
    rf"{_DAY}(?P<a>[-/.]){_MONTH}(?P=a){_YEAR}",  # 31.12.2026
    rf"{_MONTH}(?P<a>[-/.]){_DAY}(?P=a){_YEAR}",  # 12/31/2026
    rf"({_DAY}/{_MONTH}|{_MONTH}/{_DAY})/\d\d",  # 31/12/26; 1.2.34 may be a version
    rf"{_YEAR}[-/](0[1-9]|1[0-2]|w[0-5]\d(-[1-7])?|q[1-4])",  # 2026-05, 2026-W18, 2026-Q2
    rf"{_DAY}[ -]{_WORD},?[ -]({_YEAR}|\d\d)",  # 1 May 2026, 01-May-26
    rf"{_WORD} {_DAY},? {_YEAR}",  # May 1, 2026
    rf"{_WORD} {_YEAR}",  # May 2026
)
_DATE_OR_TIME = (
    *(rf"(\w{{3,9}},? )?{date}([t ,]+(\d{{4}}(\d\d)?|{_CLOCK}))?{_ZONE}" for date in _DATES),
    rf"{_CLOCK}{_ZONE}",
)
#: Of this many texts or more, some are looked at.
_MOST = 1000


def first_date(texts: Sequence[str]) -> str | None:
    """Return the first text of a date or a time if most of the texts are such; else ``None``.

    Examples
    --------
    >>> first_date(["2026-05-01", "2026-05-02 12:30:00+02:00", "unknown"])
    '2026-05-01'
    >>> first_date(["1.2.34", "16:9", "2026"])
    """
    some = texts[:: len(texts) // _MOST + 1]
    dates = [text for text in some if _is_date(text)]
    return dates[0] if 2 * len(dates) > len(some) else None


def checked_times(name: str, times: Any) -> np.ndarray:
    """Return times as an array that sorts; ISO texts become dates, in UTC if they name zones.

    Other texts are refused: ``"9"`` is after ``"10"``, and ``"02/01/2026"`` after
    ``"01/12/2026"``.

    Examples
    --------
    >>> checked_times("time", ["2026-11-27T00:30+02:00"]).item()
    datetime.datetime(2026, 11, 26, 22, 30)
    """
    times = np.asarray(times)
    times = np.array(times.tolist()) if times.dtype == object else times  # numbers are numbers
    if times.dtype.kind not in "SUT":
        if times.dtype == object:
            _refuse_some_zones(name, [time for time in times.flat if isinstance(time, datetime)])
        return times
    texts, row = np.unique(times.astype(str), return_inverse=True)
    dates = [_date_of(name, text) for text in texts.tolist()]
    _refuse_some_zones(name, dates)
    return np.array([date.replace(tzinfo=None) for date in dates], "datetime64[us]")[row]


def _refuse_some_zones(name: str, dates: Sequence[datetime]) -> None:
    """Refuse dates of which some have a zone and others have none, so that they do not sort."""
    if len({date.tzinfo is None for date in dates}) == 2:
        raise ValueError(f"{name} must all have a zone, or none; got both.")


def _date_of(name: str, text: str) -> datetime:
    """Return the date of an ISO text, in UTC if it names a zone; a month is its first day."""
    first_day = f"{text}-01" if re.fullmatch(r"\d{4}-\d\d", text) else text
    try:
        date = datetime.fromisoformat(first_day.replace(" UTC", "Z"))
        return date.astimezone(UTC) if date.tzinfo else date
    except (OverflowError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers or dates, or texts like 2026-11-27 or 2026-11-27T10:00:00Z; "
            f"got {quote(text)}. Of other texts, make dates by pd.to_datetime(...), with "
            "dayfirst=True if the day comes first, or numbers by np.asarray(..., dtype=float)."
        ) from error


@cache  # few programs have texts: those that have none do not wait for patterns at import
def _patterns() -> list[re.Pattern[str]]:
    """Return the compiled patterns of a date or a time."""
    return [re.compile(text, re.IGNORECASE) for text in _DATE_OR_TIME]


def _is_date(text: str) -> bool:
    """Tell whether a text is a date, a time, or both."""
    stripped = text.strip()
    return stripped[:1].isalnum() and any(pattern.fullmatch(stripped) for pattern in _patterns())
