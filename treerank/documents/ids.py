"""Ids: of queries, sessions and documents, as users pass them, and hashes of them.

The hash of an id is the same in every process, so model files can keep it.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import is_whole, quote
from treerank.documents.queries import QueryGroups, check_qid, objects


def check_ids(name: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """Return ids as an array of numbers or of text, or of objects of both; refuse missing ones.

    Examples
    --------
    >>> check_ids("session", ["a", "b"]), check_ids("session", [7.0, 2.0])
    (array(['a', 'b'], dtype='<U1'), array([7., 2.]))
    >>> check_ids("session", ["a", 7])
    array(['a', 7], dtype=object)
    """
    codes = check_qid(values, n_rows, name=name)
    are_tuples = isinstance(values, list | tuple) and tuple in set(map(type, values))
    ids = objects(values) if are_tuples else np.asarray(values)
    ids = np.asarray(ids.tolist()) if ids.dtype.kind == "T" else ids
    are_numbered = codes.dtype.kind == "i" and ids.dtype.kind in "SU"
    if are_numbered and len({*ids.tolist()}) <= codes.max(initial=-1):  # such as 1 and "1"
        raise ValueError(f"{name} must be ids that differ as text; got {quote(values)}.")
    if are_numbered and isinstance(values, list | tuple):
        are_texts = {isinstance(value, str | bytes) for value in values}
        return objects(values) if False in are_texts else ids  # 7 in [7, "a"] is no text
    if isinstance(values, list | tuple) and ids.dtype.kind == "f":
        is_rounded = any(is_whole(value) and abs(value) >= 2**53 for value in values)
        return np.asarray(values, dtype=object) if is_rounded else ids
    return ids


def joinable_ids(name: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """Return ids as :func:`check_ids` does, but dates of any type in UTC and in one unit.

    So they are equal to the same dates in other tables, also as values of Python. Dates with
    nanoseconds keep their unit.

    Examples
    --------
    >>> joinable_ids("query", np.array(["2026-05-01"], "datetime64[ns]"))
    array(['2026-05-01T00:00:00.000000'], dtype='datetime64[us]')
    """
    ids = check_ids(name, values, n_rows)
    if ids.dtype.kind == "O":
        are_dates = {issubclass(kind, date) for kind in set(map(type, ids))}
        if True not in are_dates:
            return ids
        ids = objects([_in_utc(value) for value in ids])
        if False in are_dates:
            return ids
    elif ids.dtype.kind != "M":
        return ids
    exact = ids.astype("datetime64[us]")
    return exact if (exact == ids).all() else ids


def _in_utc(value: Any) -> Any:
    """Return a date as a datetime without a zone, which NumPy has not; other values unchanged."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return datetime.combine(value, time()) if isinstance(value, date) else value


def date_text(value: Any) -> str:
    """Return a date of Python, NumPy or pandas as ISO text in UTC, without a time at midnight.

    So the texts of equal dates are equal, whatever their types and units. A time has seconds, as
    from ``isoformat``, and fractions as short as is exact.

    Examples
    --------
    >>> date_text(date(2026, 5, 1)), date_text(np.datetime64("2026-05-01T10:30:00.000000"))
    ('2026-05-01', '2026-05-01T10:30:00')
    """
    if isinstance(value, date):
        value = np.datetime64(_in_utc(value).isoformat())  # which has the nanoseconds of pandas
    text = str(np.datetime_as_string(value, unit="auto"))
    return f"{text}:00" if len(text) == len("2026-05-01T10:30") else text


def text_ids(name: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """Return ids as :func:`check_ids` does, but bytes as text; refuse bytes that are not UTF-8.

    Examples
    --------
    >>> text_ids("qid", [b"a", b"b"])
    array(['a', 'b'], dtype=object)
    """
    ids = check_ids(name, values, n_rows)
    if ids.dtype.kind not in "OS":
        return ids
    try:
        texts = [x.decode("utf-8") if isinstance(x, bytes) else x for x in ids]
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be text in UTF-8; got {quote(error.object)}.") from error
    return np.fromiter(texts, dtype=object)


def id_hashes(qid: ArrayLike, n_documents: int | None = None) -> np.ndarray:
    """Return a hash of 64 bits for each query id; the hashes of equal ids are equal.

    Ids are equal as in Python: ``1`` and ``1.0`` are, ``1`` and ``"1"`` are not. Two different ids
    have the same hash with a probability of 2^-64.

    Examples
    --------
    >>> first, second = id_hashes([3, 5]), id_hashes(np.array([5.0]))
    >>> first.dtype, bool(first[1] == second[0])
    (dtype('uint64'), True)
    """
    groups = QueryGroups.from_qid(qid, n_documents)
    return hashes_of(ids_of_queries(qid, groups))[groups.codes]


def ids_of_queries(qid: ArrayLike, groups: QueryGroups) -> list[Any]:
    """Return the id of each query, in the order of ``groups``, which were made from ``qid``.

    Examples
    --------
    >>> ids_of_queries(["b", 7, "b"], QueryGroups.from_qid(["b", 7, "b"]))
    [7, 'b']
    """
    ids: Any = qid
    if not isinstance(qid, np.ndarray):
        ids = np.empty(groups.n_documents, dtype=object)
        ids[:] = list(qid)  # type: ignore[arg-type]
    return list(groups.first_of(ids))


def hashes_of(ids: Iterable[Any]) -> np.ndarray:
    """Return a hash of 64 bits for each id.

    Examples
    --------
    >>> len(set(hashes_of([1, 1.0, "1"]).tolist()))
    2
    """
    # Text may hold a lone surrogate, such as of a file in Latin-1.
    texts = (text_of_id(value).encode(errors="surrogatepass") for value in ids)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def text_of_id(value: Any) -> str:
    """Return a text that is the same for equal ids alone; 1 and 1.0 are, 1 and "1" are not.

    Examples
    --------
    >>> text_of_id(7), text_of_id(7.0), text_of_id("7"), text_of_id((7, "a"))
    ('number 7', 'number 7', 'str 7', "tuple ['number 7', 'str a']")
    """
    kind = type(value)  # the usual kinds first: the checks below take longer than the hash
    if kind is str or kind is np.str_:
        return f"str {value}"
    if kind is int or kind is np.int64:
        return f"number {int(value)}"
    if isinstance(value, date | np.datetime64):
        return f"date {np.datetime64(_in_utc(value)).astype('datetime64[ns]')}"
    if isinstance(value, Real):
        is_whole = isinstance(value, int | np.integer) or float(value).is_integer()
        return f"number {int(value) if is_whole else float(value)}"  # type: ignore[call-overload]
    if isinstance(value, tuple):
        return f"tuple {[text_of_id(part) for part in value]}"
    return f"{kind.__name__.removesuffix('_')} {value}"
