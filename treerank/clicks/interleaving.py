"""Interleaving: lists mixed from two rankers, whose clicks show which ranker users prefer."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest
from sklearn.utils import check_random_state

from treerank.checks import check_column
from treerank.display.results import html_of, shown_by_columns, text_of
from treerank.display.tables import Table
from treerank.documents.ids import check_ids
from treerank.documents.queries import objects
from treerank.parameters import Count, Seed, check_arguments


class Interleaved(NamedTuple):
    """An interleaved list.

    Attributes
    ----------
    documents : ndarray of shape (n_shown,)
        Documents, best first.
    team : ndarray of shape (n_shown,)
        Number of the ranker that contributed each document, from 0.

    Examples
    --------
    >>> Interleaved(np.array(["a", "b"]), np.array([0, 1])).team
    array([0, 1])
    """

    documents: np.ndarray
    team: np.ndarray

    def _shown(self) -> Table:
        return shown_by_columns("Interleaved list, best first.", self._asdict())

    def __repr__(self) -> str:
        return text_of(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())


class Preference(NamedTuple):
    """Which of two rankers users prefer.

    Attributes
    ----------
    wins : tuple of two int
        Sessions with more clicks on the documents of the first and of the second ranker.
    n_ties : int
        Sessions with equally many clicks on both, such as none.
    p_value : float
        p-value of a two-sided sign test.

    Examples
    --------
    >>> print(Preference((2, 12), 6, 0.0129))
    the first ranker wins 2 sessions, the second 12, with 6 ties: p = 0.013
    """

    wins: tuple[int, int]
    n_ties: int
    p_value: float

    def __str__(self) -> str:
        """Return the wins and the p-value in one line."""
        first, second = self.wins
        wins = f"the first ranker wins {first} sessions, the second {second}"
        return f"{wins}, with {self.n_ties} ties: p = {self.p_value:.3f}"

    def __repr__(self) -> str:
        return text_of(str(self))

    def _repr_html_(self) -> str:
        return html_of(str(self))


@check_arguments
def team_draft(
    first: ArrayLike, second: ArrayLike, *, k: Count = 10, random_state: Seed = None
) -> Interleaved:
    """Interleave the lists of two rankers by team draft [1]_.

    In each round, in random order, each ranker appends its best document that is not in the list
    yet.

    Parameters
    ----------
    first, second : array-like
        Documents of each ranker, best first. Ids are equal as in Python: 2 and "2" are not.
    k : int, default=10
        Length of the interleaved list; shorter if the rankers have fewer documents.
    random_state : int, RandomState instance or None, default=None
        Seed.

    References
    ----------
    .. [1] Radlinski, Kurup and Joachims (2008). How does clickthrough data reflect retrieval
       quality? CIKM.

    Examples
    --------
    >>> team_draft(["a", "b", "c"], ["b", "c", "a"], k=3, random_state=0)
    Interleaved list, best first.
    documents  team
    ---------  ----
    b             1
    a             0
    c             0
    """
    rng = check_random_state(random_state)
    rankings = _documents("first", first), _documents("second", second)
    remaining = [list(dict.fromkeys(ranking)) for ranking in rankings]
    chosen: dict[object, int] = {}
    while len(chosen) < k and any(remaining):
        for team in rng.permutation(len(rankings)).tolist():
            remaining[team] = [document for document in remaining[team] if document not in chosen]
            if remaining[team] and len(chosen) < k:
                chosen[remaining[team].pop(0)] = team
    documents = list(chosen)
    is_mixed = len({isinstance(document, str) for document in documents}) > 1
    # Numbers would become text in an array of both, and tuples rows of a table.
    are_objects = is_mixed or tuple in set(map(type, documents))
    interleaved = objects(documents) if are_objects else np.array(documents)
    return Interleaved(interleaved, np.array(list(chosen.values())))


def _documents(name: str, values: ArrayLike) -> list[Any]:
    """Return ids as Python objects."""
    ids = check_ids(name, values)
    return list(values) if isinstance(values, list | tuple) else list(ids.tolist())


@check_arguments
def interleaving_preference(clicks: ArrayLike, other_clicks: ArrayLike) -> Preference:
    """Test which of two interleaved rankers users prefer, by the clicks on their documents.

    Parameters
    ----------
    clicks, other_clicks : array-like of shape (n_sessions,)
        Clicks of each session on the documents of the first and of the second ranker. Of more
        than two rankers, any two can be tested.

    Examples
    --------
    >>> print(interleaving_preference([0, 1, 0, 0], [1, 0, 1, 0]))
    the first ranker wins 1 sessions, the second 2, with 1 ties: p = 1.000
    """
    first = check_column("clicks", clicks)
    second = check_column("other_clicks", other_clicks, len(first))
    wins = int((first > second).sum()), int((second > first).sum())
    p_value = float(binomtest(wins[1], sum(wins)).pvalue) if sum(wins) else 1.0
    return Preference(wins, len(first) - sum(wins), p_value)
