"""Interleaving: lists mixed of several rankers, whose clicks tell which of them users prefer."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.special import xlogy
from scipy.stats import binomtest
from sklearn.utils import check_random_state

from treerank.checks import check_column, check_count
from treerank.inputs.documents import check_ids
from treerank.parameters import Count, Rule, Seed, check_arguments


class Interleaved(NamedTuple):
    """A mixed list.

    Attributes
    ----------
    documents : ndarray of shape (n_shown,)
        Documents, best first.
    team : ndarray of shape (n_shown,)
        Ranker that placed each document, counted from 0.

    Examples
    --------
    >>> Interleaved(np.array(["a", "b"]), np.array([0, 1])).team
    array([0, 1])
    """

    documents: np.ndarray
    team: np.ndarray


class Credited(NamedTuple):
    """A mixed list whose clicks count by documents.

    Attributes
    ----------
    documents : ndarray of shape (n_shown,)
        Documents, best first.
    credit : ndarray of shape (n_shown,)
        What a click on each document counts for the first ranker; for the second if negative.

    Examples
    --------
    >>> Credited(np.array(["a", "b"]), np.array([0.5, -0.5])).credit
    array([ 0.5, -0.5])
    """

    documents: np.ndarray
    credit: np.ndarray


class Preference(NamedTuple):
    """Which of two rankers users prefer.

    Attributes
    ----------
    wins : tuple of two int
        Sessions with more clicks on the documents of each ranker.
    n_ties : int
        Sessions with as many clicks on both, such as none.
    p_value : float
        Probability of wins so uneven if users preferred neither: a sign test, two-sided.

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
        return (
            f"the first ranker wins {first} sessions, the second {second}, with {self.n_ties} "
            f"ties: p = {self.p_value:.3f}"
        )


@check_arguments
def team_draft(
    first: ArrayLike,
    second: ArrayLike,
    *others: ArrayLike,
    k: Count = 10,
    random_state: Seed = None,
) -> Interleaved:
    """Mix the lists of two rankers or more by turns, as captains choose their teams [1]_ [2]_.

    In each round every ranker places the best of its documents that is not yet in the list. The
    order of the rankers is drawn in each round.

    Parameters
    ----------
    first, second, *others : array-like
        Documents of each ranker, best first.
    k : int, default=10
        Most documents of the mixed list.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Interleaved

    References
    ----------
    .. [1] Radlinski, Kurup and Joachims (2008). How does clickthrough data reflect retrieval
       quality? CIKM.
    .. [2] Schuth, Sietsma, Whiteson, Lefortier and de Rijke (2014). Multileaved comparisons for
       fast online evaluation. CIKM.

    Examples
    --------
    >>> team_draft(["a", "b", "c"], ["b", "c", "a"], k=3, random_state=0)
    Interleaved(documents=array(['b', 'a', 'c'], dtype='<U1'), team=array([1, 0, 0]))
    """
    rng = check_random_state(random_state)
    named = {"first": first, "second": second}
    named |= {f"others[{number}]": other for number, other in enumerate(others)}
    rankings = [check_ids(name, ranking) for name, ranking in named.items()]
    rest = [list(dict.fromkeys(ranking.tolist())) for ranking in rankings]
    chosen: dict[object, int] = {}
    while len(chosen) < k and any(rest):
        for team in rng.permutation(len(rankings)).tolist():
            rest[team] = [document for document in rest[team] if document not in chosen]
            if rest[team] and len(chosen) < k:
                chosen[rest[team].pop(0)] = team
    return Interleaved(np.array(list(chosen)), np.array(list(chosen.values())))


