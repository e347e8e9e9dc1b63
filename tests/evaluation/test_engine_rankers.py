import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMRanker, LGBMRegressor
from xgboost import XGBRanker, XGBRegressor

from treerank import compare
from treerank.evaluation.engine_rankers import ENGINE_RANKERS, EngineRanker

rng = np.random.default_rng(0)
N = 200
FRAME = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
COLORED = FRAME.assign(color=rng.choice(["red", "blue", "green"], N))
QID = rng.permutation(np.repeat([f"q{i}" for i in range(10)], 20))
Y = ((COLORED["color"] == "red") + (FRAME["a"] > 0)).to_numpy().astype(int)
DATA = {
    "array": FRAME.to_numpy(),
    "pandas": FRAME,
    "with text": COLORED,
    "polars with text": pl.from_pandas(COLORED),
    "Arrow with text": pl.from_pandas(COLORED).to_arrow(),  # LightGBM would end the process
}
RANKERS = {
    "lightgbm": lambda: LGBMRanker(n_estimators=5, verbosity=-1, n_jobs=1, min_child_samples=5),
    "xgboost": lambda: XGBRanker(n_estimators=5, n_jobs=1),
    "lightgbm's regressor": lambda: LGBMRegressor(n_estimators=5, verbosity=-1, n_jobs=1),
    "xgboost's regressor": lambda: XGBRegressor(n_estimators=5, n_jobs=1),
    "catboost": lambda: pytest.importorskip("catboost").CatBoostRanker(
        iterations=5, thread_count=1, **ENGINE_RANKERS["CatBoostRanker"][1]
    ),
}


@pytest.mark.parametrize("form", DATA)
@pytest.mark.parametrize("name", RANKERS)
def test_engines_are_compared_as_they_are(name, form):
    found = compare({name: RANKERS[name]()}, (DATA[form], Y, QID), cv=2)
    assert len(found.outcomes) == 2
    assert found.by_split("ndcg@10").mean() > (0.9 if "text" in form else 0.6)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM 4.6, of arrays
def test_lightgbm_learns_what_it_learns_from_sorted_rows():
    order = np.argsort(QID, kind="stable")
    group = np.unique(QID, return_counts=True)[1]
    expected = RANKERS["lightgbm"]().fit(FRAME.to_numpy()[order], Y[order], group=group)
    found = EngineRanker(RANKERS["lightgbm"]()).fit(FRAME, Y, QID)
    np.testing.assert_array_equal(found.predict(FRAME), expected.predict(FRAME.to_numpy()))


def test_parameters_of_engines_are_searched_by_their_own_names():
    options = {"cv": 2, "grid": {"lightgbm": {"n_estimators": [1, 8]}}, "inner_cv": 2}
    found = compare({"lightgbm": RANKERS["lightgbm"]()}, (FRAME, Y, QID), **options)
    assert {o.best_params["n_estimators"] for o in found.outcomes.values()} <= {1, 8}
