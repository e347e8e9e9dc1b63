"""Does TreeDirectRanker rank as well as the engines' own rankers? NDCG@10 on real folds.

The same trees for everybody (learning rate, leaves, early stopping on the validation part by
NDCG@10), queries without a relevant document left out, several seeds; the error is that of the
mean over folds. ``--variant weight=query,smoothing=1.0`` adds settings of ours.
"""

import argparse
import ast
import functools
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import xgboost
from timing import say_versions

from treerank import NDCG, TreeDirectRanker
from treerank.datasets.folds import load_folds
from treerank.datasets.letor import read_letor
from treerank.datasets.synthetic import make_web_search
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.registry import make_feature_part

TREES, RATE, LEAVES, PATIENCE, JOBS = 1000, 0.05, 15, 100, 1


def folds_of(name, folder):
    """Yield (train, validation, test), each X, y, qid."""
    if name == "clueweb09":
        parts = [tuple(read_letor(folder / name / f"S{s}.txt")) for s in range(1, 6)]
        for test in range(5):
            rest = [parts[(test + s) % 5] for s in (2, 3, 4)]
            train = [np.concatenate(arrays) for arrays in zip(*rest, strict=True)]
            yield train, parts[(test + 1) % 5], parts[test]
    elif name == "synthetic":
        for seed in range(3):
            X, y, qid = make_web_search(400, random_state=seed)
            cuts = qid < 150, (qid >= 150) & (qid < 250), qid >= 250
            yield tuple((X[cut], y[cut], qid[cut]) for cut in cuts)
    else:
        for fold in load_folds(folder / name):
            yield tuple(fold.train), tuple(fold.validation), tuple(fold.test)


def sorted_by_query(X, y, qid):
    """What the engines' own rankers ask for: rows by query, and the sizes of queries."""
    _, codes = np.unique(qid, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return X[order], y[order], codes[order], np.bincount(codes)


def fit_ours(settings, train, valid, seed):
    settings = {"feature_part": "lightgbm"} | settings
    part = make_feature_part(settings.pop("feature_part"))
    by_leaf = {"grow_policy": "lossguide", "max_depth": 0}
    part.set_params(
        n_estimators=TREES,
        learning_rate=RATE,
        num_leaves=LEAVES,
        early_stopping_rounds=PATIENCE,
        n_jobs=JOBS,
        **(by_leaf if isinstance(part, XGBoostTrees) else {}),
    )
    return TreeDirectRanker(part, random_state=seed, **settings).fit(*train, eval_set=valid).predict


def fit_lightgbm(train, valid, seed):
    X, y, _, sizes = sorted_by_query(*train)
    X_valid, y_valid, _, valid_sizes = sorted_by_query(*valid)
    ranker = lightgbm.LGBMRanker(
        n_estimators=TREES,
        learning_rate=RATE,
        num_leaves=LEAVES,
        random_state=seed,
        verbosity=-1,
        n_jobs=JOBS,
    )
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    held_out = {"eval_set": [(X_valid, y_valid)], "eval_group": [valid_sizes], "eval_at": [10]}
    return ranker.fit(X, y, group=sizes, callbacks=[stop], **held_out).predict


def fit_xgboost(train, valid, seed):
    X, y, qid, _ = sorted_by_query(*train)
    X_valid, y_valid, valid_qid, _ = sorted_by_query(*valid)
    ranker = xgboost.XGBRanker(
        objective="rank:ndcg", n_estimators=TREES, learning_rate=RATE, random_state=seed,
        max_leaves=LEAVES, max_depth=0, grow_policy="lossguide", eval_metric="ndcg@10",
        early_stopping_rounds=PATIENCE, n_jobs=JOBS,
    )  # fmt: skip
    ranker.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[valid_qid], verbose=False)
    return ranker.predict


def fit_catboost(train, valid, seed):
    ranker = catboost.CatBoostRanker(
        loss_function="YetiRank", eval_metric="NDCG:top=10", iterations=TREES, random_seed=seed,
        learning_rate=RATE, early_stopping_rounds=PATIENCE, silent=True, thread_count=JOBS,
        allow_writing_files=False,
    )  # fmt: skip
    pools = [
        catboost.Pool(X, y, group_id=qid)
        for X, y, qid, _ in (sorted_by_query(*train), sorted_by_query(*valid))
    ]
    return ranker.fit(pools[0], eval_set=pools[1]).predict


PEERS = {
    "LGBMRanker lambdarank": fit_lightgbm,
    "XGBRanker rank:ndcg": fit_xgboost,
    "CatBoostRanker YetiRank": fit_catboost,
}


def read_variant(text):
    """Turn ``a=1,b=x`` into settings."""
    pairs = [pair.split("=") for pair in text.split(",") if pair]
    return {k: ast.literal_eval(v) if v[0] in "0123456789N" else v for k, v in pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", nargs="+", default=["mq2008", "ohsumed", "clueweb09"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--variant", action="append", default=[""])
    parser.add_argument("--no-peers", action="store_true")
    arguments = parser.parse_args()
    say_versions("lightgbm", "xgboost", "catboost")
    rankers = {
        f"TreeDirectRanker({text})": functools.partial(fit_ours, read_variant(text))
        for text in arguments.variant
    }
    rankers |= {} if arguments.no_peers else PEERS
    for name in arguments.sets:
        folds = list(folds_of(name, arguments.data))
        print(f"{name}: {len(folds)} folds x {arguments.seeds} seeds")
        for label, fit in rankers.items():
            values = [
                np.mean([
                    NDCG(k=10)(test[1], fit(train, valid, seed)(test[0]), test[2])
                    for seed in range(arguments.seeds)
                ])
                for train, valid, test in folds
            ]  # fmt: skip
            error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            print(f"  {label:60} {np.mean(values):.4f} +- {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
