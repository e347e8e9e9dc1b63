"""Fits by several workers: the same model as by one, whatever data, partitions and settings."""

import numpy as np
from worker_fits import SETTINGS, assert_same

from treerank import HistogramTrees, TreeDirectRanker, XGBoostTrees


def documents(random):
    """Return drawn documents, with ties, missing values and queries of very different sizes."""
    n_queries = int(random.integers(2, 60))
    sizes = random.integers(1, random.choice([3, 12, 80]), size=n_queries)
    n, n_features = int(sizes.sum()), int(random.integers(1, 7))
    X = random.standard_normal((n, n_features)).astype(random.choice(["f4", "f8"]))
    X = np.round(X, int(random.integers(4)))
    X[random.random(X.shape) < random.choice([0.0, 0.2])] = np.nan
    y = np.round(np.nan_to_num(X).sum(axis=1) + random.standard_normal(n)).clip(0, 4)
    ids = np.repeat(np.arange(n_queries), sizes)
    qid = ids if random.random() < 0.5 else np.array([f"q{each}" for each in ids])
    order = random.permutation(n)
    y[order[:2]], qid[order[1]] = [0, 1], qid[order[0]]  # something to learn
    return X[order], y[order], qid[order]


def drawn_trees(random, **settings):
    """Return trees of an engine that several workers grow as one does."""
    settings |= {"n_estimators": int(random.integers(1, 9)), "n_jobs": 1}
    settings |= {"colsample_bytree": random.choice([0.6, 1.0])}
    if random.random() < 0.5:
        kind = {"max_depth": int(random.integers(1, 7)), "reg_lambda": random.choice([0.0, 1.0])}
        return XGBoostTrees(**settings, **kind, max_bin=int(random.integers(2, 257)))
    kind = {"num_leaves": int(random.integers(2, 32)), "max_bin": int(random.integers(2, 256))}
    kind |= {"min_child_samples": int(random.integers(1, 30))}
    kind |= {"subsample_queries": random.choice([0.3, 1.0])}
    return HistogramTrees(
        **settings,
        **kind,
        precision=random.choice(["float32", "int16", "int8"]),
        grow_policy=random.choice(["leafwise", "depthwise"]),
    )


def case(random):
    """Fit by one process and by drawn workers, and compare all that can be seen."""
    X, y, qid = documents(random)
    columns, stops = {}, {}
    if random.random() < 0.5:
        weights = random.choice([0.0, 0.5, 1.0, 3.0], p=[0.1, 0.3, 0.3, 0.3], size=len(y))
        columns["sample_weight"] = weights
    if random.random() < 0.5:
        columns["eval_set"] = X, y, qid
        stops = {"early_stopping_rounds": int(random.integers(1, 4))}
    trees = drawn_trees(random, **stops)
    settings = random.choice(list(SETTINGS.values())) | {"random_state": int(random.integers(99))}
    if isinstance(trees, HistogramTrees) and len(y) > 20:
        trees.subsample = random.choice([0.3, 1.0])
    ranker, n_workers = TreeDirectRanker(trees, **settings), int(random.integers(1, 5))
    assert_same(ranker, n_workers, X, y, qid, rng=random, **columns)
