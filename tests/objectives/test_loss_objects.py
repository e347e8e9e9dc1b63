from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pytest
from numba import njit

from treerank import MLP, LightGBMTrees, TreeDirectRanker, make_objective
from treerank.objectives.factory import LOSSES
from treerank.objectives.lists.losses import LISTWISE, POINTWISE, ApproxNDCG, ListNetLoss
from treerank.objectives.pairs.losses import PAIR_LOSSES, PairLoss
from treerank.objectives.pairs.weights import PAIR_WEIGHTS, PairWeight

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
QID = np.repeat(np.arange(6), 20)
Y = np.digitize(X[:, 0] + 0.4 * rng.normal(size=120), [-0.5, 0.5, 1.2])
SCORES = rng.normal(size=120)

PARTS = {
    "lightgbm": LightGBMTrees(n_estimators=5, min_child_samples=5, n_jobs=1),
    "mlp": MLP((4,), n_epochs=10, batch_size=60, learning_rate=0.05),
}
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


@njit
def doubled_hinge(margin):
    return (2 - 2 * margin, -2.0, 2.0) if margin < 1 else (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class GapsSquared:
    """A factory of objectives of the user's own, which binds another loss to changed labels."""

    power: float = 2.0

    def bind(self, judgments):
        return ListNetLoss().bind(judgments.labeled(judgments.y**self.power))


def fitted(part=PARTS["lightgbm"], **settings):
    return TreeDirectRanker(part, random_state=0, **settings).fit(X, Y, QID)


def assert_same_scores(one, other):
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def assert_same_objective(one, other):
    for t in (0, 2):
        pairs = zip(one(SCORES, iteration=t), other(SCORES, iteration=t), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("loss", LOSSES)
@every_part
def test_every_loss_trains_without_further_settings(part, loss):
    assert fitted(part, loss=loss).score(X, Y, QID) > 0.9


@every_part
@pytest.mark.parametrize(
    ("loss", "default"),
    [
        (ApproxNDCG(temperature=0.2), "approx_ndcg"),
        (GapsSquared(), "listnet"),
        (PairLoss(doubled_hinge), "logistic"),
    ],
    ids=["temperature", "factory", "pair loss"],
)
def test_a_loss_with_settings_of_its_own_trains_otherwise_than_the_default(part, loss, default):
    model = fitted(part, loss=loss)
    assert model.score(X, Y, QID) > 0.6
    assert not np.allclose(model.predict(X), fitted(part, loss=default).predict(X), atol=1e-4)


def test_a_pair_loss_of_the_users_own_is_worth_what_its_function_says():
    twice, once = (
        make_objective(Y, QID, loss=loss)(SCORES)
        for loss in (PairLoss(doubled_hinge), PAIR_LOSSES["hinge"])
    )
    for part, other in zip(twice, once, strict=True):
        np.testing.assert_allclose(part, 2 * np.asarray(other), rtol=1e-12)
    bare = make_objective(Y, QID, loss=doubled_hinge)(SCORES)
    np.testing.assert_allclose(bare[1], twice[1], rtol=1e-12)


def test_a_factory_is_bound_to_labels_queries_and_weights():
    weights = {"sample_weight": rng.random(120), "query_weight": 1.0 + QID}
    for power, y in ((1.0, Y), (2.0, Y**2)):
        own = make_objective(Y, QID, loss=GapsSquared(power), **weights, random_state=5)
        assert_same_objective(own, make_objective(y, QID, loss="listnet", **weights))
        assert own.judgments.seed == 5


def test_automatic_settings_are_smoothed_ndcg_for_pairs_and_nothing_for_the_rest():
    assert_same_scores(fitted(), fitted(weight="ndcg", smoothing=1.0))
    assert_same_scores(fitted(loss="hinge"), fitted(loss="hinge", weight="ndcg", smoothing=1.0))
    assert_same_scores(fitted(loss="listnet"), fitted(loss="listnet", weight=None, smoothing=0.0))


IGNORED = {"weight": "ndcg", "pairs": "adjacent", "k": 5, "gain": "linear", "threshold": 2.0}
IGNORED |= {"sigma": 2.0, "smoothing": 0.5, "query_normalization": "log"}


@pytest.mark.parametrize("setting", IGNORED)
@pytest.mark.parametrize("loss", [*LISTWISE, *POINTWISE, GapsSquared()], ids=str)
def test_a_setting_that_the_loss_would_ignore_is_refused_by_name(loss, setting):
    message = f"{setting} must be .* for loss=.*, which does not read it; got"
    for make in (fitted, partial(make_objective, Y, QID)):
        with pytest.raises(ValueError, match=message):
            make(loss=loss, **{setting: IGNORED[setting]})


@pytest.mark.parametrize("loss", [ListNetLoss, ApproxNDCG, PairLoss, 3, None, "logstic"])
def test_what_is_no_loss_is_refused(loss):
    for make in (fitted, partial(make_objective, Y, QID)):
        with pytest.raises(ValueError, match="loss must be a function of the margin, have a"):
            make(loss=loss)


def gap_squared(gain_i, gain_j, above_i, above_j, below_i, below_j, within, tied):
    return (gain_i - gain_j) ** 2


@pytest.mark.parametrize("of_pair", [gap_squared, njit(gap_squared)], ids=["plain", "compiled"])
def test_a_weight_of_the_users_own_is_a_plain_function_of_a_pair(of_pair):
    own = PairWeight(lambda y, groups, options: y, of_pair)
    scores = np.linspace(-1, 1, len(Y))
    gradient, _ = make_objective(Y, QID, weight=own).derivatives(scores)
    expected = np.zeros(len(Y))
    for i, j in product(range(len(Y)), repeat=2):
        if QID[i] == QID[j] and Y[i] > Y[j]:
            step = (Y[i] - Y[j]) ** 2 / (1 + np.exp(scores[i] - scores[j]))
            expected[[i, j]] += [-step, step]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("of_pair", [lambda gain: gain, lambda *values: "text", 3])
def test_what_is_no_weight_of_a_pair_is_refused_by_name(of_pair):
    own = PairWeight(lambda y, groups, options: y, of_pair)
    with pytest.raises(ValueError, match=r"weight must have of_pair, a function of \(gain_i, gain"):
        make_objective(Y, QID, weight=own)


def test_a_weight_of_the_users_own_counts_as_the_same_one_by_name():
    label = PAIR_WEIGHTS["label"]
    own = PairWeight(label.gains, label.of_pair, separates=True)
    assert_same_objective(*(make_objective(Y, QID, weight=w) for w in (own, "label")))
