import numpy as np
import pytest
from example_rankers import Column
from own_objective import HalfSquare
from ranking_sample import make_ranking_sample

from treerank import TreeDirectRanker, make_objective
from treerank.feature_parts import LightGBMTrees, LinearModel, Stages
from treerank.feature_parts.head_fitting import fit_head
from treerank.objectives.batches import taken
from treerank.objectives.sums import FromStart

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

X, Y, QID = make_ranking_sample()
OBJECTIVE = make_objective(Y, QID)
RNG = np.random.default_rng(0)


def test_each_part_is_fitted_from_the_scores_of_the_last_ones():
    part = Stages([Column((0,)), Column((1,)), Column((2,))]).fit(X, OBJECTIVE)
    np.testing.assert_array_equal(part.transform(X)[:, 0], X[:, 0] + X[:, 1] + X[:, 2])
    scores = RNG.normal(size=len(X))
    for fitted, start in zip(part.parts_, [0, X[:, 0], X[:, 0] + X[:, 1]], strict=True):
        for ours, theirs in zip(fitted.objective_(scores), OBJECTIVE(start + scores), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_metric_of_validation_is_that_of_the_sum():
    part = Stages([Column((0,)), Column((1,))]).fit(X, OBJECTIVE, validation=(X[:9], np.max))
    first, second = (fitted.validation_[1] for fitted in part.parts_)
    assert first(X[:9, 1]) == X[:9, 1].max()
    assert second(X[:9, 1]) == (X[:9, 0] + X[:9, 1]).max()


def test_trees_from_a_line_lower_the_loss_of_the_line():
    trees = LightGBMTrees(n_estimators=10, min_child_samples=5, n_jobs=1)
    part = Stages(["linear", trees], random_state=0).fit(X, OBJECTIVE)
    line = LinearModel().fit(X, OBJECTIVE).transform(X)
    np.testing.assert_array_equal(part.parts_[0].transform(X), line)
    assert OBJECTIVE(part.transform(X)[:, 0])[0] < 0.9 * OBJECTIVE(line[:, 0])[0]


def test_several_outputs_that_nobody_weighs_are_refused():
    message = r"parts must have a single output .* Let its fit set head_weight_ = fit_head\(self"
    with pytest.raises(ValueError, match=message):
        Stages([Column((0, 1))]).fit(X, OBJECTIVE)
    two = HalfSquare(np.zeros((len(X), 2)), groups=OBJECTIVE.groups)
    with pytest.raises(ValueError, match=r"objective must have a single output .*; got 2"):
        Stages([Column((0,))]).fit(X, two)


class WithHead(Column):
    """Does what the message about several outputs says."""

    def fit(self, X, objective, validation=None):
        super().fit(X, objective, validation=validation)
        self.head_weight_ = fit_head(self.transform(X), objective.convex_or_itself())


def test_a_part_of_several_outputs_weighs_them_itself():
    part = Stages([WithHead((0, 1))]).fit(X, OBJECTIVE)
    weight = fit_head(X[:, :2], OBJECTIVE.convex_or_itself())
    np.testing.assert_allclose(part.transform(X)[:, 0], X[:, :2] @ weight)


def test_a_start_goes_with_its_rows_and_with_the_convex_form():
    start, scores = RNG.normal(size=(2, len(X)))
    objective = FromStart(make_objective(Y, QID, loss="hinge"), start)
    rows = objective.groups.order[: objective.groups.sizes[0]]
    alone = make_objective(Y[rows], loss="hinge")
    assert taken(objective, rows)(scores[rows])[0] == alone(start[rows] + scores[rows])[0]
    convex = make_objective(Y, QID, loss="hinge").convex()
    assert objective.convex()(scores)[0] == convex(start + scores)[0]
    assert (2 * objective)(scores)[0] == 2 * objective(scores)[0]


def test_early_stopping_of_the_last_part_watches_the_sum():
    trees = LightGBMTrees(n_estimators=50, early_stopping_rounds=5, n_jobs=1)
    ranker = TreeDirectRanker(Stages([LinearModel(), trees]), random_state=0)
    ranker.fit(X, Y, QID, eval_set=(2 * X, Y, QID))
    (curve,) = ranker.evals_result_["validation"].values()
    assert max(curve) == pytest.approx(ranker.score(2 * X, Y, QID))


def test_the_ranker_says_how_many_trees_of_the_last_part_an_eval_set_keeps():
    rng = np.random.default_rng(2)
    X, qid = rng.normal(size=(120, 2)), np.repeat(np.arange(12), 10)
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    trees = LightGBMTrees(20, min_child_samples=1, n_jobs=1)
    held_out = X[qid >= 8], y[qid >= 8], qid[qid >= 8]
    ranker = TreeDirectRanker(Stages(["linear", trees]), random_state=0)
    ranker.fit(X[qid < 8], y[qid < 8], qid[qid < 8], eval_set=held_out)
    kept = ranker.best_iteration_
    assert kept == ranker.feature_part_.parts_[-1].best_iteration_ < 20
    recorded = ranker.evals_result_["validation"]["ndcg@10"]
    assert recorded[kept - 1] == pytest.approx(ranker.score(*held_out), abs=1e-9)