@check_arguments
def optimized_interleaving(
    first: ArrayLike,
    second: ArrayLike,
    *,
    k: Annotated[int, Rule(check_count, at_most=10)] = 10,
    random_state: Seed = None,
) -> Credited:
    """Mix the lists of two rankers by the odds that tell most, without bias [1]_.

    All lists are allowed that place the next document of either ranker at each position. A click
    on a document counts 1 / rank in the first list less 1 / rank in the second. A linear program
    finds the odds of lists for which users who click at random prefer neither ranker, and users
    who click on one document are the least sure to prefer a certain one.

    Parameters
    ----------
    first, second : array-like
        Documents of each ranker, best first.
    k : int, default=10
        Most documents of the mixed list, at most 10. It is not longer than the shorter list.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    Credited

    References
    ----------
    .. [1] Radlinski and Craswell (2013). Optimized interleaving for online retrieval evaluation.
       WSDM.

    Examples
    --------
    >>> found = optimized_interleaving(["a", "b", "c"], ["b", "c", "a"], k=2, random_state=0)
    >>> found.documents, found.credit
    (array(['b', 'a'], dtype='<U1'), array([-0.5       ,  0.66666667]))
    """
    lists, credit, odds = lists_and_odds(first, second, k)
    chosen = lists[check_random_state(random_state).choice(len(lists), p=odds)]
    return Credited(np.array(chosen), np.array([credit[document] for document in chosen]))


def lists_and_odds(
    first: ArrayLike, second: ArrayLike, k: int
) -> tuple[list[tuple[Any, ...]], dict[Any, float], np.ndarray]:
    """Return the mixed lists of two rankers, the credit of each document, and the odds of lists.

    Examples
    --------
    >>> lists_and_odds(["a", "b"], ["b", "a"], 2)
    ([('a', 'b'), ('b', 'a')], {'a': 0.5, 'b': -0.5}, array([0.5, 0.5]))
    """
    rankings = [
        list(dict.fromkeys(check_ids(name, given).tolist()))
        for name, given in (("first", first), ("second", second))
    ]
    n_shown = min(k, *map(len, rankings))  # beyond it, all documents are of one ranker
    rankings = [ranking[:n_shown] for ranking in rankings]
    ranks = [{d: rank for rank, d in enumerate(ranking, start=1)} for ranking in rankings]
    below = n_shown + 1
    credit = {
        d: 1 / ranks[0].get(d, below) - 1 / ranks[1].get(d, below)
        for d in dict.fromkeys(rankings[0] + rankings[1])
    }
    lists: list[tuple[Any, ...]] = [()]
    for _ in range(n_shown):
        nexts = ((start, _next_of(ranking, start)) for start in lists for ranking in rankings)
        lists = list(dict.fromkeys((*start, document) for start, document in nexts))
    table = np.array([[credit[d] for d in each] for each in lists]).reshape(len(lists), -1)
    rules, ends = np.vstack([np.ones(len(lists)), table.T]), np.eye(table.shape[1] + 1)[0]
    odds = np.maximum(linprog(-_sensitivity(table), A_eq=rules, b_eq=ends).x, 0.0)
    return lists, credit, odds / odds.sum()


def _next_of(ranking: list[Any], chosen: tuple[Any, ...]) -> Any:
    """Return the best document that is not chosen yet."""
    return next(document for document in ranking if document not in chosen)


def _sensitivity(credit: np.ndarray) -> np.ndarray:
    """Return how unsure the winner of each list is if position k is clicked as often as 1 / k."""
    clicks = 1 / np.arange(1.0, credit.shape[1] + 1)
    won = np.stack([(credit > 0) @ clicks, (credit < 0) @ clicks])
    share = won / np.maximum(won.sum(axis=0), np.finfo(float).tiny)
    unsure = -xlogy(share, share).sum(axis=0)
    return np.asarray(unsure * won.sum(axis=0) / max(clicks.sum(), 1.0))  # lists may be empty


def interleaving_preference(clicks: ArrayLike, other_clicks: ArrayLike) -> Preference:
    """Test which of two rankers users prefer, by the clicks on the documents that each placed.

    Parameters
    ----------
    clicks, other_clicks : array-like of shape (n_sessions,)
        Clicks of each session on the documents of the first and of the second ranker, or their
        credit and 0. Of more than two rankers, any two can be tested.

    Returns
    -------
    Preference

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
