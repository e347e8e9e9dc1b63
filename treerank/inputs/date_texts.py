"""Texts of dates: which columns of text hold dates or times, as common programs write them."""

import re
from collections.abc import Sequence

_CLOCK = r"([01]?\d|2[0-4]):[0-5]\d(:[0-6]\d([.,]\d+)?)?( ?[ap]\.?m\.?)?"
_ZONE = r"( ?(z|utc|gmt|[+-]\d\d(:?\d\d)?))?"
_DAY, _MONTH, _YEAR = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(1[89]|20|21)\d\d"
_WORD = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    rf"{_YEAR}(?P<a>[-/.]){_MONTH}(?P=a){_DAY}",  # 2026-05-01
    rf"{_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=t)",  # 20260501T120000
    rf"{_DAY}(?P<a>[-/.]){_MONTH}(?P=a){_YEAR}",  # 31.12.2026
    rf"{_MONTH}(?P<a>[-/.]){_DAY}(?P=a){_YEAR}",  # 12/31/2026
    rf"({_DAY}/{_MONTH}|{_MONTH}/{_DAY})/\d\d",  # 31/12/26; 1.2.34 may be a version
    rf"{_YEAR}[-/](0[1-9]|1[0-2]|w[0-5]\d(-[1-7])?|q[1-4])",  # 2026-05, 2026-W18, 2026-Q2
    rf"{_DAY}[ -]{_WORD},?[ -]({_YEAR}|\d\d)",  # 1 May 2026, 01-May-26
    rf"{_WORD} {_DAY},? {_YEAR}",  # May 1, 2026
    rf"{_WORD} {_YEAR}",  # May 2026
)
_DATE_OR_TIME = [
    re.compile(text, re.IGNORECASE)
    for text in (
        *(rf"(\w{{3,9}},? )?{date}([t ,]+(\d{{4}}(\d\d)?|{_CLOCK}))?{_ZONE}" for date in _DATES),
        rf"{_CLOCK}{_ZONE}",
    )
]
#: Of more texts than this, some are looked at.
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


def _is_date(text: str) -> bool:
    """Tell whether a text is a date, a time, or both."""
    stripped = text.strip()
    return stripped[:1].isalnum() and any(each.fullmatch(stripped) for each in _DATE_OR_TIME)
