import numpy as np
import pytest

from treerank.baselines import RankSVM
from treerank.documents.rows import Rows
from treerank.feature_parts.standardization import Standardization

X = np.random.default_rng(0).normal(size=(9000, 3)) * [1.0, 1e-9, 1e9] + [0.0, 1e-6, -1e9]


def standardized(data, dtype=np.float64):
    rows = Rows(data)
    return Standardization.of(rows)(rows, dtype)


def test_features_get_mean_0_and_deviation_1():
    result = standardized(X)
    np.testing.assert_allclose(result.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(result.std(axis=0), 1, rtol=1e-6)
    assert standardized(X, np.float32).dtype == np.float32


def test_missing_values_become_0_and_change_nothing_else():
    holed = np.vstack([X, np.full((100, 3), np.nan)])
    expected = np.vstack([standardized(X), np.zeros((100, 3))])
    np.testing.assert_array_equal(standardized(holed), expected)


@pytest.mark.parametrize("value", [0.0, 7.0, 1e12, np.nan])
def test_a_feature_that_does_not_vary_is_not_scaled(value):
    rows = Rows(np.full((50, 1), value))
    assert Standardization.of(rows).scale == 1.0
    np.testing.assert_array_equal(standardized(rows.values), np.zeros((50, 1)))


def test_features_whose_squares_are_infinite_are_refused():
    wide, qid = X[:900] * [1.0, 1.0, 1e200], np.arange(900) % 90
    for call in (lambda: Standardization.of(Rows(wide)), lambda: RankSVM().fit(wide, qid % 2, qid)):
        with pytest.raises(ValueError, match=r"X must be below 1e150 .* standardized; column 2 is"):
            call()
