"""Synthetic: how section 4.5 of the DirectRanker paper trains and tests on Gaussian classes."""

from dataclasses import dataclass

import numpy as np
from gaussian_classes import GaussianClasses
from transforms import NormalTransformer

from treerank.baselines.neural.ranknet import RankNetStar
from treerank.metrics.graded_metrics import NDCG

#: Random subsets of the test set that are sorted, and their sizes.
N_SUBSETS, SUBSET_SIZES = 50, (50, 150)
#: What the paper keeps fixed unless it varies.
DEFAULTS = {"n_classes": 5, "n_features": 70, "label_noise": 0.0}
#: How networks start where the question is what they do, not which of them is best: the paper does
#: not say, and this is how the frameworks do.
START = "glorot"
#: Documents of a training query, for rankers that compare within queries only.
PER_QUERY = 100


@dataclass(eq=False, repr=False)
class LabeledRankNetStar(RankNetStar):
    """RankNet* with the cost of section 4.5: a pair weighs its higher label."""

    weight = "label"


def drawn_sets(n_train, n_test, seed, **classes):
    """Return a training set, a test set, and the Gaussians that both come from."""
    rng = np.random.default_rng(seed)
    source = GaussianClasses.drawn(**classes, random_state=rng)
    train = source.sample(n_train, documents_per_query=PER_QUERY, random_state=rng)
    return train, source.sample(n_test, random_state=rng), source


def star(n_classes, n_epochs, seed, **settings):
    """Return the network of section 4.5: 70 units, then as many as there are classes."""
    return LabeledRankNetStar((70, n_classes), n_epochs=n_epochs, random_state=seed, **settings)


def normal(train_X, *others):
    """Return features as section 4.4 transforms them, for training and other sets."""
    transformer = NormalTransformer(3**0.5).fit(train_X)
    return [transformer.transform(X) for X in (train_X, *others)]


def subset_ndcg(y, scores, seed, k=20):
    """Return the mean NDCG@20 of random subsets of a test set."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(SUBSET_SIZES[0], SUBSET_SIZES[1] + 1, size=N_SUBSETS)
    subsets = [rng.choice(len(y), min(size, len(y)), replace=False) for size in sizes]
    rows, qid = np.concatenate(subsets), np.repeat(np.arange(N_SUBSETS), list(map(len, subsets)))
    return NDCG(k=k)(y[rows], scores[rows], qid)
