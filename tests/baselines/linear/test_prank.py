import numpy as np
import pytest
from ranking_sample import make_ranking_sample

from treerank.baselines.linear.perceptrons import n_products, quadratic_scores, train_epoch
from treerank.baselines.linear.prank import LargeMarginPRank, PRank, QuadraticPRank

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
X, y, qid = make_ranking_sample(n_queries=8, random_state=1)


def plain_prank(Z, level, n_epochs):
    """PRank in plain Python (Crammer and Singer 2002, Figure 2); returns the errors, too."""
    w, b, errors = np.zeros(Z.shape[1]), np.zeros(level.max()), []
    for _ in range(n_epochs):
        errors.append(0)
        for x, y in zip(Z, level, strict=True):
            predicted = next((r for r in range(len(b)) if x @ w < b[r]), len(b))
            errors[-1] += abs(predicted - y)
            side = np.where(y > np.arange(len(b)), 1, -1)
            tau = np.where(side * (x @ w - b) <= 0, side, 0)
            w, b = w + tau.sum() * x, b - tau
    return w, b, errors


def with_products(Z):
    i, j = np.triu_indices(Z.shape[1])
    return np.column_stack([Z, Z[:, i] * Z[:, j]])


def trained(Z, level, n_epochs, *, quadratic=False, n_perceptrons=1, share=1.0):
    weights = np.zeros((n_perceptrons, n_products(Z.shape[1], quadratic)))
    thresholds, errors = np.zeros((n_perceptrons, level.max())), np.zeros(n_perceptrons, np.int64)
    order = np.arange(len(Z))
    for epoch in range(n_epochs):
        state = weights, thresholds, errors
        train_epoch(0, n_perceptrons, Z, level, order, share, 7, epoch, quadratic, *state)
    return weights, thresholds, errors


def test_an_epoch_is_that_of_a_plain_prank():
    for n_epochs in (1, 4):
        w, b, errors = plain_prank(X, y, n_epochs)
        weights, thresholds, found = trained(X, y, n_epochs)
        np.testing.assert_allclose(weights[0], w, atol=1e-12)
        np.testing.assert_array_equal(thresholds[0], b)
        assert (np.diff(b) >= 0).all()
        assert abs(found[0] - errors[-1]) <= (X @ w == 0).sum() + len(b)  # 0 is on both sides


def test_products_are_made_on_the_way():
    w, b, _ = plain_prank(with_products(X), y, 3)
    weights, thresholds, _ = trained(X, y, 3, quadratic=True)
    np.testing.assert_allclose(weights[0], w, atol=1e-9)
    np.testing.assert_array_equal(thresholds[0], b)
    np.testing.assert_allclose(quadratic_scores(X, w), with_products(X) @ w)


def test_each_perceptron_sees_a_share_of_its_own():
    weights, _, _ = trained(X, y, 1, n_perceptrons=5, share=0.3)
    assert len(np.unique(weights, axis=0)) == 5
    everything, _, _ = trained(X, y, 1, n_perceptrons=5)
    assert len(np.unique(everything, axis=0)) == 1


def test_callbacks_are_told_of_errors_without_an_eval_set():
    told = []
    PRank(n_epochs=2, random_state=0).fit(X, y, callbacks=[lambda *progress: told.append(progress)])
    assert [list(values) for _, _, values in told] == [["negative_errors"]] * 2
    assert all(values["negative_errors"] <= 0 for _, _, values in told)


def test_large_margin_prank_is_the_mean_of_its_perceptrons():
    ranker = LargeMarginPRank(n_perceptrons=1, share=1.0, n_epochs=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, PRank(n_epochs=3, random_state=0).fit(X, y).coef_)
    assert (LargeMarginPRank(n_epochs=3, random_state=0).fit(X, y).coef_ != ranker.coef_).any()


def test_levels_are_parted_by_thresholds():
    X = np.repeat(np.arange(4.0), 5)[:, None]
    labels = np.array([-1.0, 0.5, 2.0, 10.0])  # any numbers with an order
    y = np.repeat(labels, 5)
    ranker = PRank(n_epochs=200, early_stopping_rounds=200, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ranker.predict_level(X), y)
    np.testing.assert_array_equal(ranker.levels_, labels)
    assert (np.diff(ranker.thresholds_) > 0).all()


def test_products_find_what_no_line_parts():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert QuadraticPRank(random_state=0).fit(X, y).score(X, y) > 0.95
    linear, quadratic = (
        (r.fit(X, y).predict_level(X) == y).mean()
        for r in (PRank(random_state=0), QuadraticPRank(random_state=0))
    )
    assert linear < 0.7 < 0.9 < quadratic


@pytest.mark.parametrize("n_features", [1, 3])
def test_products_are_no_line_to_explain_or_export(n_features):
    X = np.random.default_rng(0).normal(size=(60, n_features))
    ranker = QuadraticPRank(n_epochs=2, random_state=0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    parts, scores = ranker.explain(X[:3], X[3:4]), ranker.predict(X)
    np.testing.assert_allclose(parts.sum(axis=1), scores[:3] - scores[3], atol=1e-9)
    assert parts.shape == (3, n_features)
    for call in (ranker.components, ranker.scorer):
        with pytest.raises(ValueError, match="must be a sum of trees and linear models; got Quadr"):
            call()
