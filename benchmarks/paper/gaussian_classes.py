"""Gaussian classes: the synthetic data of sections 4.5 and 4.6 of the DirectRanker paper.

The documents of each relevance class have a Gaussian distribution, with a mean and a standard
deviation for each feature. More classes, fewer features and more noise on the labels make the data
more difficult.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """A Gaussian for each relevance class, from which data sets are sampled.

    ``means`` and ``deviations`` have the shape (n_classes, n_features). Gaussian noise of the
    standard deviation ``label_noise`` is added to the class of a document; the sum, rounded to the
    nearest class, is the label.
    """

    means: np.ndarray
    deviations: np.ndarray
    label_noise: float = 0.0

    @classmethod
    def drawn(cls, *, n_features=70, n_classes=5, label_noise=0.0, random_state=None):
        """Draw means between 0 and 100 and standard deviations between 50 and 100."""
        rng, shape = np.random.default_rng(random_state), (n_classes, n_features)
        return cls(rng.uniform(0, 100, shape), rng.uniform(50, 100, shape), label_noise)

    def sample(self, n_documents, *, documents_per_query=None, random_state=None):
        """Return X, y and qid of documents that are drawn independently of each other."""
        rng = np.random.default_rng(random_state)
        classes = rng.integers(len(self.means), size=n_documents)
        X = rng.standard_normal((n_documents, self.means.shape[1]))
        X *= self.deviations[classes]
        X += self.means[classes]
        noisy = classes + self.label_noise * rng.standard_normal(n_documents)
        y = np.clip(np.rint(noisy), 0, len(self.means) - 1).astype(np.int64)
        return X, y, np.arange(n_documents) // (documents_per_query or n_documents)
