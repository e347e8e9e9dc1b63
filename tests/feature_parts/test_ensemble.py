import itertools
from dataclasses import replace

import numpy as np
import pytest
from drawn_forests import one_leaf
from example_rankers import Column
from own_objective import Flat
from ranking_sample import make_ranking_sample
from scipy.optimize import minimize, nnls
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

from treerank import TreeDirectRanker, make_objective
from treerank.documents.queries import QueryGroups
from treerank.feature_parts import HistogramTrees, LightGBMTrees, LinearModel, ensemble
from treerank.feature_parts.bags import deal_bags
from treerank.feature_parts.ensemble import Ensemble, fit_member_weights
from treerank.feature_parts.rows import as_rows
from treerank.forests.building import summed
from treerank.objectives.batches import taken
from treerank.objectives.factory import get_loss
from treerank.progress import listening

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = make_ranking_sample()
OBJECTIVE = make_objective(Y, QID)
TREES = LightGBMTrees(n_estimators=3, min_child_samples=5, n_jobs=1)


class Memory(BaseEstimator):
    """Knows the direction of the gradient in each row it was fitted to, and nothing else."""

    n_outputs_ = 1

    def fit(self, X, objective, *, validation=None):
        rows, slope = as_rows(X).array(), objective.derivatives(np.zeros(len(X)))[0]
        self.known_ = {row.tobytes(): -value for row, value in zip(rows, slope, strict=True)}
        self.sizes_, self.validation_ = objective.groups.sizes, validation
        return self

    def transform(self, X):
        rows = as_rows(X).array()
        return np.array([[self.known_.get(row.tobytes(), 0.0)] for row in rows])


class Weighed(Column):
    """Columns with trained weights."""

    head_weight_ = np.array([2.0, -1.0])


@pytest.mark.parametrize("n_bags", [2, 5, 12])
def test_every_query_is_left_out_by_one_bag_and_kept_by_the_others(n_bags):
    groups = QueryGroups.from_qid(np.random.default_rng(0).permutation(QID))
    bags = deal_bags(groups, n_bags, np.random.RandomState(1))
    assert len(bags) == n_bags
    left_out = np.concatenate([bag.left_out for bag in bags])
    np.testing.assert_array_equal(np.sort(left_out), np.arange(len(QID)))
    for bag in bags:
        assert not set(groups.codes[bag.kept]) & set(groups.codes[bag.left_out])
        assert len(bag.kept) + len(bag.left_out) == len(QID)


def test_an_objective_of_one_query_leaves_out_documents():
    bags = deal_bags(QueryGroups.from_qid(None, 7), 5, np.random.RandomState(0))
    assert sorted(len(bag.left_out) for bag in bags) == [1, 1, 1, 2, 2]
    alone = deal_bags(QueryGroups.from_qid(None, 1), 5, np.random.RandomState(0))
    assert [bag.kept.tolist() for bag in alone] == [[0]]


def test_a_part_that_only_remembers_its_training_rows_gets_no_weight():
    part = Ensemble([LinearModel(), Memory()], random_state=0).fit(X, OBJECTIVE)
    assert part.head_weight_[0] > 0
    assert part.head_weight_[1] == 0 or part.spread_[1] == 0
    assert np.ptp(part.transform(X)[:, 1]) > 0


@pytest.mark.parametrize("weight", ["ndcg", "uniform"])
def test_weights_are_fitted_to_the_objective_itself(weight):
    y, qid = np.repeat([3.0, 0, 0, 2, 1, 0], 50), np.tile(np.arange(50), 6)  # rows in any order
    scores = np.random.default_rng(1).normal(size=(len(y), 2))
    scores[:, 0] += 3 * (y == 3)  # finds the first
    scores[:, 1] += 3 * y * (y < 3)  # sorts the rest
    k = 1 if weight == "ndcg" else None
    part = Ensemble([Column((0,)), Column((1,))], random_state=0)
    first, rest = part.fit(scores, make_objective(y, qid, weight=weight, k=k)).head_weight_
    assert rest < 0.05 * first if weight == "ndcg" else rest > 0.3 * first


def test_where_no_part_helps_all_parts_count():
    part = Ensemble([Memory(), Memory()], random_state=0).fit(X, OBJECTIVE)
    np.testing.assert_array_equal(part.head_weight_, [1, 1])


