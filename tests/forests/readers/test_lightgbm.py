import json
import re

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


CONSTANT = {"shop": pd.Categorical(["one"] * 200)}
RARE = {"shop": pd.Categorical(["one"] + ["two"] * 199)}
NO_VALUES = {"shop": pd.Categorical([None] * 200, categories=["one"])}


def frame_with(**columns):
    """Return a frame with a column of categories, and more columns; and labels that need it."""
    rng = np.random.default_rng(0)
    sizes = pd.Categorical(rng.choice([7, 3, 5, 2], 200))
    frame = pd.DataFrame({"size": sizes, **columns, "price": rng.random(200)})
    return frame, 2 * (frame["size"] == 7) + frame["price"]


def trained(frame, label, **options):
    data = lightgbm.Dataset(frame, label, params={"verbosity": -1}, **options)
    return lightgbm.train({"verbosity": -1, "num_threads": 1, "seed": 0}, data, 5)


@pytest.mark.parametrize("as_dump", [False, True])
@pytest.mark.parametrize("ignored", [CONSTANT, RARE, NO_VALUES])
def test_a_column_that_lightgbm_ignores_takes_no_categories_from_the_others(
    ignored, as_dump, tmp_path
):
    frame, label = frame_with(**ignored)
    model, path = trained(frame, label), tmp_path / "model"
    path.write_text(json.dumps(model.dump_model()) if as_dump else model.model_to_string())
    ranker = ForestRanker(read_forest(path))
    np.testing.assert_array_equal(ranker.predict(frame), model.predict(frame))


def test_numbers_that_lightgbm_ignores_take_no_categories():
    frame, label = frame_with(shop=CONSTANT["shop"], weight=1.5)
    model = trained(frame, label)  # two columns without values, one of which has categories
    assert read_forest(model).levels == {0: [2, 3, 5, 7], 1: ["one"]}


ORDERED = pd.Categorical([1, 2, 3, 4] * 50, ordered=True)


@pytest.mark.parametrize("as_dump", [False, True])
@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"shop": CONSTANT["shop"], "weight": 1.5}, {"categorical_feature": ["size"]}),
        ({"grade": ORDERED}, {}),
        ({"grade": ORDERED, "weight": 1.5}, {}),
        ({"grade": ORDERED, "code": np.arange(200) % 9}, {"categorical_feature": ["size", "code"]}),
    ],
)
def test_categories_of_uncertain_columns_are_not_taken(columns, options, as_dump, tmp_path):
    frame, label = frame_with(**columns)
    model, path = trained(frame, label, **options), tmp_path / "model"
    path.write_text(json.dumps(model.dump_model()) if as_dump else model.model_to_string())
    ranker = ForestRanker(read_forest(path))
    with pytest.raises(TypeError, match="X must hold numbers, as in fit; got Categorical") as error:
        ranker.predict(frame)
    # The file has the lists of categories, but not of which columns they are.
    assert str(error.value).endswith(
        "The model file does not tell which categories this column has."
    )
    kinds = list(frame["size"].cat.categories)
    X = frame.assign(**{
        name: frame[name].cat.codes for name in frame if frame[name].dtype == "category"
    })  # fmt: skip
    np.testing.assert_array_equal(ranker.predict(X), model.predict(frame))
    advice = re.search(r": (X\['size'\] = .*), where kinds are the categories", str(error.value))[1]
    advised = frame.assign(**{name: X[name] for name in X if name != "size"})
    exec(advice, {"X": advised, "pd": pd, "np": np, "kinds": kinds})
    np.testing.assert_array_equal(ranker.predict(advised), model.predict(frame))
