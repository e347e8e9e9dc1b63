"""Table 1 of the RankNet paper: pairwise test accuracy on its artificial data.

A linear net and one with five hidden units learn a random network and a random polynomial from
100 to 12,500 vectors in queries of 50; 5,000 vectors choose the epoch, 5,000 test. Other random
functions than the paper's were drawn, so figures are means over seeds, with their spread.
"""

import sys
import warnings

import numpy as np

from treerank.baselines.ranknet import RankNet
from treerank.datasets.synthetic import make_random_network, make_random_polynomial
from treerank.metrics import get_metric

SIZES = (100, 500, 2500, 12500)
HIDDEN = {"linear": (), "2 layer": (5,)}
DATA = {"net": make_random_network, "poly": make_random_polynomial}
PAPER = {
    ("net", "linear"): (82.39, 88.86, 89.91, 90.06),
    ("net", "2 layer"): (82.29, 88.80, 96.94, 97.67),
    ("poly", "linear"): (59.63, 66.68, 68.30, 69.00),
    ("poly", "2 layer"): (59.54, 66.97, 68.56, 69.27),
}
METRIC = "pairwise_accuracy"


def accuracy(data, hidden, n_vectors, seed):
    X, y, qid = data
    train, validation, test = slice(n_vectors), slice(-10_000, -5_000), slice(-5_000, None)
    ranker = RankNet(
        hidden,
        n_epochs=100,
        batch_size=50,
        learning_rate=0.03,
        decay="step",
        decay_epochs=25,
        early_stopping_rounds=100,
        metric=METRIC,
        calibration=None,
        random_state=seed,
    )
    held_out = X[validation], y[validation], qid[validation]
    ranker.fit(X[train], y[train], qid[train], eval_set=held_out)
    return get_metric(METRIC)(y[test], ranker.predict(X[test]), qid[test])


def main():
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    warnings.simplefilter("ignore")
    for (name, model), published in PAPER.items():
        for n_vectors, theirs in zip(SIZES, published, strict=True):
            values = []
            for seed in range(n_seeds):
                data = DATA[name](450, random_state=seed)
                values.append(100 * accuracy(data, HIDDEN[model], n_vectors, seed))
            mean, spread = np.mean(values), np.std(values)
            print(
                f"{name:5}{model:8}{n_vectors:6}  ours {mean:6.2f} +- {spread:4.2f}  "
                f"paper {theirs:6.2f}  difference {mean - theirs:+5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
