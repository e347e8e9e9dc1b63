"""Perceptrons for ordered levels: one vector of weights, and one threshold between two levels each.

A document of score s belongs above threshold r if its level is higher than r. For every threshold
on whose wrong side it is, the weights move by the document and the threshold moves the other way.
Thresholds that start in order stay in order (Crammer and Singer, 2002, lemma 1).
"""

import numpy as np

from treerank.baselines.linear.products import dot
from treerank.numerics.compiling import njit
from treerank.numerics.random_keys import uniform
from treerank.numerics.threads import in_parts


def n_products(n_features: int, quadratic: bool) -> int:
    """Return the number of weights: features and, if quadratic, their products."""
    return n_features + quadratic * (n_features * (n_features + 1)) // 2


@njit
def _expand(x, quadratic, features):
    """Write a document's features and, if ``quadratic``, all products of two into ``features``."""
    column = len(x)
    for i in range(column):  # to assign a slice takes a second more to compile
        features[i] = x[i]
    if quadratic:
        for i in range(len(x)):
            for j in range(i, len(x)):
                features[column] = x[i] * x[j]
                column += 1


@njit(nogil=True)
def train_epoch(
    first: int,
    last: int,
    Z: np.ndarray,
    level: np.ndarray,
    order: np.ndarray,
    share: float,
    seed: int,
    epoch: int,
    quadratic: bool,
    weights: np.ndarray,
    thresholds: np.ndarray,
    errors: np.ndarray,
) -> None:
    """Train perceptrons ``first`` to ``last - 1`` on documents in this order, each on its share.

    ``Z`` are standard features, ``level`` the number of each label, and ``share`` the probability
    that a perceptron sees a document; ``seed`` and ``epoch`` decide which. The last three arguments
    are written to: ``weights`` of shape (n_perceptrons, n_weights), ``thresholds`` of shape
    (n_perceptrons, n_levels - 1) and ``errors`` of shape (n_perceptrons,), by how many levels in
    all each perceptron was wrong before it learned.
    """
    for p in range(first, last):
        key = seed, epoch * len(weights) + p
        errors[p] = _train(Z, level, order, share, key, quadratic, weights[p], thresholds[p])


@njit
def _train(Z, level, order, share, key, quadratic, weight, threshold):
    features = np.empty(len(weight))
    n_wrong = 0
    for t in order:
        if share < 1 and uniform(key[0], key[1], t) >= share:
            continue
        _expand(Z[t], quadratic, features)
        score = dot(features, weight)
        move = 0
        for r in range(len(threshold)):
            side = 1 if level[t] > r else -1
            if side * (score - threshold[r]) <= 0:
                move += side
                threshold[r] -= side
                n_wrong += 1
        if move != 0:
            for j in range(len(weight)):
                weight[j] += move * features[j]
    return n_wrong


def quadratic_scores(Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the score of each row with all products of its features."""
    scores = np.empty(len(Z))
    in_parts(_score_rows, len(Z), Z, weight, scores)
    return scores


@njit(nogil=True)
def _score_rows(first, last, Z, weight, scores):
    features = np.empty(len(weight))
    for i in range(first, last):
        _expand(Z[i], True, features)
        scores[i] = dot(features, weight)
