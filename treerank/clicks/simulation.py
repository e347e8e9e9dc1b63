"""Simulated click logs: a ranker that explores, and users with position bias."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from treerank.checks import check_column, refuse_where
from treerank.clicks.log import ClickLog
from treerank.datasets.web_search import check_cells
from treerank.documents.gains import label_gains
from treerank.documents.ids import check_ids
from treerank.documents.queries import QueryGroups
from treerank.parameters import Count, NotNegative, Probability, Seed, check_arguments


@check_arguments
def simulate_clicks(
    y: ArrayLike,
    qid: ArrayLike,
    scores: ArrayLike,
    *,
    n_sessions: Count = 20,
    n_positions: Count = 10,
    severity: NotNegative = 1.0,
    noise: Probability = 0.1,
    exploration: NotNegative = 0.2,
    random_state: Seed = None,
) -> ClickLog:
    r"""Simulate a click log: a ranker shows its top documents, and users click with position bias.

    Position k is examined with probability :math:`k^{-\eta}`. An examined document is clicked with
    probability :math:`\varepsilon + (1 - \varepsilon)(2^y - 1) / (2^{\max y} - 1)`.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Labels, not negative. The document ids of the log are row numbers.
    qid : array-like of shape (n_documents,)
        Query of each document.
    scores : array-like of shape (n_documents,)
        Scores of the ranker that shows the documents.
    n_sessions : int, default=20
        Number of sessions of each query.
    n_positions : int, default=10
        Largest number of documents that a session shows.
    severity : float, default=1.0
        Severity :math:`\eta` of the position bias; 0 is none.
    noise : float, default=0.1
        Probability :math:`\varepsilon` of a click on an examined document of label 0.
    exploration : float, default=0.2
        Scale of Gumbel noise on the scores, in standard deviations of the scores.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> simulate_clicks([2, 0, 1], [7, 7, 7], [0.1, 0.5, 0.3], n_sessions=100, random_state=0)
    ClickLog(n_sessions=100, n_items=3, n_positions=3, n_clicks=65)
    """
    y = check_column("y", y, or_table=True)
    refuse_where(y < 0, y, "y must not be negative", " Add a number to all labels.")
    gain = label_gains(y)
    check_cells(n_documents=len(y), n_sessions=n_sessions)
    groups = QueryGroups.from_qid(qid, len(y))
    scores = check_column("scores", scores, len(y))
    rng = check_random_state(random_state)
    rows_by_query, scale = [], exploration * scores.std()
    for rows in groups.rows:
        drawn = rng.gumbel(size=(n_sessions, len(rows)))
        best_first = rows[np.argsort(-(scores[rows] + scale * drawn), axis=1)]
        rows_by_query.append(best_first[:, :n_positions].ravel())
    lengths = np.repeat([min(n_positions, size) for size in groups.sizes], n_sessions)
    document = np.concatenate(rows_by_query)
    position = np.concatenate([np.arange(1, length + 1) for length in lengths])
    session = np.repeat(np.arange(len(lengths)), lengths)
    proba = noise + (1 - noise) * gain / max(gain.max(), 1.0)
    click = rng.random_sample(len(document)) < proba[document] / position ** float(severity)
    query = check_ids("qid", qid)[document]
    return ClickLog.from_columns(session, query, document, position, click)
