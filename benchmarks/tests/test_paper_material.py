"""What only the papers' scripts use: their data and transforms."""

import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

PAPER = Path(__file__).resolve().parents[1] / "paper"


@pytest.fixture(autouse=True)
def _paper_on_path(monkeypatch):
    monkeypatch.syspath_prepend(PAPER)


def of_paper(module, name):
    return getattr(importlib.import_module(module), name)


def test_features_of_a_class_are_its_gaussian():
    drawn = of_paper("gaussian_classes", "GaussianClasses").drawn
    classes = drawn(n_features=3, n_classes=2, random_state=0)
    X, y, qid = classes.sample(4000, documents_per_query=1500, random_state=1)
    assert np.bincount(qid).tolist() == [1500, 1500, 1000]
    for label, feature in itertools.product(range(2), range(3)):
        parameters = classes.means[label, feature], classes.deviations[label, feature]
        assert stats.kstest(X[y == label, feature], "norm", parameters).pvalue > 0.001


def test_levels_are_equally_frequent_and_follow_the_network():
    X, levels, values, qid = of_paper("random_network", "make_random_network")(12, random_state=0)
    assert stats.kstest(X.ravel(), "uniform", (-1, 2)).pvalue > 0.001
    np.testing.assert_array_equal(np.bincount(levels), 100)
    np.testing.assert_array_equal(np.bincount(qid), 50)
    assert (np.diff(levels[np.argsort(values)]) >= 0).all()
    assert np.abs(values).max() < 10  # ten hidden units in (-1, 1), weights in [-1, 1]


def test_any_distribution_becomes_normal_with_standard_deviation_one_third():
    normal = of_paper("transforms", "NormalTransformer")
    X = np.exp(3 * np.random.default_rng(0).normal(size=(5000, 1)))
    for n_quantiles in (1000, 10_000):
        found = normal(n_quantiles=n_quantiles).fit_transform(X)
        assert found.std() == pytest.approx(1 / 3, rel=0.01)
        assert found.mean() == pytest.approx(0, abs=0.01)
        np.testing.assert_array_equal(np.argsort(found[:, 0]), np.argsort(X[:, 0]))


def test_missing_values_stay_missing():
    X = np.array([[np.nan, np.nan], [1.0, np.nan], [3.0, np.nan]])
    found = of_paper("transforms", "NormalTransformer")().fit_transform(X)
    assert np.isnan(found).tolist() == np.isnan(X).tolist()
    assert found[1, 0] == -found[2, 0]
    scaled = of_paper("transforms", "scaled_within_queries")(X, [1, 1, 1])
    np.testing.assert_allclose(scaled[:, 0], [np.nan, -1 / 3, 1 / 3])


def test_queries_are_scaled_by_equation_5_whatever_their_order():
    X = np.array([[1.0, 0.0], [4.0, 2.0], [3.0, 0.0], [2.0, -6.0]])
    scaled = of_paper("transforms", "scaled_within_queries")(X, ["b", "a", "b", "a"])
    expected = [[-1 / 3, 0], [1 / 4, 4 / 6], [1 / 3, 0], [-1 / 4, -4 / 6]]
    np.testing.assert_allclose(scaled, expected)