def test_a_bag_sees_its_own_queries_and_stops_on_what_it_leaves_out():
    part = Ensemble([Memory()], n_bags=3, random_state=0).fit(X, OBJECTIVE)
    sizes = [sorted(memory.sizes_) for (memory,) in part.bags_]
    assert [len(kept) for kept in sizes] == [8, 8, 8]
    rows, metric = part.bags_[0][0].validation_
    assert len(rows) + sum(sizes[0]) == len(X)
    assert metric(np.zeros(len(rows))) < 0


def test_a_part_may_have_a_loss_of_its_own_and_weights_are_fitted_to_the_rankers():
    part = Ensemble([Memory(), Memory()], losses=[None, "half_squared_error"]).fit(X, OBJECTIVE)
    squared = make_objective(Y, QID, loss="half_squared_error")
    for bag in part.bags_:
        for memory, objective in zip(bag, (OBJECTIVE, squared), strict=True):
            slopes = objective.derivatives(0 * Y)[0]
            slope = {row.tobytes(): value for row, value in zip(X, slopes, strict=True)}
            assert memory.known_ == {row: -slope[row] for row in memory.known_}
    columns = Ensemble([Column((0,)), Column((1,))], random_state=0)
    weight = columns.fit(X, OBJECTIVE).head_weight_
    columns.set_params(losses=["half_squared_error", "listnet"]).fit(X, OBJECTIVE)
    np.testing.assert_array_equal(columns.head_weight_, weight)


def test_refits_learn_from_all_queries_with_the_weights_of_the_bags():
    bagged, refitted = (
        Ensemble(["linear", "linear"], n_bags=3, n_refits=n, random_state=0).fit(X, OBJECTIVE)
        for n in (0, 2)
    )
    np.testing.assert_array_equal(refitted.head_weight_, bagged.head_weight_)
    alone = LinearModel().fit(X, OBJECTIVE).transform(X)
    np.testing.assert_allclose(refitted.transform(X), np.hstack([alone, alone]), rtol=1e-12)
    part = Ensemble([LightGBMTrees(5, colsample_bytree=0.5), Memory()], n_bags=2, n_refits=3)
    fits = part.fit(X, OBJECTIVE).bags_
    assert len({trees.random_state for trees, _ in fits}) == 3
    assert [(len(m.known_), m.validation_) for _, m in fits] == [(len(X), None)] * 3


class Interrupted(Memory):
    """Ends like a fit that the user stops, from the third fit on."""

    n_fits = 0

    def fit(self, X, objective, *, validation=None):
        Interrupted.n_fits += 1
        if Interrupted.n_fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, objective, validation=validation)


def test_without_time_there_is_one_fit_to_all_queries_with_the_shares_as_weights():
    settings = {"n_bags": 3, "n_refits": 2, "shares": [1.0, 0.5], "random_state": 0}
    part = Ensemble(["linear", TREES], time=1e-9, **settings).fit(X, OBJECTIVE)
    whole = Ensemble(["linear", TREES], **settings).fit(X, OBJECTIVE)
    loaded = [Ensemble(["linear", TREES]).set_state(each.get_state()) for each in (part, whole)]
    assert [each.n_left_out_ for each in (part, whole, *loaded)] == [4, 0, 4, 0]
    alone = [fit.transform(X)[:, 0] for fit in whole.bags_[0]]
    np.testing.assert_array_equal(part.transform(X).T, alone)
    spread = np.std(alone, axis=1)
    expected = np.array([2, 1]) / 3 * ((2 * spread[0] + spread[1]) / 3)
    np.testing.assert_allclose(part.head_weight_ * spread, expected)


