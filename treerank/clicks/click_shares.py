r"""Click shares: how the clicks of a query are shared by its documents, given their exposure.

If a document is exposed :math:`w_i` times and clicked with probability proportional to
:math:`e^{s_i}` each time, then of the :math:`c` clicks of its query, the share

.. math:: p_i = \frac{w_i e^{s_i}}{\sum_j w_j e^{s_j}}

is expected to be its own. The loss is the negative log likelihood
:math:`-\sum_i w_i y_i \log p_i` of click rates :math:`y`. How often a query is clicked at all is
no concern of it, and a document that was exposed for longer counts for more.
"""

from dataclasses import dataclass

import numpy as np

from treerank.checks import refuse_where
from treerank.objectives.lists.kernels import cross_entropy
from treerank.objectives.lists.objective import ListwiseLoss, ListwiseObjective, Prices


@dataclass(frozen=True)
class ClickShares(ListwiseLoss):
    """Negative log likelihood of the shares of documents in the clicks of their query.

    Labels are clicks over exposure, and ``sample_weight`` is the exposure: impressions, or sums
    of propensities. The hessian is the exact diagonal.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> objective = make_objective([0.5, 0.5], loss=ClickShares(), sample_weight=[6, 2])
    >>> value, gradient, hessian = objective(np.zeros(2))
    >>> bool(np.allclose(gradient, 0)), hessian  # clicks are shared as the exposure is
    (True, array([0.75, 0.75]))
    """

    def check_labels(self, y: np.ndarray) -> None:
        """Refuse negative rates."""
        refuse_where(y < 0, y, "y must be at least 0 as a rate")

    def prepared(self, lists: ListwiseObjective) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithm of the exposure, and the clicks."""
        exposure = lists.judgments.sample_weight[lists.rows]
        return np.log(exposure), lists.weight * lists.y

    def over_queries(self, lists: ListwiseObjective, scores: np.ndarray, iteration: int) -> Prices:
        """Return the negative log likelihood of each query and its derivatives."""
        log_exposure, clicks = lists.prepared
        return cross_entropy(scores + log_exposure, clicks, lists.groups.indptr)
