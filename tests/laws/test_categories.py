"""No ranker takes the codes of categories for numbers: their order means nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from small_rankers import NAMES, made

from treerank import TreeDirectRanker, export, load, make_objective, report
from treerank.documents.columns import Columns
from treerank.documents.reading import accepted_by
from treerank.documents.rows import Rows
from treerank.feature_parts.networks.network_part import NetworkPart

RNG = np.random.default_rng(0)
N = 240
SHOP = RNG.integers(0, 4, N)
PRICE, QID = RNG.normal(size=N), np.repeat(np.arange(24), 10)
Y = np.digitize(PRICE + np.array([0.0, 3.0, 0.0, 1.0])[SHOP], [0.5, 2.5])
FRAME = pd.DataFrame({"shop": np.array([*"abcd"])[SHOP], "price": PRICE})
CODES = np.column_stack([SHOP, PRICE]).astype(float)
INDICATORS = np.column_stack([PRICE, SHOP[:, None] == np.arange(4)])
#: The first ranks by a number; the others have trees already.
WITHOUT = {"ColumnRanker", "ForestRanker", "RefitTrees"}
NETWORKS = [
    name for name in NAMES if isinstance(getattr(made(name), "feature_part", None), NetworkPart)
]


def unfitted(name):
    ranker = made(name)
    seeds = [each for each in ranker.get_params() if each.split("__")[-1] == "random_state"]
    return ranker.set_params(**dict.fromkeys(seeds, 0))


def fitted(name, X):
    with warnings.catch_warnings(action="ignore"):
        return unfitted(name).fit(X, Y, QID)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT])
def test_no_ranker_takes_codes_for_numbers(name):
    if not accepted_by(unfitted(name)).categories:
        class_name = type(unfitted(name)).__name__
        rule = f"X must have no categories for {class_name}, which would treat .* 'shop'"
        with pytest.raises(ValueError, match=rule):
            fitted(name, FRAME)
        kinds = sorted(set(FRAME["shop"].dropna()))

        def advised(X):
            X = X.assign(shop=pd.Categorical(X["shop"], kinds))
            return pd.get_dummies(X, columns=["shop"], dtype=float)

        ranker = fitted(name, advised(FRAME))
        scores = ranker.predict(advised(FRAME))
        assert np.isfinite(scores).all()
        of_one_shop = FRAME["shop"] == kinds[0]  # as the documents of a new query may be
        again = ranker.predict(advised(FRAME[of_one_shop]))
        np.testing.assert_array_equal(again, scores[of_one_shop])
        return
    ranker = fitted(name, FRAME)
    assert (ranker.predict(FRAME) != fitted(name, CODES).predict(CODES)).any()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_get_a_column_for_each_category(name):
    part, objective = clone(unfitted(name).feature_part), make_objective(Y, QID)
    part = part.set_params(random_state=0)
    expected = clone(part).fit(INDICATORS, objective).transform(INDICATORS)
    found = part.fit(Rows(CODES, columns=Columns({0: [*"abcd"]})), objective)
    np.testing.assert_array_equal(found.transform(CODES), expected)
    assert found.n_features_in_ == 2


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_with_categories_are_saved_and_shown_and_not_exported(name, tmp_path):
    ranker = fitted(name, FRAME)
    ranker.save(tmp_path / "model")
    new = FRAME[["price", "shop"]].replace({"shop": {"a": "new"}})
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(new), ranker.predict(new))
    codes = np.column_stack([np.where(SHOP == 0, np.nan, SHOP), PRICE])
    outputs = ranker.feature_part_.transform(codes)
    np.testing.assert_array_equal(ranker.head_.score(outputs), loaded.predict(new))
    with warnings.catch_warnings(action="ignore"):  # the queries are those of the fit
        assert "<html" in report(ranker, FRAME, Y, QID, n_examples=1).html
    with pytest.raises(ValueError, match="X must have no categories for the formula of"):
        export(ranker, tmp_path / "model.onnx", format="onnx", check=FRAME)


def test_a_linear_model_names_the_categories_that_it_leaves_out():
    with pytest.warns(
        UserWarning,
        match=r"Columns \['shop'\] of X .* leaves out.* sorted\(set\(X\['shop'\].dropna",
    ):
        ranker = TreeDirectRanker("linear").fit(FRAME, Y, QID)
    assert ranker.feature_importances_.tolist() == [0, 1]
    parts = ["linear", "lightgbm"]
    TreeDirectRanker(parts, random_state=0).fit(FRAME, Y, QID)  # trees learn from them
