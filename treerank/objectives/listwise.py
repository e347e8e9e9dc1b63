r"""Listwise objectives: the price of the scores of a whole query at once.

With the scores :math:`s_i` of a query, labels :math:`y_i` and softmax
:math:`p_i = e^{s_i} / \sum_j e^{s_j}`, each objective sums one term per document. A document
weight multiplies the document's term, a query weight all terms of the query. None depends on the
order of rows; ties in the labels are ties.

To add one, derive from :class:`~treerank.objectives.listwise_base.ListwiseObjective`, write
``_over_queries`` and list it in ``LISTWISE``: the tests pick it up from there.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from treerank.numerics.random_keys import uniforms
from treerank.objectives.kernels.listwise_queries import (
    approximate_dcg,
    cross_entropy,
    grouped_plackett_luce,
)
from treerank.objectives.listwise_base import ListwiseObjective


@dataclass(frozen=True, eq=False)
class ListNet(ListwiseObjective):
    r"""Cross entropy of the top-one probabilities, :math:`-\sum_i t_i \log p_i` [1]_.

    The target is the softmax of the labels, as in the paper, or the share of each document in
    the gains :math:`2^{y_i} - 1`. The hessian is the exact diagonal. Where all labels are equal,
    the softmax pulls the scores together; gains of zero leave the query alone.

    Parameters
    ----------
    y, groups, sample_weight, query_weight
        See :class:`~treerank.objectives.listwise_base.ListwiseObjective`.
    target : {"softmax", "gain"}, default="softmax"
        What the labels make of the probability to be on top.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai and Li (2007). Learning to rank: from pairwise approach to
       listwise approach. ICML.

    Examples
    --------
    >>> from treerank.inputs.grouping import QueryGroups
    >>> from treerank.objectives.listwise import ListNet
    >>> objective = ListNet.from_labels([1, 0], QueryGroups.from_qid([7, 7]), target="gain")
    >>> value, gradient, hessian = objective([0.0, 0.0])
    >>> round(value, 4), gradient, hessian
    (0.6931, array([-0.5,  0.5]), array([0.25, 0.25]))
    """

    target: str = "softmax"

    def __post_init__(self):
        if self.target not in ("softmax", "gain"):
            raise ValueError(f"target must be one of ['gain', 'softmax']; got {self.target!r}.")
        if self.target == "gain":
            _check_gains(self.y)

    def _over_queries(self, scores, iteration):
        return cross_entropy(scores, self._target, self.groups.indptr)

    @cached_property
    def _target(self):
        y = self.y[self._order]
        if self.target == "gain":
            mass = np.exp2(y) - 1
        else:
            mass = np.exp(y - self._per_query(np.maximum, y))
        total = self._per_query(np.add, mass)
        return self._weight * np.divide(mass, total, out=np.zeros(len(y)), where=total > 0)


@dataclass(frozen=True, eq=False)
class ListMLE(ListwiseObjective):
    r"""Negative log likelihood of the order of the labels under the Plackett-Luce model [1]_.

    Tied documents are placed by Efron's approximation [2]_: for a level of ``m`` documents with
    the sum of exponentials :math:`T`, and :math:`S` that of the level and all below it,

    .. math:: \sum_{i} -w_i s_i + \bar w \sum_{l=0}^{m-1} \log(S - \tfrac{l}{m} T).

    The lowest level comes last of itself and adds nothing; without ties this is the exact
    likelihood, and a query whose labels are all equal adds nothing. The hessian is the exact
    diagonal. Linear in the number of documents.

    Parameters
    ----------
    y, groups, sample_weight, query_weight
        See :class:`~treerank.objectives.listwise_base.ListwiseObjective`.

    References
    ----------
    .. [1] Xia, Liu, Wang, Zhang and Li (2008). Listwise approach to learning to rank: theory and
       algorithm. ICML.
    .. [2] Efron (1977). The efficiency of Cox's likelihood function for censored data. JASA.

    Examples
    --------
    >>> from treerank.inputs.grouping import QueryGroups
    >>> from treerank.objectives.listwise import ListMLE
    >>> objective = ListMLE.from_labels([1, 0], QueryGroups.from_qid([7, 7]))
    >>> value, gradient, hessian = objective([0.0, 0.0])
    >>> round(value, 4), gradient, hessian
    (0.6931, array([-0.5,  0.5]), array([0.25, 0.25]))
    """

    def _over_queries(self, scores, iteration):
        y = self.y[self._order]
        return grouped_plackett_luce(scores, y, self._weight, self.groups.indptr)

    @cached_property
    def _order(self):
        return np.lexsort((self.y, self.groups.codes))


@dataclass(frozen=True, eq=False)
class XENDCG(ListwiseObjective):
    r"""Cross entropy with a random target whose expectation bounds NDCG (XE-NDCG) [1]_.

    The target is the share of each document in :math:`2^{y_i} - \gamma_i`, with
    :math:`\gamma_i` uniform on (0, 1), drawn anew in every iteration. The gradient is that of
    the value; LightGBM's ``rank_xendcg`` adds two more terms of a series. The hessian is the
    exact diagonal. Where all labels are equal, the target is noise around equal shares.

    Parameters
    ----------
    y, groups, sample_weight, query_weight
        See :class:`~treerank.objectives.listwise_base.ListwiseObjective`.
    seed : int, default=0
        Non-negative seed of the draws.
    document_keys : ndarray of shape (n_documents,) or None, default=None
        Non-negative integers that key each document's draws, so that a document has the same
        noise wherever its row is; ``None`` is the number of the row.

    References
    ----------
    .. [1] Bruch (2021). An alternative cross entropy loss for learning-to-rank. WWW.

    Examples
    --------
    >>> from treerank.inputs.grouping import QueryGroups
    >>> from treerank.objectives.listwise import XENDCG
    >>> objective = XENDCG.from_labels([1, 0], QueryGroups.from_qid([7, 7]))
    >>> objective([0.0, 0.0], iteration=0)[0] == objective([0.0, 0.0], iteration=0)[0]
    True
    """

    seed: int = 0
    document_keys: np.ndarray | None = None

    def __post_init__(self):
        _check_gains(self.y)
        if isinstance(self.seed, bool) or not isinstance(self.seed, (int, np.integer)):
            raise TypeError(f"seed must be a non-negative integer; got {self.seed!r}.")
        if self.seed < 0:
            raise ValueError(f"seed must be a non-negative integer; got {self.seed!r}.")
        if self.document_keys is not None:
            keys = np.asarray(self.document_keys)
            if keys.shape != self.y.shape or keys.dtype.kind not in "iu" or (keys < 0).any():
                raise ValueError(
                    "document_keys must be one non-negative integer per document; "
                    f"got {self.document_keys!r}."
                )

    def _of_rows(self, rows):
        keys = rows if self.document_keys is None else self.document_keys[rows]
        return {**super()._of_rows(rows), "document_keys": keys}

    def _over_queries(self, scores, iteration):
        keys = self._order if self.document_keys is None else self.document_keys[self._order]
        mass = np.exp2(self.y[self._order]) - uniforms(self.seed, iteration, keys)
        target = self._weight * mass / self._per_query(np.add, mass)
        return cross_entropy(scores, target, self.groups.indptr)


@dataclass(frozen=True, eq=False)
class ApproxNDCG(ListwiseObjective):
    r"""One minus the NDCG at smooth ranks [1]_.

    With :math:`\pi_i = 1 + \sum_{j \ne i} \sigma((s_j - s_i) / T)` and the gain
    :math:`2^{y_i} - 1`, a query costs

    .. math:: 1 - \frac{1}{\mathrm{IDCG}} \sum_i w_i \frac{2^{y_i} - 1}{\log_2(1 + \pi_i)}.

    Queries whose labels are all equal have nothing to gain and cost nothing. The exact curvature
    is negative in places; the hessian is an upper bound of it: the discount is taken as linear
    in the rank (it is convex), and each pair at the bound of its sigmoid's second derivative.
    Quadratic in the documents of a query.

    Parameters
    ----------
    y, groups, sample_weight, query_weight
        See :class:`~treerank.objectives.listwise_base.ListwiseObjective`.
    temperature : float, default=1.0
        Scores that differ by much more have their true ranks.

    References
    ----------
    .. [1] Qin, Liu and Li (2010). A general approximation framework for direct optimization of
       information retrieval measures. Information Retrieval 13.

    Examples
    --------
    >>> from treerank.inputs.grouping import QueryGroups
    >>> from treerank.objectives.listwise import ApproxNDCG
    >>> objective = ApproxNDCG.from_labels([1, 0], QueryGroups.from_qid([7, 7]))
    >>> round(objective([0.0, 0.0])[0], 4)  # both at rank 1.5
    0.2435
    """

    temperature: float = 1.0

    approximate_hessian: ClassVar[bool] = True

    def __post_init__(self):
        _check_gains(self.y)
        if not (np.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature must be positive and finite; got {self.temperature!r}.")

    def _over_queries(self, scores, iteration):
        cost, gain = self._price
        values, gradient, hessian = approximate_dcg(
            scores, gain, float(self.temperature), self.groups.indptr
        )
        return cost + values, gradient, hessian

    @cached_property
    def _price(self):
        """What each query costs without any gain, and how much of it each row earns at most."""
        y = self.y[self._order]
        by_relevance = np.lexsort((-y, self._codes))
        place = np.arange(len(y)) - self.groups.indptr[self._codes]
        gain = np.exp2(y) - 1
        ideal = self._per_query(np.add, gain[by_relevance] / np.log2(place + 2))
        orderable = self._per_query(np.maximum, y) > -self._per_query(np.maximum, -y)
        share = np.divide(gain, ideal, out=np.zeros(len(y)), where=orderable)
        cost = np.zeros(self.groups.n_queries)
        cost[self._codes[orderable]] = 1.0
        if self.query_weight is not None:
            cost *= self.query_weight
        return cost, self._weight * share


#: Listwise objectives by name.
LISTWISE: dict[str, type[ListwiseObjective]] = {
    "listnet": ListNet,
    "listmle": ListMLE,
    "xendcg": XENDCG,
    "approx_ndcg": ApproxNDCG,
}


def _check_gains(y):
    """Refuse labels without a gain 2^y - 1 that is non-negative and finite."""
    wrong = ~((y >= 0) & (y < 1000))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y must be at least 0 and below 1000 for gains 2^y; got {y[row]!r} in row {row}."
        )
