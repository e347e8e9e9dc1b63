"""Click log: impressions of documents at positions of sessions, and their clicks.

Impressions are sorted by position and then by session; sessions are sorted by length, longest
first. A session need not show a document at each position: there may be ads, other pages, and
results that the user never scrolled to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from treerank.checks import (
    check_choice,
    check_column,
    check_rows,
    quote,
    refuse_masked,
    refuse_other_order,
)
from treerank.clicks.counts import ClickCounts
from treerank.clicks.items import Items
from treerank.clicks.session_checks import (
    check_clicks,
    check_log_positions,
    check_no_document_twice,
    check_no_position_twice,
    check_one_query,
)
from treerank.clicks.tables import named_columns
from treerank.display.results import Shown
from treerank.documents.ids import check_ids, joinable_ids
from treerank.documents.queries import QueryGroups
from treerank.parameters import check_arguments

#: What a log needs, in the order of the arguments of ``ClickLog.from_columns``.
COLUMNS = ("session", "query", "document", "position", "click")


def _joined(columns: Sequence[Any]) -> np.ndarray:
    """Return a code for each row, equal for rows that are equal in all columns."""
    codes = [QueryGroups.from_qid(check_ids("session", column)).codes for column in columns]
    return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog(Shown):
    """Sessions of shown documents and their clicks; made by :meth:`from_table`.

    A session is one list of results that a user saw, for one query, with one document per
    position, counted from 1. Positions without a document, such as ad slots, and pages that the
    user did not see, are left out. An item is a pair of a query and a document. Include sessions
    without clicks: they show how often nothing was clicked.

    Attributes
    ----------
    items : Items
        Query and document of each item.
    sessions : ndarray of shape (n_sessions,)
        Session ids, longest sessions first.
    session : ndarray of shape (n_impressions,)
        Number of the session of each impression.
    position : ndarray of shape (n_impressions,)
        Position of each impression, from 1, ascending.
    item : ndarray of shape (n_impressions,)
        Item of each impression: those at position 1 of all sessions, then those at position 2.
    clicked : ndarray of bool of shape (n_impressions,)
        Whether it was clicked.
    extra : dict from str to ndarray of shape (n_impressions,)
        Further columns, such as the time spent on the document.

    Examples
    --------
    >>> log = ClickLog.from_columns(
    ...     session=["s", "s", "t", "t"],
    ...     query=["shoes", "shoes", "shoes", "shoes"],
    ...     document=["a", "b", "b", "a"],
    ...     position=[1, 2, 1, 2],
    ...     click=[0, 1, 1, 0],
    ... )
    >>> log
    ClickLog(n_sessions=2, n_items=2, n_positions=2, n_clicks=2)
    >>> log.items.document[log.item], log.clicked
    (array(['a', 'b', 'b', 'a'], dtype='<U1'), array([False,  True,  True, False]))
    """

    items: Items
    sessions: np.ndarray
    session: np.ndarray
    position: np.ndarray
    item: np.ndarray
    clicked: np.ndarray
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        session: str | Sequence[str] = "session",
        query: str = "query",
        document: str = "document",
        position: str = "position",
        click: str = "click",
        extra: Sequence[str] = (),
        first_position: Literal[0, 1] = 1,
    ) -> Self:
        """Read a log from a table with a row for each shown document.

        Parameters
        ----------
        table : path, data frame or mapping from names to columns
            A Parquet or CSV file, a folder of Parquet files, or a data frame of pandas, polars or
            Arrow. Of a log that is larger than memory, a database makes
            :meth:`ClickCounts <treerank.clicks.counts.ClickCounts.from_table>`.
        session : str or sequence of str, default="session"
            Name of the column of session ids. If ids repeat from query to query, the names of
            columns that together identify a session, as in ``("query", "session")``.
        query, document, position, click : str
            Names of the columns. Ids that are dates are kept in UTC.
        extra : sequence of str, default=()
            Names of further columns to keep.
        first_position : {0, 1}, default=1
            Number of the first position in the table.

        Raises
        ------
        ValueError
            If a position is no whole number from 1 to 1000, if a session shows a document or has a
            position twice, or has two queries, or if a click is neither 0 nor 1.

        Examples
        --------
        >>> import polars as pl
        >>> shown = {"session": [7, 7], "query": ["shoes"] * 2, "document": ["a", "b"]}
        >>> table = pl.DataFrame(shown | {"position": [1, 2], "click": [0, 1], "seconds": [0, 5]})
        >>> log = ClickLog.from_table(table, extra=["seconds"])
        >>> log
        ClickLog(n_sessions=1, n_items=2, n_positions=2, n_clicks=1)
        >>> log.with_clicks(log.extra["seconds"] > 30).clicked  # only long visits count
        array([False, False])
        """
        ids = [session] if isinstance(session, str) else list(session)
        names = {"session" if i == 0 else f"session[{i}]": name for i, name in enumerate(ids)}
        names |= dict(zip(COLUMNS[1:], (query, document, position, click), strict=True))
        names |= {f"extra[{i}]": name for i, name in enumerate(extra)}
        columns = named_columns(table, names, [*ids, query, document])
        further = columns[len(ids) :]
        extra_columns = dict(zip(extra, further[len(COLUMNS) - 1 :], strict=True))
        session_ids = columns[0] if len(ids) == 1 else _joined(columns[: len(ids)])
        needed = session_ids, *further[: len(COLUMNS) - 1]
        return cls.from_columns(*needed, extra=extra_columns, first_position=first_position)

    @classmethod
    def from_columns(
        cls,
        session: Any,
        query: Any,
        document: Any,
        position: Any,
        click: Any,
        *,
        extra: Mapping[str, Any] | None = None,
        first_position: Literal[0, 1] = 1,
    ) -> Self:
        """Make a log from columns with an entry for each shown document; see :meth:`from_table`."""
        by_row = dict(zip(COLUMNS, (session, query, document, position, click), strict=True))
        refuse_other_order(by_row | {"extra": extra or {}})
        session = check_ids("session", session)
        query, document = joinable_ids("query", query), joinable_ids("document", document)
        check_choice("first_position", first_position, (0, 1))
        position = check_column("position", position) + (1 - first_position)
        check_log_positions(position, first_position)
        clicked = check_clicks(click)
        for name, column in (extra or {}).items():
            refuse_masked(name, column)
        further = {name: np.asarray(column) for name, column in (extra or {}).items()}
        lengths = [*map(len, (session, query, document, position, clicked, *further.values()))]
        if min(lengths) < max(lengths):
            names = ", ".join([*COLUMNS, *further])
            raise ValueError(f"{names} must have equally many entries; got {quote(lengths)}.")
        groups = QueryGroups.from_qid(session)
        check_one_query(query, groups, session)
        position = position.astype(np.int64)
        check_no_position_twice(position, groups, session, first_position)
        items, item = Items.of_rows(query, document)
        check_no_document_twice(item, groups, document, session)
        by_length = np.argsort(-groups.sizes, kind="stable")
        number = np.argsort(by_length)[groups.codes]
        order = np.lexsort((number, position))
        return cls(
            items,
            groups.first_of(session)[by_length],
            number[order],
            position[order],
            item[order].astype(np.int32),
            clicked[order],
            {name: column[order] for name, column in further.items()},
        )

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self.sessions)

    @cached_property
    def n_at(self) -> np.ndarray:
        """Number of sessions that show a document at each position, up to the last one."""
        return np.bincount(self.position)[1:]

    @property
    def n_positions(self) -> int:
        """Largest position of any impression."""
        return int(self.position[-1])

    @cached_property
    def query(self) -> np.ndarray:
        """Query of each session, for example to split sessions by query."""
        first = np.unique(self.session, return_index=True)[1]
        return self.items.query[self.item[first]]

    def counts(self) -> ClickCounts:
        """Return the impressions and clicks of each item at each position.

        They are sufficient statistics of the position-based model.
        """
        impressions = self.item, self.position - 1, self.clicked
        return ClickCounts.of_impressions(*impressions, self.items, self.n_positions)

    def with_clicks(self, clicked: np.ndarray) -> Self:
        """Return the same sessions with other clicks."""
        return replace(self, clicked=check_clicks(clicked, len(self.item)))

    @check_arguments
    def taking(self, sessions: ArrayLike) -> Self:
        """Return sessions by number, which may repeat, as in a bootstrap, or by a mask.

        Their order is by number. All items stay, so items have the same numbers as in the whole
        log.
        """
        chosen = np.sort(check_rows("sessions", sessions, len(self), "session"))  # longest first
        if len(chosen) == 0:
            raise ValueError("sessions must choose a session of the log; got none.")
        by_session = np.argsort(self.session, kind="stable")
        sizes = np.bincount(self.session, minlength=len(self))
        n_rows = sizes[chosen]  # of each copy of a session
        number = np.repeat(np.arange(len(chosen)), n_rows)
        start = np.repeat((np.cumsum(sizes) - sizes)[chosen] - (np.cumsum(n_rows) - n_rows), n_rows)
        rows = by_session[start + np.arange(len(number))]
        order = np.lexsort((number, self.position[rows]))
        rows = rows[order]
        return replace(
            self,
            sessions=self.sessions[chosen],
            session=number[order],
            position=self.position[rows],
            item=self.item[rows],
            clicked=self.clicked[rows],
            extra={name: column[rows] for name, column in self.extra.items()},
        )

    def _shown(self) -> str:
        sizes = f"n_sessions={len(self)}, n_items={len(self.items)}, n_positions={self.n_positions}"
        return f"ClickLog({sizes}, n_clicks={int(self.clicked.sum())})"
