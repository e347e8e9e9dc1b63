"""A classifier made from a ranker: thresholds on its scores cut the list into classes.

Its classes are ordered, so it has one threshold between each two neighbors, and pairs of
documents teach it what single documents of a small class could not.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from treerank.boundaries.neighbors import find_boundaries

THRESHOLDS = ("labels", "peaks")


class RankClassifier(ClassifierMixin, BaseEstimator):
    """Classify into ordered classes by the scores of a ranker.

    Parameters
    ----------
    ranker : estimator
        With ``fit(X, y, qid)`` and ``predict(X)``; cloned. The classes, in sorted order, are its
        relevance.
    thresholds : {"labels", "peaks"}, default="labels"
        Where to cut: where the most training documents (or the most of each class, if balanced)
        get their own class, or where r peaks along the sorted training documents, which looks at
        no label.
    class_weight : {"balanced"}, dict or None, default=None
        With ``"labels"``, what a document of each class counts; ``"balanced"`` has all classes
        count the same, however small.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker.
    classes_ : ndarray of shape (n_classes,)
        Labels, rising.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Scores from which on the next class begins, rising.
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

    def __init__(self, ranker, *, thresholds="labels", class_weight=None):
        self.ranker = ranker
        self.thresholds = thresholds
        self.class_weight = class_weight

    def fit(self, X, y, qid=None):
        """Fit the ranker, then the thresholds; ``qid`` as in the ranker's own ``fit``."""
        if self.thresholds not in THRESHOLDS:
            raise ValueError(
                f"thresholds must be one of {list(THRESHOLDS)}; got {self.thresholds!r}."
            )
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
        validate_data(self, X, skip_check_array=True)  # names and number; the ranker did the rest
        scores = self.ranker_.predict(X)
        if self.thresholds == "peaks":
            found = find_boundaries(scores, n_classes=len(self.classes_))
            self.thresholds_ = found.thresholds
        else:
            weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            self.thresholds_ = best_thresholds(scores, codes, weight)
        return self

    def predict(self, X):
        """Return the class of each document."""
        check_is_fitted(self)
        places = np.searchsorted(self.thresholds_, self.ranker_.predict(X), side="right")
        return self.classes_[places]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # on classes that do not lie in order
        return tags


def best_thresholds(scores, codes, weight):
    """Return the thresholds by which the most weight gets its own class.

    Exact, by dynamic programming over the sorted documents: O(n_documents x n_classes).

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        Of the ranker.
    codes : ndarray of shape (n_documents,)
        Classes from 0.
    weight : ndarray of shape (n_classes,)
        Of a document of each class.

    Returns
    -------
    ndarray of shape (n_classes - 1,)
        Rising; infinite where a class is best left empty.

    Examples
    --------
    >>> best_thresholds(np.array([1.0, 2.0, 3.0, 5.0]), np.array([0, 1, 0, 1]), np.ones(2))
    array([1.5])
    """
    order = np.argsort(scores, kind="stable")
    scores, codes = scores[order], codes[order]
    may_cut = np.append(True, np.append(scores[1:] > scores[:-1], True))
    n_documents, n_classes = len(scores), len(weight)
    own = np.zeros((n_classes, n_documents + 1))  # weight of class c among the first i
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
