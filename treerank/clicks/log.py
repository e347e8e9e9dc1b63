"""Click log: which documents were shown at which positions of which session, and the clicks.

Impressions are sorted by position, and sessions by their length, longest first. So the impressions
of a position are one run of rows, and they belong to the first ``n_at[position - 1]`` sessions.
Kernels walk over positions and treat all sessions at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from treerank.checks import check_column
from treerank.clicks.counts import ClickCounts
from treerank.clicks.distinct_sessions import Sessions, distinct
from treerank.clicks.items import Items
from treerank.clicks.session_checks import (
    check_clicks,
    check_documents,
    check_one_query,
    check_positions,
)
from treerank.clicks.tables import named_columns
from treerank.inputs.documents import check_ids
from treerank.inputs.grouping import QueryGroups
from treerank.lazy import load_object
from treerank.parameters import Count, check_arguments

#: What a log needs, in the order of the arguments of ``ClickLog.from_columns``.
COLUMNS = ("session", "query", "document", "position", "click")
#: Impressions that :meth:`ClickLog.counts` sums at once.
_SUMMED_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Sessions of shown documents and their clicks; made by :meth:`from_table`.

    A session is one list of results that a user saw. It has one query, and its documents stand at
    the positions 1, 2, ... An item is a document of a query. Sessions without a click count: they
    tell how often nothing was clicked.

    Attributes
    ----------
    items : Items
        Query and document of each item.
    sessions : ndarray of shape (n_entries,)
        Session ids, those of the longest sessions first. Those of a log of distinct sessions are
        numbers.
    n_at : ndarray of shape (n_positions,)
        Number of entries that show a document at each position.
    item : ndarray of shape (n_impressions,)
        Item of each impression: those at position 1 of all sessions, then those at position 2.
    clicked : ndarray of bool of shape (n_impressions,)
        Whether it was clicked.
    times : ndarray of shape (n_entries,)
        Number of sessions that each entry stands for: 1, unless the log is of :meth:`distinct`
        sessions.
    extra : dict from str to ndarray of shape (n_impressions,)
        Whatever else was logged with each impression, such as the time spent on the document.

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
    ClickLog(n_sessions=2, n_items=2, n_positions=2, n_clicks=2, n_sessions_without_click=0)
    >>> log.items.document[log.item], log.clicked
    (array(['a', 'b', 'b', 'a'], dtype='<U1'), array([False,  True,  True, False]))
    """

    items: Items
    sessions: np.ndarray
    n_at: np.ndarray
    item: np.ndarray
    clicked: np.ndarray
    times: np.ndarray
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        session: str = "session",
        query: str = "query",
        document: str = "document",
        position: str = "position",
        click: str = "click",
        extra: Sequence[str] = (),
    ) -> Self:
        """Read a log from a table with a row for each shown document.

        Parameters
        ----------
        table : path, data frame or mapping from names to columns
            A Parquet file, or a folder of them; or a data frame of pandas, polars or Arrow.
        session, query, document, position, click : str
            Names of the columns.
        extra : sequence of str, default=()
            Further columns to keep, as they are. No others are read.

        Returns
        -------
        ClickLog

        Raises
        ------
        ValueError
            If positions of a session are not 1, 2, ..., if a session shows a document twice or
            has two queries, or if a click is neither 0 nor 1.

        Examples
        --------
        >>> import polars as pl
        >>> shown = {"session": [7, 7], "query": ["shoes"] * 2, "document": ["a", "b"]}
        >>> table = pl.DataFrame(shown | {"position": [1, 2], "click": [0, 1], "seconds": [0, 5]})
        >>> log = ClickLog.from_table(table, extra=["seconds"])
        >>> log
        ClickLog(n_sessions=1, n_items=2, n_positions=2, n_clicks=1, n_sessions_without_click=0)
        >>> log.with_clicks(log.extra["seconds"] > 30).clicked  # only long visits count
        array([False, False])
        """
        needed = dict(zip(COLUMNS, (session, query, document, position, click), strict=True))
        names = needed | {f"extra[{i}]": name for i, name in enumerate(extra)}
        columns = named_columns(table, names)
        kept = dict(zip(extra, columns[len(needed) :], strict=True))
        return cls.from_columns(*columns[: len(needed)], extra=kept)

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
    ) -> Self:
        """Make a log from columns with an entry for each shown document."""
        session = check_ids("session", session)
        query, document = check_ids("query", query), check_ids("document", document)
        position, clicked = check_column("position", position), check_clicks(click)
        others = {name: np.asarray(column) for name, column in (extra or {}).items()}
        columns = [session, query, document, position, clicked, *others.values()]
        lengths = [len(column) for column in columns]
        if min(lengths) < max(lengths):
            names = ", ".join([*COLUMNS, *others])
            raise ValueError(f"{names} must have equally many entries; got {lengths}.")
        groups = QueryGroups.from_qid(session)
        check_one_query(query, groups, session)
        by_place = np.lexsort((position, groups.codes))
        check_positions(position[by_place], groups, session)
        items, item = Items.of_rows(query, document)
        check_documents(item, groups, document, session)
        by_length = np.argsort(-groups.sizes, kind="stable")
        place_of = np.empty(groups.n_queries, dtype=np.int64)
        place_of[by_length] = np.arange(groups.n_queries)
        order = np.lexsort((place_of[groups.codes], position))
        return cls(
            items,
            groups.first_of(session)[by_length],
            np.bincount(position.astype(np.int64))[1:],
            item[order].astype(np.int32),
            clicked[order],
            np.ones(groups.n_queries, dtype=np.int64),
            {name: column[order] for name, column in others.items()},
        )

    @classmethod
    @check_arguments
    def from_parquet(
        cls,
        path: str | Path,
        *,
        session: str = "session",
        query: str = "query",
        document: str = "document",
        position: str = "position",
        click: str = "click",
        batch_size: Count = 2**20,
    ) -> Self:
        """Read the distinct sessions of a Parquet file, or of a folder of them, batch by batch.

        Rows may be in any order, those of a session even in several files. What is in memory grows
        with the number of different sessions, 5 bytes for each document that they show, and not
        with the number of rows. The file is read twice. In between, its rows lie in a temporary
        folder, where they need 25 bytes each.

        Parameters
        ----------
        path : str or path
            File or folder.
        session, query, document, position, click : str
            Names of the columns.
        batch_size : int, default=1048576
            Rows that are in memory at once. It changes nothing else.

        Returns
        -------
        ClickLog
            The same as ``ClickLog.from_table(path).distinct()``.

        Examples
        --------
        >>> import polars as pl
        >>> path = getfixture("tmp_path") / "clicks.parquet"
        >>> shown = {"session": [7, 7, 8, 8], "query": ["shoes"] * 4, "document": [*"abab"]}
        >>> table = pl.DataFrame(shown | {"position": [1, 2, 1, 2], "click": [0, 1, 0, 1]})
        >>> table.write_parquet(path)
        >>> log = ClickLog.from_parquet(path)
        >>> log
        ClickLog(n_sessions=2, n_items=2, n_positions=2, n_clicks=2, n_sessions_without_click=0)
        >>> len(log), log.times
        (1, array([2]))
        """
        names = session, query, document, position, click
        read = load_object("treerank.clicks.parquet_sessions:parquet_sessions")
        return cls._of(*read(path, names, batch_size))

    @classmethod
    def _of(cls, items: Items, sessions: Sessions) -> Self:
        """Return the log of sessions without ids."""
        n_at, item, clicked, times = sessions
        return cls(items, np.arange(len(times)), n_at, item, clicked, times)

    def __len__(self) -> int:
        """Return the number of entries, which may stand for several sessions each."""
        return len(self.times)

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return int(self.times.sum())

    @property
    def n_positions(self) -> int:
        """Length of the longest session."""
        return len(self.n_at)

    @cached_property
    def position(self) -> np.ndarray:
        """Position of each impression, from 1."""
        return np.repeat(np.arange(1, self.n_positions + 1), self.n_at)

    @cached_property
    def session(self) -> np.ndarray:
        """Number of the entry of each impression."""
        return np.concatenate([np.arange(n) for n in self.n_at])

    @cached_property
    def query(self) -> np.ndarray:
        """Query of each entry, by which sessions are split into training and test."""
        return self.items.query[self.item[: len(self)]]

    @cached_property
    def n_clicks_of_sessions(self) -> np.ndarray:
        """Number of clicks of a session of each entry."""
        clicks = np.zeros(len(self), dtype=np.int64)
        for rows, n in zip(self.positions(), self.n_at, strict=True):
            clicks[:n] += self.clicked[rows]
        return clicks

    @cached_property
    def n_shown_at(self) -> np.ndarray:
        """Number of sessions that show a document at each position."""
        return np.append(0, np.cumsum(self.times))[self.n_at]

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of documents that each entry shows."""
        return Sessions(self.n_at, self.item, self.clicked, self.times).lengths

    def positions(self) -> Iterator[slice]:
        """Yield the rows of each position."""
        ends = np.cumsum(self.n_at)
        yield from map(slice, ends - self.n_at, ends)

    def counts(self) -> ClickCounts:
        """Return how often each item was shown and clicked at each position.

        Nothing that models of positions need is lost, and sessions that repeat cost nothing.
        """
        return self.counts_of(lambda block: block.position - 1, self.n_positions)

    def counts_of(self, slots: Callable[["ClickLog"], np.ndarray], n_slots: int) -> ClickCounts:
        """Return how often each item was shown and clicked in each slot.

        ``slots`` returns the slot of each impression of a part of the log.
        """
        parts = (
            (block.item, slots(block), block.clicked, block.times[block.session])
            for block in self.blocks(max(1, _SUMMED_AT_ONCE // self.n_positions))
        )
        return ClickCounts.summed(parts, self.items, n_slots)

    def blocks(self, n_entries: int) -> Iterator[Self]:
        """Yield the log in parts of some entries, without extra columns."""
        for start in range(0, len(self), n_entries):
            entries = slice(start, min(start + n_entries, len(self)))
            ends = np.minimum(self.n_at, entries.stop)
            n_at = np.maximum(ends - start, 0)
            rows = [
                slice(at.start + start, at.start + end)
                for at, end in zip(self.positions(), ends, strict=True)
                if end > start
            ]
            item, clicked = (
                np.concatenate([column[each] for each in rows])
                for column in (self.item, self.clicked)
            )
            about = self.sessions[entries], n_at[n_at > 0], item, clicked, self.times[entries]
            yield type(self)(self.items, *about)

    def distinct(self) -> Self:
        """Return each different session once, with the number of times that it was there.

        Sessions are alike if they show the same documents and have the same clicks. Their order
        depends on nothing else. Ids and extra columns are left out.
        """
        sessions = Sessions(self.n_at, self.item, self.clicked, self.times)
        return self._of(self.items, distinct([sessions]))

    def repeated(self) -> Self:
        """Return the log with an entry for each session."""
        alone = self.taking(np.repeat(np.arange(len(self)), self.times))
        return replace(alone, times=np.ones_like(alone.times))

    def resampled_times(self, rng: np.random.RandomState) -> np.ndarray:
        """Return how often each entry is drawn, if as many sessions are drawn as there are."""
        drawn = rng.randint(self.n_sessions, size=self.n_sessions)
        entry = np.searchsorted(np.cumsum(self.times), drawn, side="right")
        return np.bincount(entry, minlength=len(self))

    def with_times(self, times: np.ndarray) -> Self:
        """Return the log with other numbers of sessions that each entry stands for."""
        kept = np.flatnonzero(times)
        return replace(self.taking(kept), times=times[kept])

    def with_clicks(self, clicked: np.ndarray) -> Self:
        """Return the same sessions with other clicks."""
        clicked = check_clicks(clicked)
        if len(clicked) != len(self.item):
            raise ValueError(
                f"click must have one entry per impression; got {len(clicked)} for "
                f"{len(self.item)} of them."
            )
        return replace(self, clicked=clicked)

    def taking(self, sessions: np.ndarray) -> Self:
        """Return some entries, by their numbers; a number may be there several times.

        All items stay, so that the numbers of items are those of the whole log.
        """
        chosen = np.sort(sessions)  # which puts the longest first
        n_at = np.searchsorted(
            -self.lengths[chosen], -np.arange(1, self.n_positions + 1), side="right"
        )
        starts = np.cumsum(self.n_at) - self.n_at
        rows = np.concatenate([start + chosen[:n] for start, n in zip(starts, n_at, strict=True)])
        return replace(
            self,
            sessions=self.sessions[chosen],
            n_at=n_at[n_at > 0],
            item=self.item[rows],
            clicked=self.clicked[rows],
            times=self.times[chosen],
            extra={name: column[rows] for name, column in self.extra.items()},
        )

    def __repr__(self) -> str:
        numbers = {
            "n_sessions": self.n_sessions,
            "n_items": len(self.items),
            "n_positions": self.n_positions,
            "n_clicks": int(self.n_clicks_of_sessions @ self.times),
            "n_sessions_without_click": int(self.times[self.n_clicks_of_sessions == 0].sum()),
        }
        return f"ClickLog({', '.join(f'{name}={n}' for name, n in numbers.items())})"
