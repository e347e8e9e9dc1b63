import numpy as np
import pandas as pd
import pytest
from ranking_sample import make_ranking_sample

from treerank import TreeDirectRanker, make_objective
from treerank.documents.columns import Columns
from treerank.documents.rows import Rows
from treerank.feature_parts.head_fitting import fit_head
from treerank.feature_parts.linear import LinearModel

pytestmark = pytest.mark.usefixtures("one_thread")

X, Y, QID = make_ranking_sample()
OBJECTIVE = make_objective(Y, QID)


def test_a_line_is_the_convex_fit_of_features_of_deviation_one():
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = fit_head(scaled, OBJECTIVE.convex(), alpha=0.5)
    line = LinearModel(alpha=0.5).fit(X, OBJECTIVE)
    np.testing.assert_allclose(line.coef_, weight / X.std(axis=0), rtol=1e-4)
    np.testing.assert_allclose(line.transform(X)[:, 0], scaled @ weight, rtol=1e-3, atol=1e-6)


def test_a_missing_value_counts_as_the_mean():
    line = LinearModel().fit(X, OBJECTIVE)
    missing, mean = X[:1].copy(), X[:1].copy()
    missing[0, 1], mean[0, 1] = np.nan, X[:, 1].mean()
    np.testing.assert_allclose(line.transform(missing), line.transform(mean))


def test_categories_are_left_out():
    line = LinearModel().fit(Rows(X, columns=Columns({0: [0.0, 1.0]})), OBJECTIVE)
    assert line.coef_[0] == 0
    assert line.coef_[1] != 0
    frame = pd.DataFrame(X, columns=list("abcde")).assign(color=np.where(Y > 0, "red", "blue"))
    ranker = TreeDirectRanker(LinearModel()).fit(frame, Y, QID)
    assert ranker.feature_part_.coef_[5] == 0


def test_features_that_say_nothing_give_a_constant_line():
    line = LinearModel().fit(np.ones_like(X), OBJECTIVE)
    assert not line.transform(X).any()
    assert not line.feature_importances_.any()


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 0; got -1"):
        LinearModel(alpha=-1).fit(X, OBJECTIVE)
    with pytest.raises(ValueError, match="X must have 5 features; got 4"):
        LinearModel().fit(X, OBJECTIVE).transform(X[:, :4])


def test_positive_weights_are_the_fit_of_the_features_that_have_some():
    X_signed = X * np.array([1.0, -1, 1, -1, 1])
    free = LinearModel().fit(X_signed, OBJECTIVE).coef_
    assert (free < 0).any()
    positive = LinearModel(positive=True).fit(X_signed, OBJECTIVE)
    kept = positive.coef_ > 0
    assert (positive.coef_ >= 0).all()
    assert kept.any()
    assert not kept[free < 0].all()
    alone = LinearModel().fit(X_signed[:, kept], OBJECTIVE)
    np.testing.assert_allclose(positive.coef_[kept], alone.coef_, rtol=1e-3)
    # No weight at 0 would lower the loss above it.
    for feature in np.flatnonzero(~kept):
        columns = kept | (np.arange(X.shape[1]) == feature)
        assert (
            LinearModel().fit(X_signed[:, columns], OBJECTIVE).coef_[columns[:feature].sum()]
            <= 1e-4
        )


def test_features_that_all_speak_against_get_no_weight_and_no_warning_of_the_search():
    column = -X[:, [int(np.argmax(np.abs(LinearModel().fit(X, OBJECTIVE).coef_)))]]
    sign = np.sign(LinearModel().fit(column, OBJECTIVE).coef_[0])
    assert LinearModel(positive=True).fit(-sign * column, OBJECTIVE).coef_.tolist() == [0.0]
