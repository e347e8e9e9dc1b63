import numba
import numpy as np
import pytest
import torch

from treerank.documents.queries import QueryGroups
from treerank.feature_parts.networks import training
from treerank.feature_parts.networks.mlp import MLP
from treerank.feature_parts.networks.training import (
    ScoredNetwork,
    Trainer,
    choose_device,
    objective_unit,
    one_thread,
    own_settings,
    rate_at,
)
from treerank.objectives import make_objective


class Pull:
    """An objective that pulls each score by as much, whatever it is."""

    n_outputs = 1

    def __init__(self, sizes, pull=1.0):
        self.groups = QueryGroups.from_qid(np.repeat(np.arange(len(sizes)), sizes))
        self.pull, self.iterations = pull, []

    def taking(self, rows, groups):
        return self

    def derivatives(self, scores, *, iteration=0):
        assert scores.dtype == np.float64
        self.iterations.append(iteration)
        gradient = np.full(scores.shape, self.pull)
        return gradient, np.ones_like(gradient)


class Watched(torch.nn.Linear):
    """A weight for one feature; it remembers whether it was training."""

    def __init__(self):
        super().__init__(1, 1, bias=False)
        torch.nn.init.constant_(self.weight, 1.0)
        self.modes = []

    def forward(self, X):
        self.modes.append(self.training)
        return super().forward(X)


class Followed(Pull):
    """An objective that looks at the scores before each epoch, and then pulls the other way."""

    def __init__(self, sizes):
        super().__init__(sizes)
        self.looked_at = []

    def for_epoch(self, score):
        self.looked_at.append(score())
        return Pull(self.groups.sizes, pull=-1.0)


@pytest.fixture
def times(monkeypatch):
    """Times at which a rate was asked for; it doubles each time."""
    asked = []

    def rate(part, epoch):
        asked.append(epoch)
        return 0.1 * 2 ** (len(asked) - 1)

    monkeypatch.setattr(training, "rate_at", rate)
    return asked


def make_trainer(network=None, *, unit=1.0, seed=0, **settings):
    model = ScoredNetwork(network or Watched(), 1)
    part = MLP(**{"learning_rate": 0.1, "batch_size": 5} | settings)
    return Trainer(model, torch.optim.SGD(model.parameters()), part, unit, seed)


def weight_after_an_epoch(trainer, objective, X):
    trainer.run_epoch(X, objective, 0)
    return trainer.model.network.weight.item()


def test_a_step_goes_by_rate_unit_and_rows():
    # The gradient by the weight is 3 * (1 + 2 + 4), over unit 2 and three rows.
    X = torch.tensor([[1.0], [2.0], [4.0]])
    found = weight_after_an_epoch(make_trainer(unit=2.0), Pull([3], 3.0), X)
    assert found == pytest.approx(1 - 0.1 * 3 * 7 / (2 * 3))


def test_the_average_weighs_a_step_by_its_number_and_leaves_the_steps_alone(times):
    # Three batches of a query; the rates are 0.1, 0.2 and 0.4, the weights 0.9, 0.7 and 0.3.
    trainer = make_trainer(batch_size=2)
    trainer.average = training.averaged(trainer.model)
    found = weight_after_an_epoch(trainer, Pull([2, 2, 2]), torch.ones(6, 1))
    assert found == pytest.approx(0.3)
    expected = (1 * 0.9 + 2 * 0.7 + 3 * 0.3) / 6
    np.testing.assert_allclose(trainer.score(torch.ones(2, 1)), expected, rtol=1e-6)


def test_a_step_forgets_the_gradients_before_it_and_takes_the_rate_of_its_moment(times):
    # Three queries of two rows, two of them at a time: 0.1 for the first step, then 0.2.
    found = weight_after_an_epoch(make_trainer(), Pull([2, 2, 2]), torch.ones(6, 1))
    assert found == pytest.approx(1 - 0.1 - 0.2)


def test_time_and_iterations_go_on_from_epoch_to_epoch(times):
    # Five queries of three rows leave no room for two in a batch of five: more steps than 15 / 5.
    objective, trainer = Pull([3] * 5), make_trainer()
    trainer.model.eval()
    trainer.run_epoch(torch.ones(15, 1), objective, 2)
    assert times == pytest.approx([2, 2 + 1 / 3, 2 + 2 / 3, 3, 3])
    assert objective.iterations == [6, 7, 8, 9, 10]
    network = trainer.model.network
    assert network.modes == [True] * 5


def test_steps_of_an_epoch_are_batches_even_if_the_last_is_not_full(times):
    make_trainer().run_epoch(torch.ones(4, 1), Pull([2, 2]), 0)
    assert times == [0]
    times.clear()
    make_trainer().run_epoch(torch.ones(7, 1), Pull([4, 3]), 0)
    assert times == [0, 1 / 2]


def test_batches_are_drawn_by_seed_and_epoch(times):
    def first_batch(seed, epoch):
        network = torch.nn.Linear(20, 1, bias=False)
        torch.nn.init.zeros_(network.weight)
        trainer = make_trainer(network, seed=seed)
        times.clear()
        trainer.run_epoch(torch.eye(20), Pull([1] * 20), epoch)
        return network.weight.detach()[0].tolist()  # of each row, the rate of its batch

    assert first_batch(0, 0) == first_batch(0, 0)
    assert first_batch(0, 0) != first_batch(1, 0)
    assert first_batch(0, 0) != first_batch(0, 1)


