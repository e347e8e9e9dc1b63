r"""Losses without pairs: ListNet, ListMLE, XE-NDCG and ApproxNDCG of lists, and pointwise ones.

With the scores :math:`s_i` of a query, labels :math:`y_i` and softmax
:math:`p_i = e^{s_i} / \sum_j e^{s_j}`, a listwise loss sums one term per document. None depends on
the order of rows; documents of equal labels are treated alike. A pointwise loss compares each score
with the label of its document alone.

To add one, derive from :class:`~treerank.objectives.lists.objective.ListwiseLoss`, write
``over_queries`` and list it in ``LISTWISE`` or ``POINTWISE``: the tests find it there.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from treerank.checks import refuse_where
from treerank.numerics.random_keys import uniforms
from treerank.objectives.judgments import Judgments
from treerank.objectives.lists.kernels import approximate_dcg, cross_entropy, grouped_plackett_luce
from treerank.objectives.lists.objective import (
    ListwiseLoss,
    ListwiseObjective,
    QueryLosses,
)
from treerank.parameters import Positive


def _check_gains(loss: ListwiseLoss, y: np.ndarray) -> None:
    """Refuse labels that are negative, or at least 1000, for which 2^y - 1 is infinite."""
    wrong = ~((y >= 0) & (y < 1000))
    refuse_where(wrong, y, "y must be at least 0 and below 1000 for gains 2^y")


@dataclass(frozen=True)
class ListNetLoss(ListwiseLoss):
    r"""Cross entropy of the top-one probabilities, :math:`-\sum_i t_i \log p_i` [1]_.

    The target is the softmax of the labels. The hessian is the exact diagonal. Where all labels
    are equal, the softmax pulls the scores together.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai and Li (2007). Learning to rank: from pairwise approach to
       listwise approach. ICML.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0], loss=ListNetLoss())
    >>> value, gradient, hessian = objective([0.0, 1.0])
    >>> gradient.round(3), hessian.round(3)
    (array([-0.462,  0.462]), array([0.197, 0.197]))
    """

    def prepared(self, lists: ListwiseObjective) -> np.ndarray:
        """Return the softmax of the labels of each query, times the weights of documents."""
        exponentials = np.exp(lists.y - lists.per_query(np.maximum, lists.y))
        return lists.weight * (exponentials / lists.per_query(np.add, exponentials))

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return the cross entropy of each query, and gradient and hessian of each document."""
        return cross_entropy(scores, lists.prepared, lists.groups.indptr)


@dataclass(frozen=True)
class ListMLE(ListwiseLoss):
    r"""Negative log likelihood of the order of the labels under the Plackett-Luce model [1]_.

    Documents of equal labels are treated by Efron's approximation [2]_: for a level of ``m``
    documents with the sum of exponentials :math:`T`, and with :math:`S` as the sum over the level
    and all levels below it,

    .. math:: \sum_{i} -w_i s_i + \bar w \sum_{l=0}^{m-1} \log(S - \tfrac{l}{m} T).

    The lowest level comes last in any case and adds nothing; without ties this is the exact
    likelihood, and a query whose labels are all equal adds nothing. The hessian is the exact
    diagonal. The time is linear in the number of documents.

    References
    ----------
    .. [1] Xia, Liu, Wang, Zhang and Li (2008). Listwise approach to learning to rank: theory and
       algorithm. ICML.
    .. [2] Efron (1977). The efficiency of Cox's likelihood function for censored data. JASA.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> value, gradient, hessian = make_objective([1, 0], loss=ListMLE())([0.0, 0.0])
    >>> round(value, 4), gradient, hessian
    (0.6931, array([-0.5,  0.5]), array([0.25, 0.25]))
    """

    def order(self, judgments: Judgments) -> np.ndarray:
        """Return the rows sorted by query, then by label, the lowest first."""
        return np.lexsort((judgments.y, judgments.groups.codes))

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return the negative log likelihood of each query, and the derivatives by document."""
        return grouped_plackett_luce(scores, (lists.y, lists.weight), lists.groups.indptr)


@dataclass(frozen=True)
class XENDCG(ListwiseLoss):
    r"""Cross entropy with a random target whose expectation bounds NDCG (XE-NDCG) [1]_.

    The target is the share of each document in :math:`2^{y_i} - \gamma_i`, with
    :math:`\gamma_i` uniform on (0, 1), drawn anew in every iteration. The gradient is the
    derivative of the value; LightGBM's ``rank_xendcg`` adds two more terms of a series. The hessian
    is the exact diagonal. Where all labels are equal, the target is noise around equal shares.

    References
    ----------
    .. [1] Bruch (2021). An alternative cross entropy loss for learning-to-rank. WWW.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0], loss=XENDCG(), random_state=0)
    >>> objective([0.0, 0.0], iteration=0)[0] == objective([0.0, 0.0], iteration=0)[0]
    True
    """

    check_labels = _check_gains

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return the cross entropy of each query, and gradient and hessian of each document.

        ``scores`` are in the order of ``lists.rows``. ``iteration`` selects the random numbers of
        the target, so equal arguments give equal results.
        """
        keys = lists.judgments.keys_of(lists.rows)
        exponentials = np.exp2(lists.y) - uniforms(lists.judgments.seed, iteration, keys)
        target = lists.weight * exponentials / lists.per_query(np.add, exponentials)
        return cross_entropy(scores, target, lists.groups.indptr)


