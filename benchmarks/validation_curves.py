"""Validation curves: NDCG@10 of each validation query after every ten trees of TreeDirectRanker."""

import itertools

import numpy as np
from bench_quality import NDCG_AT_10, folds_of, read_variant
from best_rankers import MSRD

from treerank import TreeDirectRanker
from treerank.datasets.letor import read_letor
from treerank.feature_parts.registry import make_feature_part

DEFAULT = "feature_part=lightgbm"
#: Trees of a fit without an eval_set; trees between two measurements.
USUAL, STEP = 100, 10
#: Trees times learning rate, on MSRD and elsewhere.
LENGTH = {True: 20, False: 10}


def parts_of(name, folder):
    """Yield (train, validation), each X, y, qid."""
    if name == MSRD:
        data = np.load(folder / MSRD / "msrd.npz")
        columns = [data[column] for column in ("X", "y", "qid")]
        for out in range(3):
            cuts = (data["fold"] < 3) & (data["fold"] != out), data["fold"] == out
            yield tuple(tuple(column[cut] for column in columns) for cut in cuts)
    elif name.startswith("mslr"):
        yield tuple(tuple(read_letor(folder / name / f"{p}.txt")) for p in ("train", "vali"))
    else:
        for train, valid, _ in folds_of(name, folder):
            yield train, valid


def measure(setting, train, valid, length, seed):
    """Return NDCG@10 of each validation query after every ten trees."""
    settings = read_variant(f"{DEFAULT},{setting}")
    part = make_feature_part(settings.pop("feature_part"))
    own = part.get_params().keys() & settings
    part.set_params(n_jobs=1, **{name: settings.pop(name) for name in own})
    part.set_params(n_estimators=max(USUAL, round(length / part.learning_rate)))
    found, trees = [], itertools.count(1)

    def ndcg(y, scores, qid):
        if next(trees) % STEP == 0:
            found.append(NDCG_AT_10.per_query(y, scores, qid))
        return 0.0  # nothing is stopped by it

    ranker = TreeDirectRanker(part, metric=ndcg, random_state=seed, **settings)
    ranker.fit(*train, eval_set=valid)
    return np.array(found)


def columns_of(values):
    """Return the values of queries after 100 trees, and where the other half is best."""
    values = values[:, ~np.isnan(values[0])]
    half = np.random.default_rng(0).permutation(values.shape[1]) % 2
    best = [values[:, half != side].mean(axis=1).argmax() for side in (0, 1)]
    stopped = values[np.array(best)[half], np.arange(values.shape[1])]
    return np.stack([values[USUAL // STEP - 1], stopped])