@pytest.mark.parametrize("shares", [None, [1.0, 0.5]])
def test_without_bags_parts_are_fitted_once_to_all_queries_with_the_shares_as_weights(shares):
    settings = {"n_bags": 0, "n_refits": 1, "shares": shares}
    part = Ensemble([TREES, "linear"], losses=["half_squared_error", None], **settings)
    part.set_params(random_state=0).fit(X, OBJECTIVE)
    squares = OBJECTIVE.with_loss(get_loss("half_squared_error"))
    alone = [clone(part.bags_[0][0]).fit(X, squares), LinearModel().fit(X, OBJECTIVE)]
    scores = np.hstack([each.transform(X) for each in alone])
    np.testing.assert_allclose(part.transform(X), scores, rtol=1e-12)
    spread, weight = scores.std(axis=0), np.array(shares or [1.0, 1.0])
    np.testing.assert_allclose(part.head_weight_ * spread, weight / weight.sum() * spread[1])
    assert (len(part.bags_), part.n_left_out_) == (1, 0)
    rows = np.random.default_rng(0).permutation(len(X))
    first, second = (
        TreeDirectRanker(part, random_state=0).fit(X[order], Y[order], QID[order])
        for order in (slice(None), rows)
    )
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def test_enough_time_changes_no_bit():
    settings = {"n_bags": 2, "n_refits": 2, "random_state": 0}
    long, free = (Ensemble([TREES], time=t, **settings).fit(X, OBJECTIVE) for t in (1e9, None))
    np.testing.assert_array_equal(long.scores_by_fit(X), free.scores_by_fit(X))


def test_no_fit_begins_that_would_end_too_late(monkeypatch):
    clock = itertools.count()  # looked at three times for each fit, which takes a second
    monkeypatch.setattr(ensemble, "monotonic", lambda: float(next(clock)))
    steps, said = [], []
    with listening(lambda *step: steps.append(step), said.append):
        part = Ensemble(["linear"], n_bags=6, time=10).fit(X, OBJECTIVE)
    assert (len(part.bags_), part.n_left_out_) == (4, 2)
    assert steps == [(n_fits, 6, {}) for n_fits in (1, 2, 3, 4)]
    assert said == ["4 of 6 fits in 13.0 s; the others left out"]
    with listening(lambda n_done, n_total, note: n_done == 2):
        assert Ensemble(["linear"], n_bags=6).fit(X, OBJECTIVE).n_left_out_ == 4


def test_weights_come_before_further_refits_where_time_is_short(monkeypatch):
    settings = {"n_bags": 2, "n_refits": 3, "shares": [1.0, 0.5], "random_state": 0}
    whole = Ensemble([TREES, "linear"], **settings).fit(X, OBJECTIVE)
    clock = itertools.count()  # looked at three times for each fit, which takes a second
    monkeypatch.setattr(ensemble, "monotonic", lambda: float(next(clock)))
    part = Ensemble([TREES, "linear"], time=7, **settings).fit(X, OBJECTIVE)
    assert (len(part.bags_), part.n_left_out_) == (1, 2)
    np.testing.assert_array_equal(part.head_weight_, whole.head_weight_)
    for first, second in zip(part.bags_[0], whole.bags_[0], strict=True):
        np.testing.assert_array_equal(first.transform(X), second.transform(X))


@pytest.mark.parametrize(("n_queries", "n_bags"), [(499, 0), (500, 2)])
def test_weights_are_chosen_where_there_are_queries_enough(n_queries, n_bags):
    rng = np.random.default_rng(0)
    features, qid = rng.normal(size=(2 * n_queries, 3)), np.repeat(np.arange(n_queries), 2)
    objective = make_objective(features[:, 0] + rng.normal(size=len(qid)) > 0, qid)
    settings = {"n_refits": 2, "shares": [1.0, 0.5], "random_state": 0}
    chosen, expected = (
        Ensemble([TREES, "linear"], n_bags=n, **settings).fit(features, objective)
        for n in ("auto", n_bags)
    )
    np.testing.assert_array_equal(chosen.head_weight_, expected.head_weight_)
    np.testing.assert_array_equal(chosen.scores_by_fit(features), expected.scores_by_fit(features))
    share = chosen.head_weight_ * chosen.spread_
    assert np.isclose(share[0] / share[1], 2) == (n_bags == 0)


@pytest.mark.parametrize(("n_refits", "n_kept", "n_left_out"), [(0, 2, 2), (2, 1, 4)])
def test_interrupted_with_time_keeps_whole_fits(n_refits, n_kept, n_left_out, monkeypatch):
    monkeypatch.setattr(Interrupted, "n_fits", 0)
    part = Ensemble(
        ["linear", Interrupted()], n_bags=4, n_refits=n_refits, random_state=0, time=1e9
    )
    part.fit(X, OBJECTIVE)
    assert (len(part.bags_), part.n_left_out_) == (n_kept, n_left_out)
    assert part.head_weight_[0] > 0
    assert np.isfinite(part.transform(X)).all()


