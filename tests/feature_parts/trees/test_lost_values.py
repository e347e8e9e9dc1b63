from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from own_objective import HalfSquare

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees

RNG = np.random.default_rng(0)
N = 400
QID, VALUES = np.arange(N) // 20, RNG.integers(8, size=N)
#: Without XGBoost, a test that waits for a warning would fail rather than be skipped.
XGBOOST = pytest.mark.skipif(find_spec("xgboost") is None, reason="needs xgboost")
#: Values that vary, though an engine cannot see it.
LOST = {
    "xgboost": (XGBoostTrees(5), 2.0**53 + VALUES, "XGBoost rounds features to single precision"),
    "xgboost, tiny": (XGBoostTrees(5), 1e-320 * VALUES, "XGBoost rounds"),
    "lightgbm": (LightGBMTrees(5), 1e-320 * VALUES, "LightGBM takes numbers up to 1e-35 in size"),
}

every_case = pytest.mark.parametrize(
    "case", [pytest.param(name, marks=XGBOOST) if "xgb" in name else name for name in LOST]
)


@every_case
def test_a_column_that_varies_in_x_alone_is_named(case):
    part, values, rule = LOST[case]
    frame = pd.DataFrame({"price": RNG.normal(size=N), "big": values})
    with pytest.warns(UserWarning, match=rf"{rule}.* column 'big' of X, from .* has one value, of"):
        TreeDirectRanker(part, random_state=0).fit(frame, VALUES > 3, QID)


@pytest.mark.filterwarnings("ignore:.* has one value:UserWarning")
@every_case
def test_a_constant_model_is_told_at_any_size(case):
    part, values, _ = LOST[case]
    with pytest.warns(UserWarning, match="All 400 documents get the same score"):
        TreeDirectRanker(part, random_state=0).fit(values[:, None], VALUES > 3, QID)


@pytest.mark.parametrize("value", [3.0, 5.0, 7.0, 9.0])
def test_a_model_that_parts_few_of_many_documents_is_not_called_constant(value):
    """Wherever the query that tells documents apart stands, which its content decides."""
    good = np.arange(3000) < 10
    part = LightGBMTrees(5, min_child_samples=1)
    ranker = TreeDirectRanker(part, random_state=0)
    ranker.fit(value * good[:, None], good, np.arange(3000) // 20)
    assert len({*ranker.predict([[0.0], [value]])}) == 2


@XGBOOST
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


@pytest.mark.parametrize("seed", [348, 100])  # LightGBM's own check fails, or a leaf is infinite
def test_a_leaf_of_nothing_is_told_by_the_parameters_that_let_it_be(seed):
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(20, 200)), int(rng.integers(1, 6))
    X, y = rng.normal(size=(n, width)), rng.integers(0, 5, n)
    qid = np.sort(rng.integers(0, max(2, n // 8), n))

    def fit(**settings):
        part = LightGBMTrees(10, n_jobs=1, learning_rate=1.0, **settings)
        return TreeDirectRanker(part, random_state=0, loss="listnet").fit(X, y, qid)

    rule = r"min_child_weight must be above 0, or min_child_samples above 1, .*; got .*=0 and .*=1:"
    with pytest.raises(ValueError, match=rule):
        fit(min_child_samples=1, min_child_weight=0)
    for fine in ({"min_child_samples": 1}, {"min_child_samples": 2, "min_child_weight": 0}):
        assert np.isfinite(fit(**fine).predict(X)).all()


def test_other_errors_of_lightgbm_stay_as_they_are():
    def wrong(scores, iteration=0):
        raise RuntimeError("of the user")

    objective = HalfSquare(np.zeros(40))
    objective.derivatives = wrong
    with pytest.raises(RuntimeError, match="of the user"):
        LightGBMTrees(2).fit(np.arange(40.0).reshape(-1, 1), objective)
