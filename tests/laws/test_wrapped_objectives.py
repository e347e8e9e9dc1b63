"""Every objective that is made from another one has all members of it.

What a wrapper says is what it would say if it were made from what the other objective says: the
convex form of a wrapper is the wrapper of the convex form, and so on. A new wrapper fails until it
has an example here.
"""

import inspect

import numpy as np
import pytest

from treerank import TreeDirectRanker
from treerank.documents.queries import QueryGroups
from treerank.feature_parts import Ensemble, LightGBMTrees, Stages
from treerank.objectives import make_objective
from treerank.objectives.base import Objective, OwnObjective, WrappedObjective
from treerank.objectives.batches import taken
from treerank.objectives.factory import LOSSES
from treerank.objectives.lists.losses import HalfSquaredError
from treerank.objectives.sums import FromStart, SomeRows, WeightedSum, weighted_sum

RNG = np.random.default_rng(0)
QID = RNG.permutation(np.repeat(np.arange(6), 10))
Y, START = RNG.integers(0, 4, size=60), RNG.normal(size=60)
#: The documents of an objective among 63, three of which it does not know.
ROWS = RNG.permutation(63)[:60]
ALL_QID = np.zeros(63, dtype=int)
ALL_QID[ROWS] = QID
ALL_GROUPS = QueryGroups.from_qid(ALL_QID)


class Bare:
    """An objective of the user's own with all members, and no base class."""

    def __init__(self, objective):
        self.objective = objective

    def __getattr__(self, name):
        return getattr(self.objective, name)

    def __call__(self, scores, *, iteration=0):
        return self.objective(scores, iteration=iteration)


#: How each wrapper is made from an objective.
WRAPPERS = {
    FromStart: lambda objective: FromStart(objective, START),
    OwnObjective: lambda objective: OwnObjective(Bare(objective)),
    SomeRows: lambda objective: SomeRows(objective, ROWS, ALL_GROUPS),
    WeightedSum: lambda objective: weighted_sum([objective, objective], [0.5, 2.0]),
}
#: Members that return another objective over the same documents, and what they are asked.
FORMS = {"convex": (), "convex_or_itself": (), "with_loss": (HalfSquaredError(),)}
VALUES = "n_queries", "n_outputs", "steepness", "is_nonnegative", "name"
#: What the laws below call in another way.
OTHERS = {"around", "derivatives", "for_epoch", "groups", "has_anything_to_learn", "taking"}


class Telling(Objective):
    """An objective whose members are not the defaults."""

    n_outputs, name, steepness, is_nonnegative = 1, "telling", 3.0, True

    def __init__(self, groups, power=3.0, learns=False):
        self.queries, self.power, self.learns = groups, power, learns

    @property
    def groups(self):
        return self.queries

    def __call__(self, scores, *, iteration=0):
        return float(scores.sum()), *self.derivatives(scores, iteration=iteration)

    def derivatives(self, scores, *, iteration=0):
        self.seen = scores
        return self.power * scores + iteration, np.full(len(scores), self.power)

    def taking(self, rows, groups):
        return Telling(groups, self.power, self.learns)

    def for_epoch(self, score):
        self.followed = score()
        return Telling(self.groups, 13.0)

    def convex(self):
        return Telling(self.groups, 5.0)

    def with_loss(self, loss):
        return Telling(self.groups, 7.0 if isinstance(loss, HalfSquaredError) else 11.0)

    def has_anything_to_learn(self):
        return self.learns


def inner(name):
    groups = QueryGroups.from_qid(QID)
    return Telling(groups) if name == "telling" else make_objective(Y, QID, loss=name)


def assert_same(one, other):
    scores = RNG.normal(size=one.groups.n_documents)
    np.testing.assert_array_equal(one.groups.codes, other.groups.codes)
    for found, expected in zip(one(scores), other(scores), strict=True):
        np.testing.assert_array_equal(found, expected)
    for iteration in (0, 3):
        found, expected = (each.derivatives(scores, iteration=iteration) for each in (one, other))
        np.testing.assert_array_equal(found, expected)


every_wrapper = pytest.mark.parametrize(
    "wrap", WRAPPERS.values(), ids=[c.__name__ for c in WRAPPERS]
)
every_inner = pytest.mark.parametrize("name", ["telling", *LOSSES])


