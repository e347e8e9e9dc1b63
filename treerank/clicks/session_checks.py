"""Checks of click logs and counts: one query, unique positions and documents in a session."""

import numpy as np

from treerank.checks import check_column, quote, refuse_where
from treerank.documents.positions import LAST_POSITION
from treerank.documents.queries import QueryGroups


def check_clicks(click: object, n_rows: int | None = None) -> np.ndarray:
    """Return clicks as booleans; they must be 0 or 1."""
    click = check_column("click", click, n_rows)  # type: ignore[arg-type]
    refuse_where((click != 0) & (click != 1), click, "click must be 0 or 1")
    return click == 1


def check_impressions(impressions: object, clicked: object) -> tuple[np.ndarray, np.ndarray]:
    """Return checked numbers of impressions and of clicks, two arrays.

    Refuses numbers that are not whole, fewer than 1 impression, and more clicks than impressions.
    """
    n_shown = check_column("shown", impressions)  # type: ignore[arg-type]
    clicks = check_column("clicked", clicked)  # type: ignore[arg-type]
    no_count = (n_shown != np.floor(n_shown)) | (n_shown < 1)
    refuse_where(no_count, n_shown, "shown must be a whole number of at least 1")
    wrong = (clicks != np.floor(clicks)) | (clicks < 0) | (clicks > n_shown)
    refuse_where(wrong, clicks, "clicked must be a whole number from 0 to shown")
    return n_shown, clicks


def check_one_query(query: np.ndarray, groups: QueryGroups, session: np.ndarray) -> None:
    """Refuse rows of one session, by ``groups``, with two queries."""
    wrong = query != groups.first_of(query)[groups.codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"query must be the same in all rows of a session; got {_named(query, row)} and "
            f"another in session {_named(session, row)}. If ids repeat from query to query, name "
            "both columns: session=('query', 'session')."
        )


def check_log_positions(position: np.ndarray, first_position: int) -> None:
    """Refuse positions that are not whole numbers from 1 to ``LAST_POSITION``.

    ``first_position`` is the first position in the user's table, for the message.
    """
    wrong = (position != np.floor(position)) | (position < 1) | (position > LAST_POSITION)
    last = LAST_POSITION + first_position - 1
    rule = f"position must be a whole number from {first_position} to {last}"
    advice = " first_position=0 counts from 0." if first_position and position.min() == 0 else ""
    refuse_where(wrong, position + first_position - 1, rule, advice)


def check_no_position_twice(
    position: np.ndarray, groups: QueryGroups, session: np.ndarray, first_position: int
) -> None:
    """Refuse a session with two documents at one position."""
    order = np.lexsort((position, groups.codes))
    twice = (np.diff(groups.codes[order]) == 0) & (np.diff(position[order]) == 0)
    if twice.any():
        row = order[1:][twice][0]
        number = position[row] + first_position - 1
        raise ValueError(
            f"position must have one document in a session; got {number} twice in session "
            f"{_named(session, row)}. If positions begin anew on each page, or sessions in each "
            "query, name both columns, as in session=('session', 'page')."
        )


def check_no_document_twice(
    item: np.ndarray, groups: QueryGroups, document: np.ndarray, session: np.ndarray
) -> None:
    """Refuse a session that shows a document twice."""
    order = np.lexsort((item, groups.codes))
    twice = (np.diff(groups.codes[order]) == 0) & (np.diff(item[order]) == 0)
    if twice.any():
        row = order[1:][twice][0]
        raise ValueError(
            f"document must be at one position of a session; got {_named(document, row)} "
            f"twice in session {_named(session, row)}. Drop its later rows."
        )


def _named(ids, row):
    """Return the text of an id for a message."""
    return quote(ids[row : row + 1].tolist()[0])
