"""Networks as feature parts: training keeps its promises whatever the network.

What holds for every feature part is in the laws: seeds, copies, views of rows, scores one by one.
"""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from threading import Event, Thread

import numpy as np
import pytest
import torch
from laws import Case
from own_objective import HalfSquare
from sklearn.base import clone
from small_rankers import made

from treerank import TreeDirectRanker, get_metric, load
from treerank.feature_parts.networks.mlp import ACTIVATIONS, MLP
from treerank.feature_parts.networks.polynomial import Monomials, Polynomial
from treerank.feature_parts.networks.training import OPTIMIZERS, own_settings
from treerank.objectives import make_objective

PARTS = {
    "mlp": MLP((8,), n_epochs=3, batch_size=32, random_state=0),
    "dropout": MLP((8, 4), n_outputs=3, output_activation="tanh", dropout=0.3, n_epochs=3,
                   batch_size=32, random_state=0),
    "one layer": MLP((), start="zero", n_epochs=3, batch_size=32, random_state=0),
    "polynomial": Polynomial(2, n_epochs=3, batch_size=32, random_state=0),
}  # fmt: skip
X = np.random.default_rng(0).normal(size=(120, 4))
QID = np.repeat(np.arange(8), 15)
Y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.7])
OBJECTIVE = make_objective(Y, QID)


def accuracy(scores):
    """Pairwise accuracy on the training data."""
    return get_metric("pairwise_accuracy")(Y, scores.ravel(), QID)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_training_lowers_the_objective(part):
    part = clone(part).set_params(n_epochs=30, learning_rate=0.01).fit(X, OBJECTIVE)
    features = part.transform(X)
    scores = features @ part.head_weight_ if part.n_outputs_ > 1 else features[:, 0]
    assert OBJECTIVE(scores)[0] < 0.8 * OBJECTIVE(np.zeros(120))[0]
    assert accuracy(scores) > 0.75
    # Rounded: else the last bits would be those of some product's shape.
    np.testing.assert_array_equal(features, features.astype(np.float32))


@contextlib.contextmanager
def double_precision():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def no_memory():
    return torch.device("meta")


MODES = [double_precision, no_memory, torch.no_grad, torch.inference_mode]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["mlp", "polynomial", "soft_trees", "SortNet"])
def test_what_torch_is_set_to_changes_nothing(name, mode):
    ranker = Case(made(name), None).unfitted()
    expected = clone(ranker).fit(X, Y, QID).predict(X)
    with mode():
        ranker.fit(X, Y, QID)
        scores = ranker.predict(X)
    np.testing.assert_array_equal(scores, expected)


def test_two_threads_train_the_same_and_leave_what_torch_is_set_to():
    part = MLP((8,), n_epochs=20, dropout=0.5, random_state=0)
    expected = clone(part).fit(X, OBJECTIVE).transform(X)
    with double_precision():
        with ThreadPoolExecutor(4) as threads:
            fits = [threads.submit(clone(part).fit, X, OBJECTIVE) for _ in range(8)]
        assert torch.get_default_dtype() == torch.float64
    for fit in fits:
        np.testing.assert_array_equal(fit.result().transform(X), expected)


def test_a_process_forked_while_a_network_trains_trains_its_own():
    trains, ends = Event(), Event()

    def train():
        with own_settings(0, torch.device("cpu")):
            trains.set()
            ends.wait()

    part = MLP((2,), n_epochs=1)
    child = get_context("fork").Process(target=part.fit, args=(X, OBJECTIVE))
    with ThreadPoolExecutor(1) as threads:
        threads.submit(train)
        trains.wait()
        child.start()
        child.join(20)
        child.kill()
        ends.set()
    assert child.exitcode == 0


def test_a_callback_waits_for_a_thread_that_loads_a_network(tmp_path):
    made("mlp").fit(X, Y, QID).save(tmp_path / "m")
    loaded = []

    def load_meanwhile(*_):
        thread = Thread(target=lambda: loaded.append(load(tmp_path / "m")), daemon=True)
        thread.start()
        thread.join(20)
        return True

    made("mlp").fit(X, Y, QID, callbacks=[load_meanwhile])
    assert len(loaded) == 1


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_from_a_small_start_every_activation_learns(activation):
    part = MLP((8,), activation=activation, n_epochs=30, learning_rate=0.03, random_state=0)
    assert accuracy(part.fit(X, OBJECTIVE).transform(X)) > 0.9


