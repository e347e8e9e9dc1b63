import numpy as np
import pytest
from example_rankers import Column, ranking_data
from own_objective import HalfSquare
from sklearn.base import clone

from treerank import HistogramTrees, TreeDirectRanker, make_objective
from treerank.documents import QueryGroups
from treerank.feature_parts import (
    MLP,
    Ensemble,
    LightGBMTrees,
    LinearModel,
    Stages,
    StreamingTrees,
    XGBoostTrees,
)
from treerank.rankers import StreamingRanker
from treerank.rankers.direct_ranker import DirectRanker, objective_for_labels

X, Y, QID = ranking_data()


def flat_at_zero(margin):
    """Price of a negative margin: at a margin of 0 it has no slope."""
    short = max(-margin, 0.0)
    return short * short, -2.0 * short, 2.0 if margin < 0 else 0.0


class FirstFeature(Column):
    """A feature part that gives scores without a fit, as a vector."""

    def transform(self, X):
        return super().transform(X)[:, 0]


TWO = {"same": np.zeros(len(Y)), "other": Y}


@pytest.mark.parametrize(("settings", "y"), [({"weight": "uniform"}, Y), ({}, TWO)])
def test_a_loss_without_slope_at_equal_scores_has_pairs_all_the_same(settings, y):
    ranker = TreeDirectRanker(FirstFeature(), loss=flat_at_zero, **settings, random_state=0)
    assert (ranker.fit(X, y, QID).predict(X) == X[:, 0]).all()


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"loss": flat_at_zero}, 0 * Y, "No pair of documents counts"),
        ({"loss": flat_at_zero, "weight": "map", "threshold": 9.0}, Y, "No pair of documents"),
        ({"weight": "map", "threshold": 9.0}, Y, "No pair of documents counts"),
        ({"loss": "half_squared_error"}, 0 * Y, "No query has two labels, and equal scores cost l"),
    ],
)
def test_with_nothing_to_learn_the_model_is_constant(settings, y, message):
    ranker = TreeDirectRanker(FirstFeature(), **settings, random_state=0)
    with pytest.warns(UserWarning, match=message):
        ranker.fit(X, y, QID)
    assert (ranker.predict(X) == 0).all()


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (StreamingRanker(StreamingTrees(3, max_estimators=4)), "No pair of documents counts"),
        *(
            (TreeDirectRanker(part, warm_start=True, loss=loss), message)
            for part in (HistogramTrees(3), LightGBMTrees(3), XGBoostTrees(3))
            for loss, message in (("logistic", "No pair of "), ("half_squared_error", "No query"))
        ),
    ],
)
def test_a_batch_with_nothing_to_learn_leaves_a_continued_model_as_it_is(ranker, message):
    ranker = clone(ranker).set_params(random_state=0, metric="ndcg@3").fit(X, Y, QID)
    with pytest.warns(UserWarning, match="probabilities"):
        ranker.calibrate(X, Y, QID)
    part, head, state = ranker.feature_part_, ranker.head_, ranker.get_state()
    assert state["had_queries"]
    ranker.set_params(feature_part__n_estimators=4, warm_start=True)
    few = QID < 2
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"{message}.*: the model stays as it is") as caught:
            ranker.fit(X[few], 0 * Y[few], QID[few], callbacks=[lambda *_: None])
        assert len(caught) == 1
    with pytest.warns(UserWarning, match="the model stays as it is"):
        ranker.fit(X[QID == 0], 0 * Y[QID == 0], QID[QID == 0])
    assert ranker.feature_part_ is part
    assert ranker.head_ is head
    after = ranker.get_state()
    for name in ("calibration_slope", "relevance_scale", "had_queries"):
        np.testing.assert_equal(after[name], state[name])
    assert ranker.fit(X, Y, QID).feature_part_.best_iteration_ == 4


class PlainLoss:
    """A loss whose objectives have no convex form."""

    def bind(self, judgments):
        return HalfSquare(judgments.y - judgments.y.mean(), groups=judgments.groups)


def test_several_labels_take_a_loss_without_a_convex_form():
    ranker = TreeDirectRanker("linear", loss=PlainLoss(), random_state=0)
    ranker.fit(X, {"a": Y, "b": -Y + 2 * (X[:, 1] > 0)}, QID)
    assert np.ptp(ranker.predict(X)) > 0


def test_an_objective_of_a_ranker_draws_as_one_that_is_made_alone():
    scores = X.sum(axis=1)
    made = objective_for_labels(TreeDirectRanker(loss="xendcg", random_state=5), Y, QID)
    alone = make_objective(Y, QID, loss="xendcg")
    for first, second in zip(made(scores), alone(scores), strict=True):
        np.testing.assert_array_equal(first, second)


def test_the_objective_of_several_labels_is_their_weighted_sum():
    labels, scores = {"a": Y, "b": X[:, 1] > 0, "unused": -Y}, X.sum(axis=1)
    ranker = TreeDirectRanker(label_weights={"a": 2.0, "b": 0.5, "unused": 0.0})
    made = objective_for_labels(ranker, labels, QID)
    first, second = (
        objective_for_labels(TreeDirectRanker(), labels[name], QID) for name in ("a", "b")
    )
    for found, one, other in zip(made(scores), first(scores), second(scores), strict=True):
        np.testing.assert_allclose(found, 2.0 * np.asarray(one) + 0.5 * np.asarray(other))


