"""Gaussian classes: the synthetic data of the DirectRanker paper.

The documents of each relevance class have a Gaussian distribution, with a mean and a standard
deviation for each feature [1]_. More classes, fewer features and more noise on the labels make the
data more difficult.

References
----------
.. [1] The DirectRanker paper: Pairwise learning to rank by neural networks revisited. Section
   4.5; shares of the labels: section 4.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from treerank.checks import check_count, check_number
from treerank.datasets.generator_arguments import (
    RandomState,
    as_generator,
    check_cells,
    check_shares,
)


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """A Gaussian for each relevance class, from which data sets are sampled.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
        Mean of each feature in each class.
    deviations : ndarray of shape (n_classes, n_features)
        Standard deviation of each feature in each class.
    label_noise : float, default=0.0
        Standard deviation of Gaussian noise that is added to the class of a document; the sum,
        rounded to the nearest class, is the label.
    class_shares : sequence of float, default=None
        Share of each class; ``None`` makes them equal.

    Examples
    --------
    An independent training and test set of the same distribution:

    >>> classes = GaussianClasses.drawn(n_features=3, n_classes=2, random_state=0)
    >>> X, y, qid = classes.sample(1000, random_state=1)
    >>> X_test, y_test, qid_test = classes.sample(100, random_state=2)
    >>> X.shape, X_test.shape
    ((1000, 3), (100, 3))
    """

    means: np.ndarray
    deviations: np.ndarray
    label_noise: float = 0.0
    class_shares: Sequence[float] | np.ndarray | None = None

    def __post_init__(self) -> None:
        means, deviations = np.asarray(self.means), np.asarray(self.deviations)
        if means.ndim != 2 or means.size == 0 or means.shape != deviations.shape:
            raise ValueError(
                "means and deviations must have the same shape (n_classes, n_features); "
                f"got {means.shape} and {deviations.shape}."
            )
        if not (np.isfinite(means).all() and np.isfinite(deviations).all()):
            raise ValueError("means and deviations must be finite; got NaN or infinity.")
        if (deviations < 0).any():
            raise ValueError(f"deviations must be non-negative; got {deviations.min()!r}.")
        check_number("label_noise", self.label_noise, at_least=0)
        if self.class_shares is not None:
            check_shares("class_shares", self.class_shares, length=len(means))

    @classmethod
    def drawn(
        cls,
        *,
        n_features: int = 70,
        n_classes: int = 5,
        label_noise: float = 0.0,
        class_shares: Sequence[float] | None = None,
        random_state: RandomState = None,
    ) -> Self:
        """Draw means between 0 and 100 and standard deviations between 50 and 100."""
        check_cells(n_classes=n_classes, n_features=n_features)
        rng = as_generator(random_state)
        shape = (n_classes, n_features)
        means, deviations = rng.uniform(0, 100, shape), rng.uniform(50, 100, shape)
        return cls(means, deviations, label_noise, class_shares)

    def sample(
        self,
        n_documents: int,
        *,
        documents_per_query: int | None = None,
        random_state: RandomState = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw documents independently of each other.

        Parameters
        ----------
        n_documents : int
            Number of rows.
        documents_per_query : int, default=None
            Rows of each query; the last query may have fewer. ``None`` makes one query.
        random_state : int, Generator, RandomState or None, default=None
            Seed; the same seed gives the same data.

        Returns
        -------
        X : ndarray of shape (n_documents, n_features)
            Features.
        y : ndarray of shape (n_documents,)
            Labels from 0 to ``n_classes - 1``.
        qid : ndarray of shape (n_documents,)
            Query of each row, from 0.
        """
        check_cells(n_documents=n_documents, n_features=self.means.shape[1])
        if documents_per_query is not None:
            check_count("documents_per_query", documents_per_query, at_most=2**31 - 1)
        rng = as_generator(random_state)
        classes = self._sample_classes(n_documents, rng)
        X = rng.standard_normal((n_documents, self.means.shape[1]))
        X *= self.deviations[classes]
        X += self.means[classes]
        noisy = classes + self.label_noise * rng.standard_normal(n_documents)
        y = np.clip(np.rint(noisy), 0, len(self.means) - 1).astype(np.int64)
        return X, y, np.arange(n_documents) // (documents_per_query or n_documents)

    def _sample_classes(self, n_documents, rng):
        n_classes = len(self.means)
        if self.class_shares is None:
            return rng.integers(n_classes, size=n_documents)
        shares = check_shares("class_shares", self.class_shares)
        return rng.choice(n_classes, size=n_documents, p=shares)


def make_gaussian_classes(
    n_documents: int = 100_000,
    *,
    n_features: int = 70,
    n_classes: int = 5,
    label_noise: float = 0.0,
    class_shares: Sequence[float] | None = None,
    documents_per_query: int | None = None,
    n_test_documents: int = 0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, ...]:
    """Make data in which every relevance class is a Gaussian with random parameters.

    Each class has, for each feature, a mean uniform in [0, 100] and a standard deviation
    uniform in [50, 100], as in section 4.5 of the DirectRanker paper, whose training sets have
    10^5 documents and whose test sets 10^4.

    Parameters
    ----------
    n_documents : int, default=100_000
        Number of rows.
    n_features : int, default=70
        Number of columns.
    n_classes : int, default=5
        Number of relevance classes.
    label_noise : float, default=0.0
        Standard deviation of Gaussian noise that is added to the class of a document; the sum,
        rounded to the nearest class, is the label.
    class_shares : sequence of float, default=None
        Share of each class, from the least relevant; ``None`` makes them equal.
    documents_per_query : int, default=None
        Rows of each query; the last query may have fewer. ``None`` makes one query.
    n_test_documents : int, default=0
        Rows of a second set from the same Gaussians; 0 makes no second set.
    random_state : int, Generator, RandomState or None, default=None
        Seed; the same seed gives the same data.

    Returns
    -------
    X : ndarray of shape (n_documents, n_features)
        Features.
    y : ndarray of shape (n_documents,)
        Labels from 0 to ``n_classes - 1``.
    qid : ndarray of shape (n_documents,)
        Query of each row, from 0.
    X_test, y_test, qid_test : ndarrays
        The second set, only if ``n_test_documents`` is positive.

    See Also
    --------
    GaussianClasses : the distribution, from which more than two sets can be drawn.

    Examples
    --------
    >>> X, y, qid = make_gaussian_classes(200, n_features=4, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 4), [0, 1, 2, 3, 4])
    """
    check_count("n_test_documents", n_test_documents, at_least=0)
    check_cells(n_test_documents=max(1, n_test_documents), n_features=n_features)
    rng = as_generator(random_state)
    classes = GaussianClasses.drawn(
        n_features=n_features,
        n_classes=n_classes,
        label_noise=label_noise,
        class_shares=class_shares,
        random_state=rng,
    )
    sizes = [n_documents, n_test_documents] if n_test_documents else [n_documents]
    options: dict[str, Any] = {"documents_per_query": documents_per_query, "random_state": rng}
    return tuple(part for size in sizes for part in classes.sample(size, **options))
