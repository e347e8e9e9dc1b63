"""NDCG@10 of RankNet* on the five folds of MQ2008, without queries that have no relevant document.

``python benchmarks/paper/ranknet_star_mq2008.py FOLDER``. Features are transformed to normal
distributions as in section 4.4 of the paper, and each activation of the paper's grid is tried. The
validation part of a fold stops training early and chooses the activation.
"""

import sys

import numpy as np
from transforms import NormalTransformer

from treerank.baselines.neural.ranknet import RankNetStar
from treerank.datasets.folds import load_folds

ACTIVATIONS = ("tanh", "linear")
PAPER = 0.720


def fit_fold(train, validation, activation):
    ranker = RankNetStar(
        activation=activation, n_epochs=20, early_stopping_rounds=7, random_state=0
    )
    return ranker.fit(*train, eval_set=validation)


def main():
    chosen = []
    for fold in load_folds(sys.argv[1]):
        normal = NormalTransformer().fit(fold.train.X)
        parts = (fold.train, fold.validation, fold.test)
        train, validation, test = [(normal.transform(p.X), p.y, p.qid) for p in parts]
        rankers = {name: fit_fold(train, validation, name) for name in ACTIVATIONS}
        held_out = {name: ranker.score(*validation) for name, ranker in rankers.items()}
        best = max(held_out, key=held_out.get)
        chosen.append(rankers[best].score(*test))
        tested = {name: round(ranker.score(*test), 4) for name, ranker in rankers.items()}
        print(f"{fold.name}: chose {best}, test NDCG@10 {chosen[-1]:.4f}; {tested}", flush=True)
    print(f"mean {np.mean(chosen):.4f}; the paper has {PAPER:.3f}")


if __name__ == "__main__":
    main()
