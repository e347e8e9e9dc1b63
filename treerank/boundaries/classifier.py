"""A classifier made from a ranker: thresholds on the scores cut the list into ordered classes.

There is one threshold between each two neighboring classes. The ranker learns from pairs, so a
small class takes part in many of them.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from treerank.boundaries.neighbors import find_boundaries
from treerank.checks import check_choice

#: Where thresholds come from.
THRESHOLDS = ("labels", "peaks")


@dataclass(eq=False, repr=False)
class RankClassifier(ClassifierMixin, BaseEstimator):
    """Classify into ordered classes by the scores of a ranker.

    Parameters
    ----------
    ranker : estimator
        With ``fit(X, y, qid)`` and ``predict(X)``; cloned. The number of a class, in sorted order,
        is the relevance.
    thresholds : {"labels", "peaks"}, default="labels"
        Where to cut: ``"labels"`` puts as many training documents as possible into their own class
        (weighted by ``class_weight``); ``"peaks"`` cuts where r peaks along the sorted training
        documents and uses no label.
    class_weight : {"balanced"}, dict or None, default=None
        Weight of a document of each class for ``"labels"``; ``"balanced"`` gives all classes the
        same total weight.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker.
    classes_ : ndarray of shape (n_classes,)
        Labels, rising.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Lowest score of each class but the first, rising.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from treerank import TreeDirectRanker
    >>> from treerank.datasets.synthetic import make_gaussian_classes
    >>> X, y, _ = make_gaussian_classes(300, n_classes=3, random_state=0)
    >>> classifier = RankClassifier(TreeDirectRanker(random_state=0)).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    """

    __metadata_request__fit: ClassVar = {"qid": True}

    ranker: Any
    _: KW_ONLY
    thresholds: str = "labels"
    class_weight: str | dict[Any, float] | None = None

    def fit(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Fit the ranker, then the thresholds; ``qid`` as in the ranker's own ``fit``."""
        check_choice("thresholds", self.thresholds, THRESHOLDS)
        y = validate_data(self, y=y)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have two classes or more; got one class or none, {self.classes_.tolist()}."
            )
        self.ranker_ = clone(self.ranker)
        self.ranker_.fit(X, codes, qid)
        validate_data(self, X, skip_check_array=True)  # sets names and number of features
        self.thresholds_ = self._find_thresholds(self.ranker_.predict(X), codes)
        return self

    def _find_thresholds(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the thresholds for the scores of the training documents."""
        if self.thresholds == "peaks":
            return find_boundaries(scores, n_classes=len(self.classes_)).thresholds
        y = self.classes_[codes]
        weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return best_thresholds(scores, codes, weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each document."""
        check_is_fitted(self)
        codes = np.searchsorted(self.thresholds_, self.ranker_.predict(X), side="right")
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # on classes without an order
        return tags


def best_thresholds(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the thresholds that give the largest weight of documents their own class.

    Exact, by dynamic programming over the sorted documents: O(n_documents x n_classes).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Scores of the ranker.
    codes : ndarray of shape (n_documents,)
        Class of each document, from 0.
    weight : ndarray of shape (n_classes,)
        Weight of a document of each class.

    Returns
    -------
    ndarray of shape (n_classes - 1,)
        Thresholds, rising; infinite if it is best to leave a class empty.

    Examples
    --------
    >>> best_thresholds(np.array([1.0, 2.0, 3.0, 5.0]), np.array([0, 1, 0, 1]), np.ones(2))
    array([1.5])
    """
    order = np.argsort(scores, kind="stable")
    scores, codes = scores[order], codes[order]
    may_cut = np.append(True, np.append(scores[1:] > scores[:-1], True))
    n_documents, n_classes = len(scores), len(weight)
    own = np.zeros((n_classes, n_documents + 1))  # [c, i]: weight of class c in the first i
    own[codes, np.arange(1, n_documents + 1)] = weight[codes]
    own = np.cumsum(own, axis=1)
    best, starts = own[0], []
    for c in range(1, n_classes):
        gain = np.where(may_cut, best - own[c], -np.inf)
        highest = np.maximum.accumulate(gain)
        rises = np.append(True, highest[1:] > highest[:-1])
        starts.append(np.maximum.accumulate(np.where(rises, np.arange(n_documents + 1), 0)))
        best = highest + own[c]
    bounds = np.concatenate([[-np.inf], (scores[:-1] + scores[1:]) / 2, [np.inf]])
    end, thresholds = n_documents, []
    for start in reversed(starts):
        end = start[end]
        thresholds.append(bounds[end])
    return np.array(thresholds[::-1])
