"""Models in memory are read as their files are, and pandas' categories as LightGBM codes them."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from treerank import load, read_forest
from treerank.rankers import ForestRanker

#: LightGBM 4.6 names the columns of an array, and scikit-learn then misses them in ``predict``.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
Y, GROUP, QID = (X[:, 0] > 0).astype(int), [50] * 4, np.repeat(np.arange(4), 50)
SMALL = {"n_estimators": 4, "n_jobs": 1}
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    color=pd.Categorical(rng.choice(["red", "blue", "green"], 200), ["red", "green", "blue"]),
    size=pd.Categorical(rng.choice([10, 7, 12], 200)),
)
LABEL = Y + (FRAME["color"] == "red").to_numpy()


def lightgbm_ranker():
    return lightgbm.LGBMRanker(**SMALL, verbosity=-1).fit(X, Y, group=GROUP)


def xgboost_ranker():
    return xgboost.XGBRanker(**SMALL).fit(X, Y, qid=QID)


def stopped_early():
    part = xgboost.XGBRanker(n_estimators=60, n_jobs=1, early_stopping_rounds=2)
    return part.fit(X, Y, qid=QID, eval_set=[(X[:50], 1 - Y[:50])], eval_qid=[QID[:50]], verbose=0)


def catboost_ranker():
    catboost = pytest.importorskip("catboost")
    quiet = {"silent": True, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRanker(iterations=4, **quiet).fit(X, Y, group_id=QID)


@pytest.mark.parametrize("make", [lightgbm_ranker, xgboost_ranker, stopped_early, catboost_ranker])
def test_a_fitted_ranker_is_read_from_memory(make):
    model = make()
    found = ForestRanker(read_forest(model)).predict(X)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("make", [lightgbm_ranker, xgboost_ranker])
def test_so_is_a_booster(make):
    model = make()
    booster = model.booster_ if hasattr(model, "booster_") else model.get_booster()
    found = ForestRanker(read_forest(booster)).predict(X)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-6, atol=1e-6)


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match=r"path must be a file, a Booster .* got {'a': 1}"):
        read_forest({"a": 1})


def test_categories_of_pandas_are_coded_as_the_file_says(tmp_path):
    settings = {"min_child_samples": 5, "verbosity": -1, "min_data_per_group": 5}
    old = lightgbm.LGBMRanker(**SMALL, **settings).fit(FRAME, LABEL, group=GROUP)
    ranker, expected = ForestRanker(read_forest(old)), old.predict(FRAME)
    np.testing.assert_array_equal(ranker.predict(FRAME[FRAME.columns[::-1]]), expected)
    codes = FRAME.assign(color=FRAME["color"].cat.codes, size=FRAME["size"].cat.codes)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = ranker.predict(codes.to_numpy(dtype=float))
    np.testing.assert_array_equal(found, expected)
    ranker.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(FRAME), expected)