@dataclass(frozen=True)
class ApproxNDCG(ListwiseLoss):
    r"""One minus the NDCG at smooth ranks [1]_.

    With :math:`\pi_i = 1 + \sum_{j \ne i} \sigma((s_j - s_i) / T)` and the gain
    :math:`2^{y_i} - 1`, a query costs

    .. math:: 1 - \frac{1}{\mathrm{IDCG}} \sum_i w_i \frac{2^{y_i} - 1}{\log_2(1 + \pi_i)}.

    A query whose labels are all equal has the loss 0, as no ranking of it is better than another.
    The exact curvature is negative for some scores; the hessian is an upper bound: the discount is
    taken as linear in the rank (it is convex), and each pair at the bound of its sigmoid's second
    derivative. The time is quadratic in the documents of a query.

    Parameters
    ----------
    temperature : float, default=1.0
        Temperature T of the sigmoid. Documents whose scores differ by much more have nearly their
        true ranks.

    References
    ----------
    .. [1] Qin, Liu and Li (2010). A general approximation framework for direct optimization of
       information retrieval measures. Information Retrieval 13.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([1, 0], loss=ApproxNDCG(temperature=0.5))
    >>> round(objective([0.0, 0.0])[0], 4)  # both at rank 1.5
    0.2435
    """

    temperature: Positive = 1.0

    check_labels = _check_gains

    def prepared(self, lists: ListwiseObjective) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(cost, gain)``: the loss of a query is ``cost - sum(gain / log2(1 + rank))``.

        ``cost`` is the weight of each query, or 0 where all labels are equal. ``gain`` is the
        weighted gain of each document divided by the ideal DCG of its query.
        """
        y, query = lists.y, lists.query
        by_relevance = np.lexsort((-y, query))
        position = np.arange(len(y)) - lists.groups.indptr[query]
        gain = np.exp2(y) - 1
        ideal = lists.per_query(np.add, gain[by_relevance] / np.log2(position + 2))
        orderable = lists.per_query(np.maximum, y) > -lists.per_query(np.maximum, -y)
        share = np.divide(gain, ideal, out=np.zeros(len(y)), where=orderable)
        cost = np.zeros(lists.groups.n_queries)
        cost[query[orderable]] = 1.0
        return cost * lists.judgments.query_weight, lists.weight * share

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return one minus the smooth NDCG of each query, and gradient and hessian by document."""
        cost, gain = lists.prepared
        label_terms = gain, float(self.temperature)
        values, gradient, hessian = approximate_dcg(scores, label_terms, lists.groups.indptr)
        return cost + values, gradient, hessian


#: Listwise losses by name.
LISTWISE: dict[str, ListwiseLoss] = {
    "listnet": ListNetLoss(),
    "listmle": ListMLE(),
    "xendcg": XENDCG(),
    "approx_ndcg": ApproxNDCG(),
}


@dataclass(frozen=True)
class HalfSquaredError(ListwiseLoss):
    r"""Half the squared distance of scores to labels, :math:`\tfrac12 v (s - y)^2`, with weight v.

    The mean label is subtracted from all labels, since a constant changes no ranking. So scores
    that start at zero start at the best constant.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([0, 2, 4], [1, 1, 2], loss=HalfSquaredError())
    >>> value, gradient, hessian = objective(np.zeros(3))
    >>> value, gradient
    (4.0, array([ 2.,  0., -2.]))
    """

    head_weight: ClassVar[str] = "uniform"

    def bind(self, judgments: Judgments) -> ListwiseObjective:
        """Return the objective of judged documents, which subtracts the weighted mean label."""
        weight = judgments.weight
        mean = float(np.average(judgments.y, weights=weight)) if weight.any() else 0.0
        return CenteredObjective(self, judgments, mean)

    def order(self, judgments: Judgments) -> np.ndarray:
        """Return the rows unchanged: no term depends on another document."""
        return np.arange(len(judgments.y))

    def over_queries(
        self, lists: ListwiseObjective, scores: np.ndarray, iteration: int
    ) -> QueryLosses:
        """Return the weighted squared error of each document, and its gradient and hessian."""
        residual, weight = scores - lists.y, lists.weight
        return weight * residual**2 / 2, weight * residual, weight.copy()


@dataclass(frozen=True, eq=False)
class CenteredObjective(ListwiseObjective):
    """A loss of judged documents whose labels count from a mean.

    The judgments hold the labels as they are, for other losses of the same documents.

    Attributes
    ----------
    mean : float
        Mean of all labels, which those of a subset of the rows count from, too.
    """

    mean: float

    @cached_property
    def y(self) -> np.ndarray:
        """Labels, less the mean."""
        return self.judgments.y[self.rows] - self.mean


#: Pointwise losses by name.
POINTWISE: dict[str, ListwiseLoss] = {"half_squared_error": HalfSquaredError()}
