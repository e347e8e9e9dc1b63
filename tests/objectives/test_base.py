import numpy as np
import pytest
from own_objective import Flat
from sklearn.base import clone

from treerank import TreeDirectRanker, make_web_search
from treerank.documents.queries import QueryGroups
from treerank.feature_parts import MLP, Ensemble, HistogramTrees, LinearModel, Stages
from treerank.objectives import make_objective
from treerank.objectives.base import NoDocuments, as_objective
from treerank.objectives.lists.losses import HalfSquaredError
from treerank.objectives.sums import FromStart

Y, QID = np.array([1.0, 0.0, 2.0, 2.0]), [0, 0, 1, 1]


class Told(Flat):
    """An objective that says all of itself."""

    name, steepness = "told", 2.0

    def convex(self):
        return Flat(self.groups)

    def has_anything_to_learn(self):
        return True


class FlatLoss:
    def bind(self, judgments):
        return Flat(judgments.groups)


GROUPS = QueryGroups.from_qid(QID)


def test_an_objective_that_says_nothing_has_the_defaults():
    objective = as_objective(Flat(GROUPS))
    assert (objective.name, objective.steepness, objective.n_outputs) == ("Flat", 1.0, 1)
    assert objective.convex() is None
    assert objective.with_loss(HalfSquaredError()) is None
    assert objective.convex_or_itself() is objective
    assert not objective.has_anything_to_learn()
    assert objective(np.ones(4))[0] == 4


def test_what_an_objective_says_of_itself_counts():
    objective = as_objective(Told(GROUPS))
    assert (objective.name, objective.steepness) == ("told", 2.0)
    assert objective.convex_or_itself().name == "Flat"
    assert objective.has_anything_to_learn()
    started = FromStart(Told(GROUPS), np.zeros(4))
    assert (started.name, started.steepness, started.has_anything_to_learn()) == ("told", 2.0, True)


@pytest.mark.parametrize(("y", "expected"), [(Y, True), (np.zeros(4), False)])
def test_where_a_query_has_two_labels_there_is_something_to_learn(y, expected):
    objective = make_objective(y, QID, loss=FlatLoss())
    assert objective.has_anything_to_learn() == expected
    assert (2.0 * objective).has_anything_to_learn() == expected
    second = QueryGroups(None, np.array([0, 2]))
    assert not objective.taking(np.array([2, 3]), second).has_anything_to_learn()


@pytest.mark.parametrize("part", [Stages(), Ensemble(), HistogramTrees(), LinearModel(), MLP()])
def test_a_part_that_gets_labels_says_how_to_learn_from_them(part):
    with pytest.raises(TypeError, match=r"objective must have deriv.*\.fit\(X, y, qid\) to learn"):
        part.fit(np.eye(4), Y)


def test_objectives_are_wrapped_once():
    own, ours = as_objective(Flat(GROUPS)), make_objective(Y, QID)
    assert as_objective(own) is own
    assert as_objective(ours) is ours


@pytest.mark.parametrize("settings", [{}, {"loss": "half_squared_error"}])
def test_with_another_loss_an_objective_prices_the_same_labels(settings):
    weights, scores = {"sample_weight": [1, 2, 1, 3]}, np.arange(4.0)
    squared = make_objective(Y, QID, loss="half_squared_error", **weights)
    objective = make_objective(Y, QID, **settings, **weights)
    for factor in (1, 2):
        found = (factor * objective).with_loss(HalfSquaredError()).derivatives(scores)
        np.testing.assert_allclose(found, factor * np.array(squared.derivatives(scores)))
    assert (squared + as_objective(Told(GROUPS))).with_loss(HalfSquaredError()) is None


@pytest.mark.parametrize("part", [HistogramTrees(1, subsample_queries=0.5), MLP((2,), n_epochs=1)])
def test_what_needs_the_queries_of_an_objective_says_how_to_add_them(part):
    objective = Flat(None)
    with pytest.raises(TypeError, match=r"objective must have groups.*QueryGroups\.from_qid"):
        part.fit(np.eye(4), objective)
    objective.groups = GROUPS
    part.fit(np.eye(4), objective)


def test_without_documents_there_is_nothing_to_learn():
    assert not NoDocuments().has_anything_to_learn()
    assert NoDocuments().convex() is None


class Poisson:
    """A loss that is no more than the manual asks for."""

    def __init__(self, judgments=None):
        self.judgments = judgments

    def bind(self, judgments):
        return type(self)(judgments)

    def derivatives(self, scores, *, iteration=0):
        rate, weight = np.exp(scores), self.judgments.weight
        return weight * (rate - self.judgments.y), weight * rate


