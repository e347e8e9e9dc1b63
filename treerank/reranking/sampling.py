r"""Sampling: rankings drawn from a Plackett-Luce model, with the propensity of each document.

The next document of a list is drawn from the remaining ones with probability proportional to
:math:`\lambda_i = e^{s_i / T}`. Equivalently, document i arrives at an exponential time with rate
:math:`\lambda_i`, and the list is in the order of arrivals. So document i is at position k exactly
if k - 1 other documents arrive before it:

.. math::
    p_{ik} = \int_0^\infty \lambda_i e^{-\lambda_i t}\, P(k - 1 \text{ arrive before } t)\,dt

The number of earlier arrivals is a sum of independent Bernoulli variables, whose distribution is a
product of polynomials. With :math:`t = e^u`, the integrand is analytic and decays fast on both
sides, so the trapezoidal rule is accurate to nearly the last bit if its step h is small against the
integrand's width of about :math:`1 / \sqrt k`. For whatever scores, the time of the k-th arrival is
a gamma variable of shape k times an independent variable, so the relative error is at most
:math:`2 \sum_j |\Gamma(k + 2 \pi i j / h)| / \Gamma(k)`. With :math:`2 \pi / h = 16 + 8 \sqrt k`,
it is below 2e-14 for lists of up to 100,000 documents.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from treerank.checks import check_column
from treerank.display.results import html_of, shown_by_columns, text_of
from treerank.display.tables import Table, counted
from treerank.documents.queries import ByRow, QueryGroups
from treerank.numerics.compiling import njit
from treerank.parameters import Count, Positive, Seed, check_arguments

#: Range of the trapezoidal rule about the log arrival time of a document.
_BEFORE, _AFTER = 33.0, 4.0
#: Difference of two logits above which the order is certain in double precision.
_CERTAIN = 800.0


class SampledLists(NamedTuple):
    """Sampled lists, one after the other, with one entry per shown document.

    Attributes
    ----------
    row : ndarray of int
        Row of the document in the scores.
    position : ndarray of int
        Position in its list, from 1.
    propensity : ndarray of float
        Probability that the document is drawn at this position, to about 13 digits. Log it as the
        column "propensity" of a :class:`~treerank.clicks.log.ClickLog`, so that
        :func:`~treerank.clicks.evaluation.evaluate_from_log` is unbiased.

    Examples
    --------
    >>> SampledLists(np.array([1]), np.array([1]), np.array([0.5])).row
    array([1])
    """

    row: np.ndarray
    position: np.ndarray
    propensity: np.ndarray

    def _shown(self) -> Table:
        return shown_by_columns(self._title(), self._asdict())

    def __repr__(self) -> str:
        return text_of(self._shown())

    def _repr_html_(self) -> str:
        return html_of(self._shown())

    def _title(self) -> str:
        n_lists = int(np.sum(self.position == 1))
        return f"{counted(n_lists, 'sampled list')} of {counted(len(self.row), 'document')}."


@check_arguments
def sample_lists(
    scores: ArrayLike,
    qid: ByRow = None,
    *,
    k: Count = 10,
    temperature: Positive = 1.0,
    random_state: Seed = None,
) -> SampledLists:
    """Draw a random ranking for each query, with higher scores more likely near the top.

    Parameters
    ----------
    scores : array-like of shape (n_documents,)
        Scores of the documents.
    qid : array-like of shape (n_documents,), default=None
        Query of each document; ``None`` is a single query.
    k : int, default=10
        Length of the lists; queries with fewer documents have shorter lists.
    temperature : float, default=1.0
        Amount of exploration: near 0, lists are sorted by score; for large values, they are
        uniformly random. A document whose score is higher by the temperature is e times as likely
        to be next.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    SampledLists
        Lists in ascending order of query ids, each from its first position.

    Examples
    --------
    >>> lists = sample_lists([2.0, 1.0, 0.0], k=2, temperature=0.1, random_state=0)
    >>> lists.row, lists.propensity.round(3)
    (array([0, 1]), array([1., 1.]))
    """
    scores = check_column("scores", scores)
    groups, rng = QueryGroups.from_qid(qid, len(scores)), check_random_state(random_state)
    lists = []
    for rows in groups.rows:
        logits = _logits(scores[rows], temperature)
        length = min(k, len(rows))
        drawn = np.argsort(-(logits + rng.gumbel(size=len(rows))), kind="stable")[:length]
        cells = drawn, np.arange(length)
        is_drawn = np.zeros((len(rows), length), dtype=bool)
        is_drawn[cells] = True
        lists.append((rows[drawn], cells[1] + 1, _probabilities(logits, is_drawn)[cells]))
    return SampledLists(*(np.concatenate(column) for column in zip(*lists, strict=True)))


def _logits(scores: np.ndarray, temperature: float) -> np.ndarray:
    """Return scores divided by the temperature, shifted so that the lowest is 0.

    Gaps between neighboring scores are limited to 800, beyond which the order is certain.
    """
    order = np.argsort(scores, kind="stable")
    with np.errstate(over="ignore"):
        gaps = np.minimum(np.diff(scores[order]) / temperature, _CERTAIN)
    logits = np.zeros(len(scores))
    logits[order[1:]] = np.cumsum(gaps)
    return logits


def position_probabilities(logits: np.ndarray, k: int) -> np.ndarray:
    """Return the probability that each document is drawn at each of the first ``k`` positions.

    It is of shape (n_documents, k).

    Examples
    --------
    >>> position_probabilities(np.log([1.0, 2.0, 1.0]), 2).round(4)
    array([[0.25  , 0.3333],
           [0.5   , 0.3333],
           [0.25  , 0.3333]])
    """
    return _probabilities(logits, np.ones((len(logits), k), dtype=bool))


def _probabilities(logits: np.ndarray, is_asked: np.ndarray) -> np.ndarray:
    """Return the same where ``is_asked``, a mask of its shape; others are the smallest number."""
    n, k = is_asked.shape
    step = 2 * np.pi / (16 + 8 * np.sqrt(k))
    before = _BEFORE + np.log(n)  # the first of n documents arrives n times as early
    steps = np.arange(-before / step, _AFTER / step)  # about the time of each document
    times = step * np.unique(np.unique(np.round(-logits / step))[:, None] + steps)
    probabilities = step * _sums_over_times(logits, times, is_asked)
    return np.clip(probabilities, np.finfo(np.float64).tiny, 1.0)


@njit
def _sums_over_times(logits, times, is_asked):
    """Return the sums of the integrands over log arrival times, 0 where they are not asked for."""
    n, k = is_asked.shape
    total = np.zeros((n, k))
    later = np.zeros((n + 1, k))
    for u in times:
        # later[i, m]: probability that m of the documents from i on have arrived.
        later[n, 0] = 1.0
        for i in range(n - 1, -1, -1):
            waits, arrived = np.exp(-np.exp(logits[i] + u)), -np.expm1(-np.exp(logits[i] + u))
            for m in range(k):
                before = later[i + 1, m - 1] if m > 0 else 0.0
                later[i, m] = waits * later[i + 1, m] + arrived * before
        earlier = np.zeros(k)
        earlier[0] = 1.0
        for i in range(n):
            rate = logits[i] + u
            density = np.exp(rate - np.exp(rate))
            for m in range(k):
                if not is_asked[i, m]:
                    continue
                others_probability = 0.0
                for before in range(m + 1):
                    others_probability += earlier[before] * later[i + 1, m - before]
                total[i, m] += density * others_probability
            waits, arrived = np.exp(-np.exp(rate)), -np.expm1(-np.exp(rate))
            for m in range(k - 1, -1, -1):
                before = earlier[m - 1] if m > 0 else 0.0
                earlier[m] = waits * earlier[m] + arrived * before
    return total