def test_interrupted_without_time_or_without_a_whole_fit_ends_the_fit(monkeypatch):
    for n_before, time in ((0, None), (2, 1e9)):
        monkeypatch.setattr(Interrupted, "n_fits", n_before)
        part = Ensemble([Interrupted()], n_bags=4, time=time)
        with pytest.raises(KeyboardInterrupt):
            part.fit(X, OBJECTIVE)
        assert not hasattr(part, "bags_")


def test_weights_of_part_of_the_bags_come_from_what_these_leave_out(monkeypatch):
    monkeypatch.setattr(Interrupted, "n_fits", 0)
    part = Ensemble(["linear", Interrupted()], n_bags=3, random_state=0, time=1e9).fit(X, OBJECTIVE)
    bags = deal_bags(OBJECTIVE.groups, 3, np.random.RandomState(0))[:2]
    rows = np.sort(np.concatenate([bag.left_out for bag in bags]))
    scores = np.empty((len(X), 2))
    for bag, fits in zip(bags, part.bags_, strict=True):
        columns = [fit.transform(X[bag.left_out])[:, 0] for fit in fits]
        scores[bag.left_out] = np.transpose(columns)
    spread = scores[rows].std(axis=0)
    scale = np.where(spread > 0, spread, 1)
    weight = fit_member_weights(scores[rows] / scale, taken(OBJECTIVE, rows))
    np.testing.assert_allclose(part.head_weight_, weight / scale)


def test_validation_is_measured_and_chooses_nothing():
    ranker = TreeDirectRanker(["linear", TREES], random_state=0)
    scores = ranker.fit(X, Y, QID).predict(X)
    assert ranker.evals_result_ == {}
    other = 2 * X, Y, QID
    np.testing.assert_array_equal(ranker.fit(X, Y, QID, eval_set=other).predict(X), scores)
    assert ranker.evals_result_ == {"validation": {"ndcg@10": [ranker.score(*other)]}}


def test_a_bag_stops_early_without_an_eval_set():
    trees = LightGBMTrees(n_estimators=300, early_stopping_rounds=3, n_jobs=1)
    ranker = TreeDirectRanker([trees], random_state=0).fit(X, Y, QID)
    kept = [part.best_iteration_ for (part,) in ranker.feature_part_.bags_]
    assert len(set(kept)) > 1
    assert max(kept) < 300


def test_scores_are_the_weighted_means_over_bags():
    ranker = TreeDirectRanker(["linear", TREES], random_state=0).fit(X, Y, QID)
    part = ranker.feature_part_
    means = [
        np.mean([fit.transform(X)[:, 0] for fit in fits], axis=0)
        for fits in zip(*part.bags_, strict=True)
    ]
    np.testing.assert_allclose(ranker.predict(X), part.head_weight_ @ means, rtol=1e-12)


def test_weights_of_outputs_that_a_part_has_trained_count():
    part = Ensemble([LinearModel(), Weighed((0, 1))], random_state=0).fit(X, OBJECTIVE)
    np.testing.assert_allclose(part.transform(X)[:, 1], 2 * X[:, 0] - X[:, 1])


@pytest.mark.filterwarnings("ignore:No pair")
def test_any_objective_fits_an_ensemble():
    ranker = TreeDirectRanker(["linear", TREES], random_state=0, pairs="top_10").fit(X, Y, QID)
    assert ranker.score(X, Y, QID) > 0.7
    assert ranker.transform(X).shape == (len(X), 2)


def test_parts_are_copied_and_their_parameters_are_named_by_their_index():
    ranker = TreeDirectRanker(["linear", TREES])
    ranker.set_params(feature_part__1__num_leaves=7, feature_part__n_bags=2)
    assert isinstance(ranker.feature_part, Ensemble)
    params = ranker.get_params()
    assert (params["feature_part__1__num_leaves"], params["feature_part__n_bags"]) == (7, 2)
    assert TREES.num_leaves == "auto"
    with pytest.raises(ValueError, match="index must be one of"):
        ranker.set_params(feature_part__2__num_leaves=7)
    with pytest.raises(ValueError, match="Invalid parameter 'leaves'"):
        ranker.set_params(feature_part__1__leaves=7)


