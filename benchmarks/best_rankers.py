"""Rankers and data of ``bench_best.py``: the best ranker, and others with the same trees."""

from operator import itemgetter
from unittest.mock import patch

import numpy as np
import quality_rankers
from bench_quality import NDCG_AT_10, folds_of
from quality_rankers import PEERS, fit_ours
from refit import joined, refitted

from treerank import TreeDirectRanker

MSRD = "msrd"
#: Leaves of the peers' trees, and on MSRD.
LEAVES = 15, 31
#: Settings of searched peers; the depth is that of CatBoost's trees.
CANDIDATES = [
    {"RATE": rate, "LEAVES": leaves, "DEPTH": depth}
    for rate in (0.05, 0.1)
    for leaves, depth in ((7, 4), (15, 5), (31, 6), (63, 8))
]


def fit_best(train, valid, seed):
    """Fit the best ranker, on one thread."""
    ranker = TreeDirectRanker.best(random_state=seed)
    ranker.set_params(**{f"feature_part__{i}__n_jobs": quality_rankers.JOBS for i in range(2)})
    return ranker.fit(*train, eval_set=valid).predict


def fit_best_to_all(train, valid, seed):
    """Fit the best ranker to both parts."""
    return fit_best(joined(train, valid), None, seed)


def searched(fit):
    """Return a function that fits all candidates and keeps the best on the validation part."""

    def fit_candidates(train, valid, seed):
        found = []
        for candidate in CANDIDATES:
            with patch.multiple(quality_rankers, **candidate):
                predict = fit(train, valid, seed)
            found.append((NDCG_AT_10(valid[1], predict(valid[0]), valid[2]), predict))
            print(f"  {candidate} {found[-1][0]:.4f} on the validation part", flush=True)
        return max(found, key=itemgetter(0))[1]

    return fit_candidates


STOPPED = PEERS | {"TreeDirectRanker()": lambda *data: fit_ours({}, *data)}
RANKERS = STOPPED | {"best": fit_best}
SEARCHED = {f"{label}, searched": searched(fit) for label, fit in PEERS.items()}
REFITTED = {f"{label}, refitted": refitted(fit) for label, fit in STOPPED.items()}
REFITTED["best, refitted"] = fit_best_to_all


def parts_of(name, folder):
    """Yield (train, validation, test), each X, y, qid."""
    if name != MSRD:
        yield from folds_of(name, folder)
        return
    data = np.load(folder / MSRD / "msrd.npz")
    fold = data["fold"]
    cuts = fold < 2, fold == 2, fold > 2
    yield tuple(tuple(data[column][cut] for column in ("X", "y", "qid")) for cut in cuts)
