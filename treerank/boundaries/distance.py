"""Rank distance: |r(a, b)| of two documents, for clustering and nearest neighbors."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True, eq=False)
class RankDistance:
    """The distance |r(a, b)| of two documents under a fitted ranker.

    It is symmetric, obeys the triangle inequality, and is 0 for documents of equal score. Pass it
    as ``metric=`` to scikit-learn, or pass the result of :meth:`pairwise` together with
    ``metric="precomputed"``, which is faster. Each document is scored once; this object keeps its
    score.

    Parameters
    ----------
    ranker : fitted ranker
        With ``predict`` and ``head_``.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from treerank import TreeDirectRanker
    >>> from treerank.datasets.synthetic import make_gaussian_classes
    >>> X, y, _ = make_gaussian_classes(120, n_classes=3, random_state=0)
    >>> distance = RankDistance(TreeDirectRanker(random_state=0).fit(X, y))
    >>> neighbors = KNeighborsClassifier(3, metric=distance, algorithm="brute").fit(X, y)
    >>> neighbors.score(X, y) > 0.9
    True
    """

    ranker: Any
    _known_scores: dict[bytes, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_is_fitted(self.ranker)

    def __call__(self, a: ArrayLike, b: ArrayLike) -> float:
        """Return the distance of two documents."""
        return float(np.abs(self._compare(self._score(a), self._score(b))))

    def pairwise(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return all distances, of shape (n_documents, n_documents_of_Y)."""
        scores = self.ranker.predict(X)
        others = scores if Y is None else self.ranker.predict(Y)
        return np.abs(self._compare(scores[:, None], others[None, :]))

    def _compare(self, a: float | np.ndarray, b: float | np.ndarray) -> np.ndarray:
        """Return r of scores."""
        a, b = np.broadcast_arrays(a, b)
        return self.ranker.head_.compare_scores(a, b)

    def _score(self, document: ArrayLike) -> float:
        """Return the score of one document."""
        document = np.ascontiguousarray(document, dtype=np.float64)
        key = document.tobytes()
        if key not in self._known_scores:
            self._known_scores[key] = float(self.ranker.predict(document.reshape(1, -1))[0])
        return self._known_scores[key]