def test_sparse_matrices_are_read_if_all_parts_read_them():
    sparse = csr_matrix(X)
    trees = TreeDirectRanker([TREES, TREES], random_state=0)
    dense_scores = trees.fit(X, Y, QID).predict(X)
    np.testing.assert_array_equal(trees.fit(sparse, Y, QID).predict(sparse), dense_scores)
    with pytest.raises(TypeError, match="dense"):
        TreeDirectRanker(["linear", TREES]).fit(sparse, Y, QID)


def test_importances_sum_to_one_and_are_those_of_the_parts():
    ranker = TreeDirectRanker(["linear", TREES], random_state=0).fit(X, Y, QID)
    assert ranker.feature_importances_.sum() == pytest.approx(1)
    part = Ensemble([LinearModel()], random_state=0).fit(X, OBJECTIVE)
    lines = [line.feature_importances_ for (line,) in part.bags_]
    np.testing.assert_allclose(part.feature_importances_, np.mean(lines, axis=0))


def test_an_ensemble_of_trees_is_one_forest():
    rows = X.copy()
    rows[:, 2] = np.digitize(X[:, 2], [-1.0, 0.0, 1.0])
    trees = LightGBMTrees(3, min_child_samples=5, n_jobs=1, categorical_features=[2])
    parts = [trees, HistogramTrees(3, min_child_samples=5, n_jobs=1)]
    ranker = TreeDirectRanker(Ensemble(parts, n_bags=2), random_state=0).fit(rows, Y, QID)
    assert ranker.forest().n_outputs == 1
    np.testing.assert_allclose(ranker.scorer()(rows), ranker.predict(rows), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"must be a sum of trees; got \['trees', 'linear'\]"):
        TreeDirectRanker(Ensemble([trees, LinearModel()], n_bags=2)).fit(rows, Y, QID).forest()
    forest = one_leaf(2)
    with pytest.raises(ValueError, match="take the same numbers for missing values"):
        summed([forest, replace(forest, missing_up_to=0.0)])


