"""Large-margin PRank: the mean of many perceptrons, each of which sees some of the documents.

The mean lies inside the set of weights that make no error rather than at its edge, as the Bayes
point machine does (OAP-BPM, online aggregate PRank).
"""

from typing import ClassVar

from treerank.baselines.linear.prank import PRank
from treerank.checks import check_count


class LargeMarginPRank(PRank):
    """The mean of many PRanks (OAP-BPM).

    Weights of any kind are refused.

    Parameters
    ----------
    n_perceptrons : int, default=100
        Number of perceptrons.
    share : float, default=0.3
        Chance of a document to be shown to a perceptron, drawn anew every epoch.
    n_epochs, patience, metric, calibration, random_state
        See :class:`~treerank.baselines.linear.prank.PRank`.

    Attributes
    ----------
    coef_, mean_, levels_, thresholds_, evals_result_
        See :class:`~treerank.baselines.linear.prank.PRank`.

    References
    ----------
    Harrington (2003), Online ranking/collaborative filtering using the perceptron algorithm; the
    defaults are those that Burges et al. (2005) found best.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.digitize(X[:, 0] - X[:, 1], [-1.0, 1.0])
    >>> ranker = LargeMarginPRank(random_state=0).fit(X, y)
    >>> bool((ranker.predict_level(X) == y).mean() > 0.9)
    True
    """

    _learned: ClassVar[tuple[str, ...]] = PRank._learned

    def __init__(
        self,
        *,
        n_perceptrons=100,
        share=0.3,
        n_epochs=100,
        patience=10,
        metric="ndcg@10",
        calibration="eval_set",
        random_state=None,
    ):
        super().__init__(
            n_epochs=n_epochs,
            patience=patience,
            metric=metric,
            calibration=calibration,
            random_state=random_state,
        )
        self.n_perceptrons = n_perceptrons
        self.share = share

    def _check_settings(self):
        super()._check_settings()
        check_count("n_perceptrons", self.n_perceptrons)
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be above 0 and at most 1; got {self.share!r}.")