def test_every_wrapper_has_an_example():
    found, more = set(), [WrappedObjective]
    while more:
        found |= (new := set(more))
        more = [cls for base in new for cls in base.__subclasses__()]
    assert found - {WrappedObjective} | {WeightedSum} == WRAPPERS.keys()


def test_every_member_of_an_objective_is_looked_at():
    members = {name for name, _ in inspect.getmembers(Objective) if not name.startswith("_")}
    assert members <= {*FORMS, *VALUES, *OTHERS}


@every_wrapper
@every_inner
@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_wrapper_is_the_wrapper_of_the_form(wrap, name, form):
    objective = inner(name)
    found = getattr(wrap(objective), form)(*FORMS[form])
    expected = getattr(objective, form)(*FORMS[form])
    assert_same(found, wrap(expected))
    assert found.name == wrap(expected).name


@every_wrapper
@every_inner
@pytest.mark.parametrize("member", VALUES)
def test_a_wrapper_says_what_the_other_objective_says(wrap, name, member):
    objective = inner(name)
    wrapper, expected = wrap(objective), getattr(objective, member)
    if member == "name" and isinstance(wrapper, WeightedSum):
        expected = f"{expected} + {expected}"
    assert getattr(wrapper, member) == expected


@every_wrapper
@pytest.mark.parametrize("learns", [True, False])
def test_a_wrapper_learns_if_the_other_objective_does(wrap, learns):
    objective = Telling(QueryGroups.from_qid(QID), learns=learns)
    assert wrap(objective).has_anything_to_learn() == learns


def test_the_iteration_is_the_first_unless_it_is_given():
    classes = [Objective]
    for cls in classes:
        classes += cls.__subclasses__()
        for method in (cls.__call__, cls.derivatives):
            assert inspect.signature(method).parameters["iteration"].default == 0, cls
    assert len(classes) > 6


@every_wrapper
def test_a_wrapper_draws_by_the_iteration_which_is_the_first_unless_it_is_given(wrap):
    objective, scores = wrap(inner("telling")), RNG.normal(size=63)
    scores = scores[: objective.groups.n_documents]
    for method in (lambda *args, **at: objective(*args, **at)[1:], objective.derivatives):
        found, first, second = method(scores), *(method(scores, iteration=t) for t in (0, 1))
        np.testing.assert_array_equal(found, first)
        assert (second[0] != first[0]).any()


@every_wrapper
def test_the_next_epoch_of_a_wrapper_is_that_of_the_other_objective_at_its_scores(wrap):
    objective = inner("telling")
    wrapper = wrap(objective)
    scores = RNG.normal(size=wrapper.groups.n_documents)
    assert_same(wrapper.for_epoch(lambda: scores), wrap(Telling(objective.groups, 13.0)))
    wrapper.derivatives(scores)
    np.testing.assert_array_equal(objective.followed, objective.seen)


@every_wrapper
@pytest.mark.parametrize("name", LOSSES)
def test_objectives_whose_targets_do_not_follow_scores_are_the_same_in_every_epoch(wrap, name):
    def refuse():
        raise AssertionError("scores were computed for nothing")

    objective = wrap(inner(name))
    assert_same(objective.for_epoch(refuse), objective)


@every_wrapper
@every_inner
def test_some_rows_of_a_wrapper_have_the_convex_form_of_these_rows(wrap, name):
    whole = wrap(inner(name))
    rows = np.flatnonzero(whole.groups.codes < 3)
    rows = rows[np.argsort(whole.groups.codes[rows], kind="stable")]
    assert_same(taken(whole, rows).convex(), taken(whole.convex(), rows))


def test_losses_of_an_ensemble_count_in_a_chain_as_alone():
    X = RNG.normal(size=(60, 2))

    def scores(losses, chained):
        part = Ensemble([LightGBMTrees(5, min_child_samples=5)], losses=losses, n_bags=2)
        part = Stages(["linear", part]) if chained else part
        return TreeDirectRanker(part, random_state=0).fit(X, Y, QID).predict(X)

    for chained in (False, True):
        assert (scores(["half_squared_error"], chained) != scores(None, chained)).any()