def test_the_convex_form_of_a_sum_keeps_terms_that_have_none():
    groups = QueryGroups.from_qid(QID)
    both = make_objective(Y, QID) + HalfSquare(Y - Y.mean(), groups=groups)
    line = LinearModel().fit(X, both)
    assert line.coef_[0] > 0


@pytest.mark.parametrize(
    ("part", "lacking"),
    [
        (["lightgbm", MLP((2,), n_epochs=1)], "MLP"),
        (MLP((2,), n_epochs=1), "MLP"),
        (Stages(["linear", MLP((2,), n_epochs=1)]), "MLP"),
        (Ensemble(["linear", Stages(["linear", MLP((2,), n_epochs=1)])], n_bags=2), "MLP"),
    ],
    ids=["list", "network", "stages", "ensemble"],
)
def test_importances_of_a_part_that_has_none_are_refused_with_the_reason(part, lacking):
    ranker = TreeDirectRanker(part, random_state=0).fit(X, Y, QID)
    reason = rf"from trees or linear models; {lacking} has none. permutation_importance\(ranker"
    with pytest.raises(AttributeError, match=reason):
        _ = ranker.feature_importances_
    assert not hasattr(ranker, "feature_importances_")  # as scikit-learn asks


def test_settings_that_a_ranker_does_not_name_are_those_of_the_paper():
    class OwnRanker(DirectRanker):
        feature_part = "linear"

    for name in ("head_alpha", "warm_start", "tau"):
        assert getattr(OwnRanker(), name) == getattr(TreeDirectRanker(), name)


def test_settings_of_a_part_are_checked_before_it_is_copied():
    endless = (number for number in range(3))  # which cannot be copied
    part = HistogramTrees(n_estimators=endless)
    with pytest.raises((TypeError, ValueError), match="n_estimators must"):
        TreeDirectRanker(part).fit(X, Y, QID)


def test_the_objective_of_wrong_settings_is_refused():
    for name in ("sigma", "head_alpha"):  # the objective itself has no head
        with pytest.raises(ValueError, match=f"{name} must"):
            objective_for_labels(TreeDirectRanker(**{name: -1.0}), Y, QID)


class WithoutValidation(FirstFeature):
    """A feature part whose fit takes documents and an objective alone."""

    def fit(self, X, objective):
        return super().fit(X, objective)


def test_a_part_that_takes_no_validation_has_no_eval_set():
    held_out = (X + 1, Y, QID + 1000)
    with pytest.raises(ValueError, match=r"eval_set must be None for feature_part=.*validation"):
        TreeDirectRanker(WithoutValidation()).fit(X, Y, QID, eval_set=held_out)
    TreeDirectRanker(WithoutValidation()).fit(X, Y, QID)
    fitted = TreeDirectRanker(HistogramTrees(2)).fit(X, Y, QID, eval_set=held_out)
    assert fitted.evals_result_["validation"]


def test_pairs_of_documents_with_equal_labels_count_by_default():
    rows = np.arange(len(Y) - 1)
    pairs = np.column_stack([rows, rows + 1])[QID[rows] == QID[rows + 1]]
    pairs = np.where(X[pairs[:, :1], 0] > X[pairs[:, 1:], 0], pairs, pairs[:, ::-1])
    ranker = TreeDirectRanker("linear", random_state=0)
    scores = ranker.fit(X, 0 * Y, QID, given_pairs=pairs).predict(X)
    assert (scores[pairs[:, 0]] > scores[pairs[:, 1]]).mean() > 0.9
    explicit = ranker.set_params(weight="uniform").fit(X, Y, QID, given_pairs=pairs)
    np.testing.assert_allclose(explicit.predict(X), scores, rtol=1e-9)
    n_equal = (Y[pairs[:, 0]] == Y[pairs[:, 1]]).sum()
    message = f"{n_equal} of {len(pairs)} given_pairs do not count.*Write weight='uniform'"
    with pytest.warns(UserWarning, match=message):
        TreeDirectRanker(weight="ndcg").fit(X, Y, QID, given_pairs=pairs)


def test_pairs_of_documents_without_a_label_do_not_count_in_silence():
    pairs = np.flatnonzero(QID[:-1] == QID[1:])[:, None] + [0, 1]
    labels = np.where(np.isin(QID, QID[:5]), np.nan, Y)
    lost = np.isnan(labels[pairs]).any(axis=1)
    ranker = TreeDirectRanker("linear", random_state=0)
    with pytest.warns(UserWarning, match=f"{lost.sum()} of {len(pairs)} given_pairs do not count"):
        scores = ranker.fit(X, labels, QID, given_pairs=pairs).predict(X)
    kept = ranker.fit(X, labels, QID, given_pairs=pairs[~lost]).predict(X)
    np.testing.assert_array_equal(scores, kept)
    with pytest.raises(ValueError, match=f"NaN in y for each of {lost.sum()}. A row without a lab"):
        ranker.fit(X, labels, QID, given_pairs=pairs[lost])