@pytest.mark.parametrize(("start", "is_linear"), [("small", True), ("glorot", False)])
def test_a_small_start_is_almost_linear(start, is_linear):
    network = MLP((64, 32), start=start)._make_network(4, 1, None, torch.Generator().manual_seed(0))
    x = torch.from_numpy(X.astype(np.float32))
    once, twice = (network(x * by).detach().numpy() for by in (1, 2))
    assert (np.abs(twice - 2 * once) < 0.01 * np.abs(once).max()).all() == is_linear


def test_the_start_of_ranknet_leaves_only_the_first_layer_at_zero():
    generator = torch.Generator().manual_seed(0)
    network = MLP((8,), start="zero")._make_network(4, 1, None, generator)
    first, second = (x.weight.detach().numpy() for x in network if hasattr(x, "weight"))
    assert (first == 0).all()
    assert (second != 0).all()
    assert (np.abs(second) <= 0.1).all()


def test_only_the_own_seed_counts():
    torchs_own = torch.get_rng_state()
    part, other = clone(PARTS["dropout"]), clone(PARTS["dropout"]).set_params(random_state=1)
    assert (part.fit(X, OBJECTIVE).transform(X) != other.fit(X, OBJECTIVE).transform(X)).any()
    assert torch.equal(torch.get_rng_state(), torchs_own)


def test_early_stopping_goes_back_to_the_best_epoch_by_a_metric_of_scores_of_the_model():
    values, seen = iter([0.1, 0.5, 0.4, 0.3, 0.9]), []

    def metric(scores):
        seen.append(scores)
        return next(values)

    part = clone(PARTS["dropout"]).set_params(n_epochs=20, early_stopping_rounds=2)
    part.fit(X, OBJECTIVE, validation=(X, metric))
    assert part.best_iteration_ == 2
    assert part.evals_result_ == {"validation": {"metric": [0.1, 0.5, 0.4, 0.3]}}
    two = clone(PARTS["dropout"]).set_params(n_epochs=2).fit(X, OBJECTIVE)
    np.testing.assert_array_equal(part.transform(X), two.transform(X))
    np.testing.assert_allclose(seen[1], part.transform(X) @ part.head_weight_, atol=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_learns(optimizer):
    settings = {"learning_rate": 0.05, "batch_size": 30, "n_epochs": 10}
    part = MLP((), start="zero", optimizer=optimizer, random_state=0, **settings)
    assert accuracy(part.fit(X, OBJECTIVE).transform(X)) > 0.85


def test_one_merged_query_is_learned_in_pieces():
    objective = make_objective(Y, loss="half_squared_tanh", pairs="adjacent")
    part = MLP((), start="zero", batch_size=25, learning_rate=0.05, n_epochs=10, random_state=0)
    assert accuracy(part.fit(X, objective).transform(X)) > 0.85


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_coefficients_without_hidden_layers_are_those_of_the_features_as_given(n_outputs):
    part = MLP((), start="zero", n_outputs=n_outputs, n_epochs=5, random_state=0)
    outputs, coef = part.fit(10 * X, OBJECTIVE).transform(10 * X), np.atleast_2d(part.coef_)
    assert part.coef_.shape == ((4,) if n_outputs == 1 else (3, 4))
    np.testing.assert_allclose(
        np.diff(10 * X @ coef.T, axis=0), np.diff(outputs, axis=0), atol=1e-5
    )
    assert np.linalg.matrix_rank(coef) == n_outputs  # outputs that start equal would stay equal


@pytest.mark.parametrize("part", [MLP((2,)), MLP((), output_activation="tanh")])
def test_a_network_that_is_not_linear_has_no_coefficients(part):
    with pytest.raises(
        AttributeError, match=r"coef_ needs an MLP without hidden layers and with a"
    ):
        _ = part.fit(X, OBJECTIVE).coef_


def test_monomials_are_all_products_up_to_the_degree():
    x = torch.tensor([[2.0, 3.0, 5.0]])
    expected = [2, 3, 5, 4, 6, 10, 9, 15, 25, 8, 12, 20, 18, 30, 50, 27, 45, 75, 125]
    assert Monomials(3, 3)(x).tolist() == [expected]


def test_the_scale_of_an_objective_does_not_change_the_training():
    heavy = make_objective(Y, QID, query_weight=np.full(120, 1024.0))
    part = clone(PARTS["mlp"]).set_params(optimizer="sgd").fit(X, OBJECTIVE)
    other = clone(part).fit(X, heavy)
    np.testing.assert_allclose(part.transform(X), other.transform(X), rtol=1e-5)


def test_without_a_pair_nothing_moves():
    part = MLP((4,), n_epochs=2, weight_decay=0.5, random_state=0)
    moved = part.fit(X, make_objective(np.zeros(120), QID)).transform(X)
    part.set_params(n_epochs=1).fit(X, make_objective(np.zeros(120), QID))
    np.testing.assert_array_equal(part.transform(X), moved)


def test_a_batch_larger_than_the_data_holds_them_all():
    large, exact = (
        MLP((4,), n_epochs=3, batch_size=size, random_state=0).fit(X, OBJECTIVE)
        for size in (10**9, len(X))
    )
    np.testing.assert_array_equal(large.transform(X), exact.transform(X))


#: Values that are refused, by parameter.
WRONG = {
    "n_epochs": [0], "batch_size": [1], "n_outputs": [0], "learning_rate": [0.0], "device": ["tpu"],
    "weight_decay": [-1.0], "momentum": [1],
    "optimizer": ["lion"], "decay": ["slow"], "activation": ["swish"], "start": ["warm"],
    "dropout": [1.0, "half"], "hidden": [(3, 0), 5, "5", None],
}  # fmt: skip


@pytest.mark.parametrize("parameter", WRONG)
def test_bad_parameters_are_refused_by_name(parameter):
    for value in WRONG[parameter]:
        with pytest.raises((ValueError, TypeError), match=f"{parameter} must be"):
            MLP(**{parameter: value}).fit(X, OBJECTIVE)


def test_what_cannot_be_trained_is_refused():
    part = MLP((), start="zero", optimizer="sgd", learning_rate=1e6, n_epochs=20, random_state=0)
    with pytest.raises(ValueError, match="learning_rate must be low enough"):
        part.fit(X, make_objective(Y, QID, loss="half_squared"))
    with pytest.raises(ValueError, match="validation must be given where early_stopping_rounds is"):
        MLP(early_stopping_rounds=3).fit(X, OBJECTIVE)
    with pytest.raises(ValueError, match=r"X must have \d+ rows, one per document; got \d+"):
        MLP().fit(np.vstack([X, X]), OBJECTIVE)
    with pytest.raises(ValueError, match="X must have 4 features; got 3"):
        clone(PARTS["mlp"]).fit(X, OBJECTIVE).transform(X[:, :3])
    with pytest.raises(ValueError, match=r"objective must have a single output .*; got 2"):
        MLP().fit(X, HalfSquare(np.zeros((len(X), 2)), groups=OBJECTIVE.groups))
    with pytest.raises(ValueError, match="at most 100000 monomials"):
        Polynomial(9).fit(np.tile(X, (1, 10)), OBJECTIVE)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("settings", [{}, {"weight": "ndcg"}, {"loss": "listnet"}])
def test_a_gpu_learns_what_a_cpu_learns(settings):
    objective = make_objective(Y, QID, **settings)
    part = MLP((8,), n_epochs=5, random_state=0)
    on_cpu = clone(part).set_params(device="cpu").fit(X, objective).transform(X)
    on_gpu = clone(part).set_params(device="cuda").fit(X, objective).transform(X)
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-3, atol=1e-4)


