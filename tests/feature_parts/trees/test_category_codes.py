from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees

pytestmark = pytest.mark.usefixtures("one_thread")
RANDOM = np.random.default_rng(0)
QID = np.repeat(np.arange(20), 10)
CODES = RANDOM.integers(0, 5, 200).astype(np.float64)
Y = (CODES % 3).astype(int)
PARTS = {"histogram": HistogramTrees, "lightgbm": LightGBMTrees, "xgboost": XGBoostTrees}
MOST = {"histogram": 2**31 - 1, "lightgbm": 2**31 - 1, "xgboost": 2**24 - 1}
every_part = pytest.mark.parametrize(
    "part",
    [
        *("histogram", "lightgbm"),
        pytest.param(
            "xgboost", marks=pytest.mark.skipif(find_spec("xgboost") is None, reason="needs it")
        ),
    ],
)


def with_codes(codes):
    return np.column_stack([RANDOM.random(200), codes])


def ranker(part, column=1):
    return TreeDirectRanker(PARTS[part](3, categorical_features=[column]), random_state=0)


@every_part
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, pd.DataFrame])
@pytest.mark.parametrize(
    ("codes", "value"),
    [
        (CODES - 1, "-1.0"),
        (CODES - 3, "-3.0"),
        (CODES / 10, "0.4"),
        (CODES + 5e9, "5000000004.0"),
        (np.where(CODES == 4, 1e300, CODES), "1e+300"),
    ],
)
def test_values_that_engines_cannot_store_as_codes_are_refused(part, kind, codes, value):
    X, column, name = kind(with_codes(codes)), 1, 1
    if kind is pd.DataFrame:
        X, column, name = X.set_axis(["price", "shop"], axis=1), "shop", "'shop'"
    rule = f"Column {name} of X must hold codes .* from 0 to {MOST[part]} or NaN .* got {value}"
    with pytest.raises(ValueError, match=rule.replace("+", r"\+")) as error:
        ranker(part, column).fit(X, Y, QID)
    assert ("np.where(codes < 0, np.nan, codes)" in str(error.value)) == (value == "-1.0")


@every_part
def test_codes_may_be_missing_and_the_engine_has_a_largest_code(part):
    X = with_codes(np.where(CODES == 0, np.nan, CODES))
    fitted = ranker(part).fit(X, Y, QID)
    assert len(np.unique(fitted.predict(with_codes(CODES)))) > 1
    with pytest.raises(ValueError, match=f"got {MOST[part] + 1}.0"):
        ranker(part).fit(with_codes(np.where(CODES == 4, MOST[part] + 1, CODES)), Y, QID)


@every_part
def test_unknown_values_to_score_and_to_watch_are_unknown_categories(part):
    X = with_codes(CODES)
    unknown = X.copy()
    unknown[::2, 1], unknown[1::2, 1] = -7, 99
    fitted = ranker(part).fit(X, Y, QID, eval_set=(unknown, Y, QID))
    missing = np.column_stack([unknown[:, 0], np.full(200, 99)])
    np.testing.assert_array_equal(fitted.predict(unknown), fitted.predict(missing))
