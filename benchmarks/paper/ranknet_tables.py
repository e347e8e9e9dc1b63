"""Tables 1 and 2 of the RankNet paper: pairwise accuracy on artificial data, and training on ties.

Table 1: a linear net and one with five hidden units, by size of the training set, as in
``ranknet_table1.py``. Table 2: ten hidden units on the random polynomial, with and without pairs of
equal labels. Other random functions than the paper's are drawn, so figures are means over seeds.
"""

import numpy as np
from protocol import measure, parser_of
from ranknet_table1 import DATA, HIDDEN, METRIC, PAPER, SIZES, accuracy

from treerank.baselines.ranknet import RankNet
from treerank.metrics import get_metric

TABLE2 = {100: (0.595, 0.596), 500: (0.670, 0.669), 1000: (0.681, 0.682), 5000: (0.690, 0.688)}
N_SEEDS = {"full": 5, "quick": 2, "tiny": 1}
N_EPOCHS = {"full": 100, "quick": 30, "tiny": 1}


class TiesRankNet(RankNet):
    """RankNet that also compares documents of equal labels, with a target of one half."""

    pairs = "with_ties"


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", type=int, choices=(1, 2), default=[1, 2])
    arguments = parser.parse_args(argv)
    protocol, tiny = arguments.protocol, arguments.protocol == "tiny"
    seeds = range(N_SEEDS[protocol])
    if 1 in arguments.tables:
        paper = [
            {"data": data, "model": model, "accuracy": list(values)}
            for (data, model), values in PAPER.items()
        ]
        points = [
            {"data": data, "model": model, "n_vectors": n_vectors, "seed": seed}
            for n_vectors in SIZES[: 1 if tiny else None]
            for data, model in list(PAPER)[: 1 if tiny else None]
            for seed in seeds
        ]
        about = {"paper": paper, "sizes": list(SIZES)}
        measure(arguments, f"ranknet-table1-{protocol}", about, points, run_table1)
    if 2 in arguments.tables:
        about = {
            "paper": {str(n): {"no ties": a, "all ties": b} for n, (a, b) in TABLE2.items()},
            "n_epochs": N_EPOCHS[protocol],
        }
        points = [
            {"n_vectors": n_vectors, "ties": ties, "seed": seed}
            for n_vectors in list(TABLE2)[: 1 if tiny else None]
            for ties in (False, True)
            for seed in seeds
        ]
        measure(arguments, f"ranknet-table2-{protocol}", about, points, run_table2)


def run_table1(about, data, model, n_vectors, seed):
    """Train one net on one of the two functions."""
    return {"accuracy": float(accuracy(DATA[data](seed), HIDDEN[model], n_vectors, seed))}


def run_table2(about, n_vectors, ties, seed):
    """Train with or without pairs of equal labels; test on pairs of different values."""
    X, levels, values = DATA["poly"](seed)
    qid = np.arange(len(X)) // 50
    train, validation, test = slice(n_vectors), slice(-10_000, -5_000), slice(-5_000, None)
    ranker = (TiesRankNet if ties else RankNet)(
        (10,),
        n_epochs=about["n_epochs"],
        batch_size=50,
        learning_rate=0.03,
        decay="step",
        decay_epochs=max(1, about["n_epochs"] // 4),
        early_stopping_rounds=about["n_epochs"],
        metric=METRIC,
        calibration=None,
        random_state=seed,
    )
    held_out = X[validation], values[validation], qid[validation]
    ranker.fit(X[train], levels[train], qid[train], eval_set=held_out)
    scores = ranker.predict(X[test])
    return {"accuracy": float(get_metric(METRIC)(values[test], scores, qid[test]))}


if __name__ == "__main__":
    main()
