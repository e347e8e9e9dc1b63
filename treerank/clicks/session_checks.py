"""Checks of logs: sessions of one query, positions 1, 2, ..., no document twice; and of counts."""

import numpy as np

from treerank.checks import check_column, shown
from treerank.inputs.grouping import QueryGroups


def check_clicks(click: object) -> np.ndarray:
    """Return clicks as truth values; refuse what is neither 0 nor 1.

    Examples
    --------
    >>> check_clicks([0, 2])
    Traceback (most recent call last):
    ...
    ValueError: click must be 0 or 1; got 2.0 in row 1.
    """
    click = check_column("click", click)  # type: ignore[arg-type]
    refuse_where((click != 0) & (click != 1), click, "click must be 0 or 1")
    return click == 1


def refuse_where(wrong: np.ndarray, values: np.ndarray, rule: str) -> None:
    """Refuse numbers that break a rule in some row; name the first of them.

    Examples
    --------
    >>> refuse_where(np.array([False, True]), np.array([1.0, -1.0]), "y must be at least 0")
    Traceback (most recent call last):
    ...
    ValueError: y must be at least 0; got -1.0 in row 1.
    """
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{rule}; got {float(values[row])!r} in row {row}.")


def check_counts(impressions: object, clicked: object) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of impressions and of clicks; refuse what cannot be.

    Examples
    --------
    >>> check_counts([3, 3], [1, 4])
    Traceback (most recent call last):
    ...
    ValueError: clicked must be a whole number from 0 to shown; got 4.0 of 3.0 in row 1.
    """
    of = check_column("shown", impressions)  # type: ignore[arg-type]
    clicks = check_column("clicked", clicked)  # type: ignore[arg-type]
    no_count = (of != np.floor(of)) | (of < 1)
    refuse_where(no_count, of, "shown must be a whole number of at least 1")
    wrong = (clicks != np.floor(clicks)) | (clicks < 0) | (clicks > of)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"clicked must be a whole number from 0 to shown; got {float(clicks[row])!r} of "
            f"{float(of[row])!r} in row {row}."
        )
    return of, clicks


def check_one_query(query: np.ndarray, groups: QueryGroups, session: np.ndarray) -> None:
    """Refuse a session of two queries.

    Examples
    --------
    >>> session = np.array(["s", "s"])
    >>> check_one_query(np.array(["a", "b"]), QueryGroups.from_qid(session), session)
    Traceback (most recent call last):
    ...
    ValueError: query must be the same in all rows of a session; got 'b' and another in session \
's'. If ids repeat from query to query, name both columns: session=('query', 'session').
    """
    wrong = query != groups.first_of(query)[groups.codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"query must be the same in all rows of a session; got {_named(query, row)} and "
            f"another in session {_named(session, row)}. If ids repeat from query to query, name "
            "both columns: session=('query', 'session')."
        )


def check_positions(position: np.ndarray, groups: QueryGroups, session: np.ndarray) -> None:
    """Refuse positions, sorted by session, that are not 1, 2, ... in each session.

    Examples
    --------
    >>> session = np.array(["s", "s"])
    >>> check_positions(np.array([1.0, 3.0]), QueryGroups.from_qid(session), session)
    Traceback (most recent call last):
    ...
    ValueError: position must be 1, 2, ... in each session; got [1.0, 3.0] in session 's'.
    """
    expected = 1 + np.arange(len(position)) - np.repeat(groups.indptr[:-1], groups.sizes)
    wrong = position != expected
    if wrong.any():
        s = int(np.searchsorted(groups.indptr, np.argmax(wrong), side="right")) - 1
        found = position[groups.indptr[s] : groups.indptr[s + 1]].tolist()
        raise ValueError(
            f"position must be 1, 2, ... in each session; got {shown(found)} in session "
            f"{_named(groups.first_of(session), s)}."
            + (" first_position=0 counts from 0." if found[0] == 0 else "")
        )


def check_documents(
    item: np.ndarray, groups: QueryGroups, document: np.ndarray, session: np.ndarray
) -> None:
    """Refuse a document that a session shows twice.

    Examples
    --------
    >>> session, document = np.array(["s", "s"]), np.array(["a", "a"])
    >>> check_documents(np.array([0, 0]), QueryGroups.from_qid(session), document, session)
    Traceback (most recent call last):
    ...
    ValueError: document must be at one position of a session; got 'a' twice in session 's'. \
cut_repeats=True ends sessions there.
    """
    twice = _repeats(item, groups)
    if len(twice):
        row = twice[0]
        raise ValueError(
            f"document must be at one position of a session; got {_named(document, row)} "
            f"twice in session {_named(session, row)}. cut_repeats=True ends sessions there."
        )


def before_repeats(item: np.ndarray, groups: QueryGroups, position: np.ndarray) -> np.ndarray:
    """Tell which rows stand above the first document that its session has shown already.

    Examples
    --------
    >>> position = np.array([1.0, 2.0, 3.0, 4.0])
    >>> before_repeats(np.array([7, 8, 7, 9]), QueryGroups.from_qid(None, 4), position)
    array([ True,  True, False, False])
    """
    end = np.full(groups.n_queries, np.inf)
    rows = _repeats(item, groups, position)
    np.minimum.at(end, groups.codes[rows], position[rows])
    return np.asarray(position < end[groups.codes])


def _repeats(item, groups, position=None):
    """Return rows of items that rows of their session hold, too, all but the first of them."""
    keys = (item, groups.codes) if position is None else (position, item, groups.codes)
    order = np.lexsort(keys)
    twice = (np.diff(groups.codes[order]) == 0) & (np.diff(item[order]) == 0)
    return order[1:][twice]


def _named(ids, row):
    """Return the text of an id for a message."""
    return shown(ids[row : row + 1].tolist()[0])
