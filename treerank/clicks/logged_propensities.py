r"""Logged propensities: how likely the old ranker was to show each document where it did.

They are another thing than the propensities of positions. Those, :math:`\theta_k`, are of the
user, who examines position k. A logged one, :math:`p_{ik}`, is of a ranker that draws its lists at
random: it shows document i at position k with this probability. If :math:`m_{ik}` is 1 where the
new ranking has i at k, and 0 elsewhere, then over the sessions of a query in which i was clicked,

.. math:: \sum \frac{m_{ik}}{p_{ik} \theta_k}

is expected to be the number of sessions times the relevance of i. That holds for a query of a
single session, too, where nothing can be counted. Among equal scores, :math:`m_{ik}` is the share
of what i earns that it earns at k.
"""

from typing import Any, NamedTuple

import numpy as np

from treerank.checks import check_column, shown
from treerank.clicks.log import ClickLog
from treerank.clicks.rewards import Ranking

#: Name of the extra column of a log that holds them.
COLUMN = "propensity"


class Matches(NamedTuple):
    """What impressions count for at the position that a ranking gives their document.

    Attributes
    ----------
    clicks : ndarray of shape (n_impressions,)
        Clicks times m / (p theta).
    shown : ndarray of shape (n_impressions,)
        Impressions, examined or not, times m / p. For each document, they are expected to sum to
        the number of sessions.

    Examples
    --------
    >>> Matches(np.zeros(1), np.ones(1)).shown
    array([1.])
    """

    clicks: np.ndarray
    shown: np.ndarray


def check_logged(log: ClickLog, given: Any, *, can_use: bool) -> np.ndarray | None:
    """Return the logged propensity of each impression; ``None`` where there are none to use.

    Parameters
    ----------
    log : ClickLog
        Sessions of the old ranker.
    given : array-like of shape (n_impressions,), str or None
        Propensities, the name of an extra column of the log, or ``None`` for the column
        "propensity" if there is one.
    can_use : bool
        Whether the reward can be estimated with them.

    Examples
    --------
    >>> columns = [1, 1], ["q", "q"], ["a", "b"], [1, 2], [0, 1]
    >>> log = ClickLog.from_columns(*columns, extra={"propensity": [0.5, 0.0]})
    >>> check_logged(log, None, can_use=True)
    Traceback (most recent call last):
    ...
    ValueError: logged_propensities must be above 0 and at most 1; got 0.0 for ('q', 'b') at \
position 2 in session 1.
    """
    if given is None and (COLUMN not in log.extra or not can_use):
        return None
    if not can_use:
        raise ValueError("logged_propensities must be None with reward='first_click'; got some.")
    name = COLUMN if given is None else given
    if isinstance(name, str):
        if name not in log.extra:
            raise ValueError(
                f"logged_propensities must name an extra column of the log; got {shown(name)} and "
                f"{list(log.extra)}."
            )
        given = log.extra[name]
    values = check_column("logged_propensities", given)
    if len(values) != len(log.item):
        raise ValueError(
            f"logged_propensities must have one entry per impression; got {len(values)} for "
            f"{len(log.item)} of them."
        )
    wrong = (values <= 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        session = log.sessions[log.session[row : row + 1]].tolist()[0]
        raise ValueError(
            f"logged_propensities must be above 0 and at most 1; got {float(values[row])!r} for "
            f"{log.items.shown(log.item[row])} at position {log.position[row]} in session "
            f"{shown(session)}."
        )
    return values


def matches_of(
    ranking: Ranking,
    item: np.ndarray,
    place: np.ndarray,
    exposed: np.ndarray,
    logged: np.ndarray,
    clicked: np.ndarray,
) -> Matches:
    """Return what impressions of items count for, at places that count from 0.

    ``exposed`` are the propensities of these places.
    """
    weight = ranking.share_at(item, place) / logged
    return Matches(clicked * weight / exposed, weight)
