"""Does TreeDirectRanker rank as well as the engines' own rankers? NDCG@10 on real folds.

All rankers have the same trees: learning rate, leaves, early stopping on the validation part by
NDCG@10 (``quality_rankers.py``). Queries without a relevant document are left out. There are
several seeds; the error is that of the mean over folds. ``--variant weight=query,smoothing=1.0``
adds a TreeDirectRanker with these settings.
"""

import argparse
import ast
import functools
from pathlib import Path

import numpy as np
from quality_rankers import PEERS, fit_ours
from timing import say_versions

from treerank.datasets.folds import load_folds
from treerank.datasets.letor import read_letor
from treerank.datasets.web_search import make_web_search
from treerank.metrics import NDCG

NDCG_AT_10 = NDCG(k=10)


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
                    NDCG_AT_10(test[1], fit(train, valid, seed)(test[0]), test[2])
                    for seed in range(arguments.seeds)
                ])
                for train, valid, test in folds
            ]  # fmt: skip
            error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            print(f"  {label:60} {np.mean(values):.4f} +- {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
