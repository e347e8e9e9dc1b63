import numpy as np
import pandas as pd
import pytest

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees

RNG = np.random.default_rng(0)
N = 400
QID, VALUES = np.arange(N) // 20, RNG.integers(8, size=N)
#: Values that vary, though an engine cannot see it.
LOST = {
    "xgboost": (XGBoostTrees(5), 2.0**53 + VALUES, "XGBoost rounds features to single precision"),
    "xgboost, tiny": (XGBoostTrees(5), 1e-320 * VALUES, "XGBoost rounds"),
    "lightgbm": (LightGBMTrees(5), 1e-320 * VALUES, "LightGBM takes numbers up to 1e-35 in size"),
}


@pytest.mark.parametrize("case", LOST)
def test_a_column_that_varies_in_x_alone_is_named(case):
    part, values, rule = LOST[case]
    frame = pd.DataFrame({"price": RNG.normal(size=N), "big": values})
    with pytest.warns(UserWarning, match=rf"{rule}.* column 'big' of X, from .* has one value, of"):
        TreeDirectRanker(part, random_state=0).fit(frame, VALUES > 3, QID)


@pytest.mark.filterwarnings("ignore:.* has one value:UserWarning")
@pytest.mark.parametrize("case", LOST)
def test_a_constant_model_is_told_at_any_size(case):
    part, values, _ = LOST[case]
    with pytest.warns(UserWarning, match="All 400 documents get the same score"):
        TreeDirectRanker(part, random_state=0).fit(values[:, None], VALUES > 3, QID)


def test_many_lost_columns_are_one_warning():
    X = 2.0**53 + RNG.integers(8, size=(N, 3))
    with pytest.warns(match="column 0 of X, .*, and 2 others have one value each") as caught:
        TreeDirectRanker(XGBoostTrees(5)).fit(np.column_stack([X, VALUES]), VALUES > 3, QID)
    assert len(caught) == 1


@pytest.mark.parametrize("part", [XGBoostTrees(5), LightGBMTrees(5), HistogramTrees(5)], ids=repr)
def test_what_the_engine_can_tell_apart_is_fitted_without_a_word(part):
    late = np.where(np.arange(N) == N - 1, 1.0, 0.0)  # varies in the last row alone
    missing = np.full(N, np.nan)
    X = np.column_stack([VALUES, late, missing, np.full(N, 2.0**53), 1e-30 * VALUES])
    TreeDirectRanker(part, random_state=0).fit(X, VALUES > 3, QID)
    TreeDirectRanker(part, random_state=0).fit(X.astype(np.float32), VALUES > 3, QID)
