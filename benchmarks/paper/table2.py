"""Table 2 of the DirectRanker paper: optimizer times activation of the last neuron, NDCG@10.

Three hidden layers of 32, 20 and 5 units; the cost is (1 - r)^2 / 2, where r is the sigmoid, the
tanh or the difference of scores itself. The paper does not give its learning rate for plain
gradient descent. So three rates are tried for either optimizer on each fold, and the value on the
validation set is stored, too: the table can be read for one rate, and for the best rate by
validation.
"""

import functools

from data_sets import name_of, read_splits
from parameters import about_rankers
from protocol import measure, parser_of
from synthetic import START, normal

from treerank.baselines.neural.ranknet import RankNetStar
from treerank.metrics.graded_metrics import NDCG

LOSSES = {"sigmoid": "squared_sigmoid", "tanh": "half_squared_tanh", "linear": "half_squared"}
OPTIMIZERS = {"gradient descent": "sgd", "Adam": "adam"}
RATES = (0.001, 0.01, 0.1)
N_EPOCHS = {"full": 30, "quick": 20, "tiny": 1}
PAPER = {
    "gradient descent": {"sigmoid": 0.187, "tanh": 0.194, "linear": 0.194},
    "Adam": {"sigmoid": 0.299, "tanh": 0.301, "linear": 0.309},
}


def main(argv=None):
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", default=["synthetic"], help="folders")
    arguments = parser.parse_args(argv)
    tiny = arguments.protocol == "tiny"
    for folder in arguments.data:
        about = {
            "data": name_of(folder),
            "hidden": [32, 20, 5],
            "n_epochs": N_EPOCHS[arguments.protocol],
            "paper_mslr_web10k": PAPER,
        }
        n_folds = 1 if tiny else len(read_splits(folder))
        points = [
            {"optimizer": optimizer, "activation": activation, "learning_rate": rate, "fold": fold}
            for fold in range(n_folds)
            for optimizer in OPTIMIZERS
            for activation in LOSSES
            for rate in (RATES[:1] if tiny else RATES)
        ]
        run = functools.partial(run_point, folder)
        measure(arguments, "table2", about["data"], about, points, run, shown=shown)


def shown(about):
    """Return the networks as the file shows them, at the first of the rates."""
    return about_rankers(
        {
            f"{optimizer}, {activation}": ranker_of(about, optimizer, activation, RATES[0])
            for optimizer in OPTIMIZERS
            for activation in LOSSES
        }
    )


def ranker_of(about, optimizer, activation, learning_rate):
    """Return a network with an optimizer and the activation of its last neuron."""
    ranker = RankNetStar(
        about["hidden"],
        start=START,
        optimizer=OPTIMIZERS[optimizer],
        learning_rate=learning_rate,
        n_epochs=about["n_epochs"],
        random_state=0,
    )
    ranker.loss = LOSSES[activation]
    return ranker


def run_point(folder, about, optimizer, activation, learning_rate, fold):
    """Train one network on one fold."""
    split = read_splits(folder, tiny=about["n_epochs"] == 1)[fold]
    parts = split.train, split.validation, split.test
    features = normal(*(part.X for part in parts))
    ranker = ranker_of(about, optimizer, activation, learning_rate)
    ranker.fit(features[0], split.train.y, split.train.qid)
    return {
        name: NDCG(k=10)(part.y, ranker.predict(X), part.qid)
        for name, part, X in zip(("validation", "test"), parts[1:], features[1:], strict=True)
    }


if __name__ == "__main__":
    main()
