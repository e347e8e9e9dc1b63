"""Tables 1 and 2 of the RankNet paper: pairwise accuracy on artificial data, and training on ties.

Table 1: a linear net and one of five hidden units learn a random network and a random polynomial
from 100 to 12,500 vectors in queries of 50; 5,000 vectors choose the epoch, 5,000 test. Table 2:
ten hidden units on the polynomial, with and without pairs of equal labels.

The paper has one draw of each function and does not specify it completely. We assume the following.
No product of the polynomial holds a feature twice. Test pairs of the network are those of different
levels. Test pairs of the polynomial, for which the text names no bins, are all pairs, by the value
of the function. Training pairs are of different levels in both, as the numbers of pairs in Table 2
show. Functions are drawn anew for each seed, so that there is a standard deviation.

The output of the network is linear.
"""

import numpy as np
from parameters import about_rankers, as_compared
from protocol import measure, parser_of
from random_network import make_random_network

from treerank.baselines.neural.ranknet import RankNet
from treerank.metrics import get_metric

HIDDEN = {"linear": (), "2 layer": (5,), "10 hidden": (10,)}
SIZES = (100, 500, 2500, 12500)
TABLE1 = {
    ("net", "linear"): (82.39, 88.86, 89.91, 90.06),
    ("net", "2 layer"): (82.29, 88.80, 96.94, 97.67),
    ("poly", "linear"): (59.63, 66.68, 68.30, 69.00),
    ("poly", "2 layer"): (59.54, 66.97, 68.56, 69.27),
}
TABLE2 = {100: (59.5, 59.6), 500: (67.0, 66.9), 1000: (68.1, 68.2), 5000: (69.0, 68.8)}
#: What orders test pairs.
COMPARED = {"net": "by_level", "poly": "by_value"}
N_SEEDS = {"full": dict.fromkeys(SIZES, 10), "quick": {100: 10, 500: 10, 2500: 3, 12500: 1}}
N_EPOCHS = {"full": 100, "quick": 100, "tiny": 1}
#: Epochs without improvement before training stops; the paper runs all of its hundred epochs.
PATIENCE = {"full": 100, "quick": 100, "tiny": 1}
#: With momentum, for the cost of a batch per document. At 0.1, and with early stopping after 40
#: epochs, not all nets of two layers became better than a linear net on 2,500 vectors.
RATE = 0.03
METRIC = get_metric("pairwise_accuracy")


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--tables", nargs="+", type=int, choices=(1, 2), default=[1, 2])
    arguments = parser.parse_args(argv)
    protocol, few = arguments.protocol, 1 if arguments.protocol == "tiny" else None
    for table in arguments.tables:
        about = {"n_epochs": N_EPOCHS[protocol], "early_stopping_rounds": PATIENCE[protocol]}
        about |= {"learning_rate": RATE, "compared": COMPARED, "paper": PAPER[table]}
        points = [
            point | {"seed": seed}
            for point in POINTS[table][:few]
            for seed in range(N_SEEDS.get(protocol, {}).get(point["n_vectors"], 1))
        ]
        part = "artificial data"
        measure(arguments, f"ranknet-table{table}", part, about, points, run_point, shown=shown)


PAPER = {
    1: [
        {"data": data, "model": model, "n_vectors": n_vectors, "accuracy": accuracy}
        for (data, model), accuracies in TABLE1.items()
        for n_vectors, accuracy in zip(SIZES, accuracies, strict=True)
    ],
    2: [
        {"n_vectors": n_vectors, "ties": ties, "accuracy": accuracies[ties]}
        for n_vectors, accuracies in TABLE2.items()
        for ties in (False, True)
    ],
}
POINTS = {
    1: [
        {"data": data, "model": model, "n_vectors": n_vectors, "ties": False}
        for data, model in TABLE1
        for n_vectors in SIZES
    ],
    2: [
        {"data": "poly", "model": "10 hidden", "n_vectors": n_vectors, "ties": ties}
        for n_vectors in TABLE2
        for ties in (False, True)
    ],
}


def shown(about):
    """Return the nets as the file shows them."""
    cells = [(cell.get("model", "10 hidden"), cell.get("ties", False)) for cell in about["paper"]]
    nets = {
        f"{model}, with ties" if ties else model: ranker_of(about, model, ties, seed=0)
        for model, ties in cells
    }
    return about_rankers(nets)


def ranker_of(about, model, ties, seed):
    """Return a net; of equal labels, the target is one half."""
    ranker = RankNet(
        HIDDEN[model],
        n_epochs=about["n_epochs"],
        batch_size=50,
        learning_rate=about["learning_rate"],
        decay="step",
        decay_epochs=max(1, about["n_epochs"] // 4),
        early_stopping_rounds=about["early_stopping_rounds"],
        metric=METRIC,
        random_state=seed,
    )
    if ties:
        ranker.pairs = "with_ties"
    return ranker


def run_point(about, data, model, n_vectors, ties, seed):
    """Train one net; return the share of test pairs in the right order, by level and by value."""
    X, qid, truths = drawn(data, seed)
    train, validation, test = slice(n_vectors), slice(-10_000, -5_000), slice(-5_000, None)
    ranker = ranker_of(about, model, ties, seed)
    held_out = X[validation], truths[about["compared"][data]][validation], qid[validation]
    ranker = as_compared(ranker)
    ranker.fit(X[train], truths["by_level"][train], qid[train], eval_set=held_out)
    scores = ranker.predict(X[test])
    accuracy = {
        name: 100 * float(METRIC(truth[test], scores, qid[test])) for name, truth in truths.items()
    }
    return accuracy | {"epoch": ranker.best_iteration_}


def drawn(data, seed):
    """Return vectors in queries of 50, and their order by level and by value."""
    if data == "net":
        X, levels, values, qid = make_random_network(450, random_state=seed)
        return X, qid, {"by_level": levels, "by_value": values}
    rng = np.random.default_rng(seed)
    X, qid = rng.uniform(-1, 1, (450 * 50, 50)), np.repeat(np.arange(450), 50)
    q, r, s = (displaced(rng, 50) for _ in range(3))
    while (r == s).any():
        s = displaced(rng, 50)
    products = X * X[:, q], X * X[:, r] * X[:, s]
    terms = X @ rng.uniform(-1, 1, 50), *(product.sum(axis=1) for product in products)
    values = np.mean([(term - term.mean()) / term.std() for term in terms], axis=0)
    levels = np.argsort(np.argsort(values)) * 6 // len(values)
    return X, qid, {"by_level": levels, "by_value": values}


def displaced(rng, size):
    """Return a permutation that leaves nothing in its place."""
    drawn_order = rng.permutation(size)
    while (drawn_order == np.arange(size)).any():
        drawn_order = rng.permutation(size)
    return drawn_order


if __name__ == "__main__":
    main()
