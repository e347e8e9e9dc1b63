import lightgbm
import numpy as np
import pandas as pd
import pytest

from treerank import load, read_forest
from treerank.rankers import ForestRanker


def test_categories_of_pandas_are_coded_as_the_file_says(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"]).assign(
        color=pd.Categorical(rng.choice(["red", "blue", "green"], 200), ["red", "green", "blue"]),
        size=pd.Categorical(rng.choice([10, 7, 12], 200)),
    )
    label = (frame["a"] > 0).astype(int) + (frame["color"] == "red")
    old = lightgbm.LGBMRanker(n_estimators=4, n_jobs=1, verbosity=-1, min_data_per_group=5)
    ranker = ForestRanker(read_forest(old.fit(frame, label, group=[50] * 4)))
    expected = old.predict(frame)
    np.testing.assert_array_equal(ranker.predict(frame[frame.columns[::-1]]), expected)
    codes = frame.assign(color=frame["color"].cat.codes, size=frame["size"].cat.codes)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = ranker.predict(codes.to_numpy(dtype=float))
    np.testing.assert_array_equal(found, expected)
    ranker.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(frame), expected)