def test_an_adaptive_rate_halves_steps_that_are_too_long():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    objective = make_objective(y, np.repeat(np.arange(6), 10))
    settings = {"optimizer": "sgd", "learning_rate": 30.0, "n_epochs": 30, "random_state": 0}
    losses = {
        decay: objective(MLP((4,), decay=decay, **settings).fit(X, objective).transform(X)[:, 0])[0]
        for decay in (None, "adaptive")
    }
    assert losses["adaptive"] < losses[None]
    again = MLP((4,), decay="adaptive", **settings).fit(X, objective).transform(X)
    assert objective(again[:, 0])[0] == losses["adaptive"]
    with pytest.raises(ValueError, match=r"decay_rate .* at most 1"):
        MLP(decay="adaptive", decay_rate=2.0).fit(X, objective)


@pytest.mark.filterwarnings("ignore:The scores order")
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_equal_documents_of_an_eval_set_are_tied_in_the_metrics_that_a_fit_records(seed):
    # Single precision rounds the rows of a matrix product differently, in blocks of rows.
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(60, 7)), np.repeat(np.arange(10), 6)
    y = np.digitize(X[:, 0], [-0.5, 0.7])
    twice = np.repeat(rng.normal(size=(29, 7)), 2, axis=0)[rng.permutation(57)]
    valid = twice, np.arange(57) % 3, np.arange(57) // 19
    part = MLP((8,), n_epochs=2)
    ranker = TreeDirectRanker(part, random_state=0, metric="pairwise_accuracy")
    ranker.fit(X, y, qid, eval_set=valid)
    recorded = ranker.evals_result_["validation"]["pairwise_accuracy"][ranker.best_iteration_ - 1]
    assert recorded == pytest.approx(ranker.score(*valid), abs=1e-12)