class PricedPoisson(Poisson):
    def __call__(self, scores, *, iteration=0):
        losses = self.judgments.weight * (np.exp(scores) - self.judgments.y * scores)
        return float(losses.sum()), *self.derivatives(scores)


def test_a_bound_loss_takes_rows_by_being_bound_to_them():
    objective = make_objective(Y, QID, loss=PricedPoisson(), query_weight=[1, 1, 3, 3])
    rows, groups = np.array([2, 3]), QueryGroups(None, np.array([0, 2]))
    taken, scores = objective.taking(rows, groups), np.array([0.5, -1.0])
    value, gradient, _ = taken(scores)
    np.testing.assert_allclose(value, 3 * np.sum(np.exp(scores) - 2.0 * scores))
    np.testing.assert_allclose(gradient, 3 * (np.exp(scores) - 2.0))
    assert (taken.n_outputs, taken.n_queries, taken.groups) == (1, 1, groups)
    again = taken.taking(np.array([1]), QueryGroups(None, np.array([0, 1])))
    np.testing.assert_allclose(again.derivatives(np.zeros(1))[0], [-3.0])


@pytest.mark.parametrize(
    "part", ["linear", "lightgbm", "mlp", "soft_trees", ["linear", "histogram"]]
)
def test_every_part_learns_from_a_loss_that_is_no_more_than_the_manual_asks_for(part):
    X = np.random.default_rng(0).normal(size=(600, 3))
    y, qid = np.digitize(X[:, 0], [0, 1]), np.arange(600) // 20
    ranker = TreeDirectRanker(part, loss=PricedPoisson(), random_state=0).fit(X, y, qid)
    weighted = clone(ranker).fit(X, y, qid, query_weight=np.where(qid < 10, 1.0, 9.0))
    assert ranker.score(X, y, qid) > 0.9
    assert (ranker.predict(X) != weighted.predict(X)).any()


def test_what_a_loss_lacks_is_named():
    X, y, qid = make_web_search(20, n_features=4, random_state=0)
    TreeDirectRanker(HistogramTrees(2), loss=Poisson()).fit(X, y, qid)
    with pytest.raises(TypeError, match="Poisson must have a method __call__"):
        TreeDirectRanker("linear", loss=Poisson()).fit(X, y, qid)
    with pytest.raises(TypeError, match=r"Poisson must have a method taking\(rows, groups\)"):
        as_objective(Poisson()).taking(np.arange(2), GROUPS)


class Convexless(Told):
    """An objective that has no convex form and no other loss, and says so."""

    def convex(self):
        return None

    def with_loss(self, loss):
        return None


def test_an_objective_may_say_that_it_has_no_other_form():
    objective = as_objective(Convexless(GROUPS))
    assert objective.convex() is None
    assert objective.convex_or_itself() is objective
    assert objective.with_loss(HalfSquaredError()) is None


class Bound:
    """A loss of the user's own, of a given objective."""

    def __init__(self, sign=1.0, shape=None, n_outputs=1):
        self.sign, self.shape, self.n_outputs = sign, shape, n_outputs

    def bind(self, judgments):
        self.y, self.groups = judgments.y, judgments.groups
        return self

    def __call__(self, scores, *, iteration=0):
        value = ((scores.T - self.y) ** 2).sum() / 2
        return value, *self.derivatives(scores)

    def derivatives(self, scores, *, iteration=0):
        gradient = self.sign * (scores.T - self.y).T
        return gradient if self.shape is None else np.ones(self.shape), np.ones_like(scores)


class OnlyDerivatives:
    """A loss of the user's own for trees, which ask for no value and no queries."""

    n_outputs = 1

    def bind(self, judgments):
        return self

    def derivatives(self, scores, *, iteration=0):
        return -scores, np.ones_like(scores)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_gradient_against_the_value_is_warned_of(n_outputs):
    with pytest.warns(UserWarning, match="The value of Bound falls where .* negate the gradient"):
        make_objective(Y, QID, loss=Bound(-1.0, n_outputs=n_outputs))


@pytest.mark.parametrize(
    "loss",
    [Bound(), Bound(n_outputs=2), Bound(0.0), Bound(1e-3), Bound(shape=(2,)), OnlyDerivatives()],
)
def test_other_objectives_of_the_users_own_are_not_warned_of(loss):
    make_objective(Y, QID, loss=loss)