@pytest.mark.parametrize("pull", [np.inf, np.nan])
def test_a_gradient_that_is_not_finite_is_an_error(pull):
    with pytest.raises(ValueError, match=r"gradient must be finite .* from Pull in iteration 0\.$"):
        weight_after_an_epoch(make_trainer(), Pull([2], pull), torch.ones(2, 1))
    with pytest.raises(ValueError, match=r"learning_rate must be low enough.* got 0\.1"):
        weight_after_an_epoch(make_trainer(), Pull([2], pull), torch.full((2, 1), torch.inf))


@pytest.mark.parametrize(
    ("decay", "expected"),
    [(None, 1), ("step", 0.25), ("exponential", 0.25**1.5), ("inverse_time", 1 / 1.375)],
)
def test_a_rate_falls_by_its_factor_in_every_unit_of_time(decay, expected):
    part = MLP(learning_rate=2.0, decay=decay, decay_rate=0.25, decay_epochs=10)
    assert rate_at(part, 15) == pytest.approx(2 * expected)


class Errors(Pull):
    """An objective whose value in each step is given."""

    def __init__(self, sizes, values):
        super().__init__(sizes)
        self.values = list(values)

    def __call__(self, scores, *, iteration=0):
        return self.values.pop(0), *self.derivatives(scores, iteration=iteration)


def test_a_head_of_equal_weights_is_put_over_several_outputs_for_one_score():
    outputs = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    assert ScoredNetwork(torch.nn.Identity(), 4)(outputs).tolist() == [[5.0]]
    assert ScoredNetwork(torch.nn.Identity(), 1).head is None


def unit(objective):
    return objective_unit(objective, 2, 0)


def test_the_unit_is_the_mean_price_of_the_documents_that_cost_something():
    labels, qid = np.tile([0, 0, 1, 0], 4), np.repeat(np.arange(8), 2)
    assert unit(make_objective(labels, qid, loss="half_squared")) == 0.5 / 2
    # The value of a metric to raise is negative.
    assert unit(Errors([2] * 3, [-3.0] * 3)) == 3.0 / 2


def test_the_unit_comes_from_a_few_batches_but_not_from_none_that_costs():
    priced, qid = Errors([2] * 100, [1.0] * 100), np.repeat(np.arange(100), 2)
    unit(priced)
    assert len(priced.values) == 100 - training._UNIT_BATCHES - 1
    assert unit(make_objective(np.arange(200) == 199, qid, loss="half_squared")) == 0.5 / 2
    assert unit(make_objective(np.zeros(200), qid)) == unit(Errors([2], [0.0])) == 1.0


def n_threads():
    return torch.get_num_threads(), numba.get_num_threads()


def test_training_takes_one_thread_and_gives_back_what_there_was():
    before = n_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            inside = n_threads()
        after = n_threads()
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert (inside, after, n_threads()) == ((1, 1), (2, before[1]), (2, before[1]))
    finally:
        torch.set_num_threads(before[0])


def test_own_settings_draw_by_their_seed_and_leave_torchs_generator_alone():
    state = torch.get_rng_state()
    with own_settings(3, torch.device("cpu")):
        drawn = torch.rand(4)
    expected = torch.rand(4, generator=torch.Generator().manual_seed(3))
    assert torch.equal(drawn, expected)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("there", [False, True])
def test_a_device_is_chosen_by_name_and_by_what_there_is(monkeypatch, there):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type == ("cuda" if there else "cpu")
    if there:
        assert choose_device("cuda").type == "cuda"
    else:
        with pytest.raises(ValueError, match="device must be 'cpu' or 'auto' where there is no G"):
            choose_device("cuda")


def test_an_adaptive_rate_falls_after_each_epoch_of_greater_error():
    # Two steps of one row in each epoch; errors 2, 3, 3, 1, 2, of which two are greater.
    trainer = make_trainer(batch_size=2, learning_rate=0.125, decay="adaptive", decay_rate=0.5)
    weights = [1.0]
    for epoch, error in enumerate([2.0, 3.0, 3.0, 1.0, 2.0, 1.0]):
        objective = Errors([2, 2], [error / 2] * 2)
        trainer.run_epoch(torch.ones(4, 1), objective, epoch)
        weights.append(trainer.model.network.weight.item())
    steps = np.diff(weights).tolist()
    assert steps == [-0.25, -0.25, -0.125, -0.125, -0.125, -0.0625]


@pytest.mark.parametrize("decay", [None, "step", "exponential", "inverse_time"])
def test_other_rates_ask_for_no_value(decay):
    trainer = make_trainer(batch_size=2, decay=decay)
    for epoch in range(3):
        trainer.run_epoch(torch.ones(4, 1), Pull([2, 2]), epoch)  # it has no value
    assert trainer.n_rises == 0


def test_an_objective_that_follows_scores_gets_those_of_all_documents_before_each_epoch():
    network, objective = Watched(), Followed([3, 2, 3])
    trainer = make_trainer(torch.nn.Sequential(torch.nn.Dropout(0.5), network))
    for epoch in range(2):
        trainer.run_epoch(torch.ones(8, 1), objective, epoch)
    first, second = objective.looked_at
    assert first.tolist() == [1.0] * 8  # no dropout
    assert (second > 1).all()  # the steps were those of the other objective
    assert objective.iterations == []
    assert network.modes == [False, True, True] * 2