@pytest.mark.parametrize(
    ("ensemble", "message"),
    [
        (Ensemble(["linear", None]), r"feature_part must have fit\(X, objective, .* got None"),
        (Ensemble([Ridge()]), r"feature_part must .* got Ridge\(\)"),
        (Ensemble([Column((0, 1))]), r"parts must have a single output or .* got 2 of Column"),
        (Ensemble(n_bags=1), "n_bags must be 0 or at least 2; got 1. Write n_bags=0, n_refits=1"),
        (Ensemble(n_bags=0), "n_refits must be at least 1 where n_bags is 0,"),
        (Ensemble(n_bags="auto"), "n_refits must be at least 1 where n_bags is 'auto', or nothing"),
        (Ensemble([]), "parts must hold a feature part; got none"),
        (
            Ensemble([TREES], losses=["logistic"]),
            "losses must be listwise or pointwise losses, .* 'logistic'",
        ),
        (Ensemble([TREES], losses=[None] * 2), "losses must have one entry for each of 1 parts"),
        (Ensemble([TREES], shares=[0]), "each of shares must be a finite number above 0; got 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(ensemble, message):
    with pytest.raises(ValueError, match=message):
        ensemble.fit(X, OBJECTIVE)


def test_the_best_ranker_takes_the_settings_of_a_ranker():
    ranker = TreeDirectRanker.best(metric="map", random_state=0)
    of_loss, of_labels, of_line = ranker.feature_part.shares
    assert of_loss > of_labels > of_line > 0
    assert (type(ranker.feature_part), ranker.metric) == (Ensemble, "map")
    assert ranker.fit(X, Y, QID).score(X, Y, QID) > 0.5


#: Scores of three members, whose weights are found below.
MEMBERS = np.random.default_rng(0).normal(size=(len(Y), 3)) + Y[:, None] * [1, 0.5, -1]


def test_squared_errors_are_least():
    objective = make_objective(Y, QID, loss="half_squared_error")
    expected = nnls(MEMBERS, Y - Y.mean())[0]
    np.testing.assert_allclose(fit_member_weights(MEMBERS, objective), expected, rtol=2e-3)
    assert (expected > 0).tolist() == [True, True, False]


def test_the_loss_is_that_of_the_best_weights():
    objective = make_objective(Y, QID, weight="query")
    weight = fit_member_weights(MEMBERS, objective)

    def loss(weight):
        value, gradient, _ = objective(MEMBERS @ weight)
        return value, MEMBERS.T @ gradient

    least = minimize(loss, np.ones(3), jac=True, bounds=[(0, None)] * 3).fun
    assert loss(weight)[0] - least < 1e-3 * loss(np.zeros(3))[0]
    assert weight[2] == 0


@pytest.mark.parametrize(("y", "scores"), [(np.ones(len(Y)), MEMBERS), (Y, 0 * MEMBERS)])
def test_weights_are_zero_where_there_is_nothing_to_weigh(y, scores):
    np.testing.assert_array_equal(fit_member_weights(scores, make_objective(y, QID)), 0)


def test_given_shares_count_as_25_queries():
    shares = np.array([1.0, 2.0, 2.0]) / 3
    away = np.eye(3) - np.outer(shares, shares)  # its own square
    pull = np.sqrt(25 / len(np.unique(QID)) * np.square(MEMBERS).sum() / 3)
    rows, goal = np.vstack([MEMBERS, pull * away]), np.append(Y - Y.mean(), [0, 0, 0])
    objective = make_objective(Y, QID, loss="half_squared_error")
    found = fit_member_weights(MEMBERS, objective, 6 * shares)
    np.testing.assert_allclose(found, nnls(rows, goal)[0], rtol=2e-3)


@pytest.mark.parametrize("loss", ["listnet", "xendcg", "approx_ndcg"])
def test_the_loss_of_a_part_sees_the_labels_as_if_it_were_that_of_the_ranker(loss):
    def columns(of_ranker, of_parts):
        trees = clone(TREES).set_params(random_state=0)
        part = Ensemble([trees, trees], losses=of_parts, n_bags=0, n_refits=1)
        ranker = TreeDirectRanker(part, loss=of_ranker, random_state=0)
        return ranker.fit(X, Y, QID).transform(X).T

    squared = "half_squared_error"
    first, second = columns(squared, [loss, None])
    np.testing.assert_array_equal((second, first), columns(loss, [squared, None]))
    assert (first != second).any()


def test_losses_that_an_objective_of_the_users_own_cannot_take_are_warned_of():
    objective = Flat(OBJECTIVE.groups)
    with pytest.warns(UserWarning, match=r"losses=\['half_squared_error'\] are not used: Flat is"):
        Ensemble([TREES], losses=["half_squared_error"], n_bags=2).fit(X, objective)
    Ensemble([TREES], losses=[None], n_bags=2).fit(X, objective)


class Square(Flat):
    """An objective of the user's own, which says what its convex form and those of losses are."""

    def derivatives(self, scores, *, iteration=0):
        return scores - Y.mean(), np.ones(len(scores))

    def __call__(self, scores, *, iteration=0):
        slopes = self.derivatives(scores)
        return float((slopes[0] ** 2).sum() / 2), *slopes

    def taking(self, rows, groups):
        return Square(groups)

    def bind(self, judgments):
        return Square(judgments.groups)

    def with_loss(self, loss):
        return self

    def convex(self):
        return self


@pytest.mark.parametrize(
    ("objective", "losses", "message"),
    [
        (OBJECTIVE, ["listnet", None], "got 'listnet', which 'logistic' replaces."),
        (2 * OBJECTIVE, ["listmle", None], "got 'listmle', which 'logistic' replaces."),
        (Square(OBJECTIVE.groups), ["listnet", None], "got 'listnet', which 'Square' replaces."),
        (OBJECTIVE, [Square(None), None], None),  # which is fitted as it says
        (Square(OBJECTIVE.groups), [Square(None), None], None),
    ],
)
def test_the_loss_that_linear_models_are_fitted_to_instead_is_named(objective, losses, message):
    part = Ensemble(["linear", TREES], losses=losses, n_bags=2)
    if message is None:
        part.fit(X, objective)
    else:
        with pytest.warns(UserWarning, match=message):
            part.fit(X, objective)
