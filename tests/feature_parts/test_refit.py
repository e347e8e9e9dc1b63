import numpy as np
import pandas as pd
import pytest

from treerank import (
    LightGBMTrees,
    TreeDirectRanker,
    XGBoostTrees,
    load,
    make_objective,
    make_web_search,
)
from treerank.feature_parts import HistogramTrees, RefitTrees, Stages
from treerank.forests.scoring import forest_leaves

X, Y, QID = make_web_search(60, documents_per_query=20, n_features=8, random_state=0)
OLD, NEW = QID < 30, QID >= 30


def fitted(part):
    return TreeDirectRanker(part, random_state=0).fit(X[OLD], Y[OLD], QID[OLD])


@pytest.fixture(scope="module")
def forest():
    return fitted(HistogramTrees(5, num_leaves=4)).forest()


def moved(forest, **settings):
    objective = make_objective(Y[NEW], QID[NEW])
    return RefitTrees(forest, **settings).fit(X[NEW], objective)


@pytest.mark.parametrize("engine", [HistogramTrees, LightGBMTrees, XGBoostTrees])
def test_trees_of_every_engine_fit_new_data_better_than_before(engine):
    before = fitted(engine(10)).forest()
    objective = make_objective(Y[NEW], QID[NEW])
    scores = [
        part.transform(X[NEW])[:, 0] for part in (moved(before, learning_rate=0), moved(before))
    ]
    assert objective(scores[1])[0] < objective(scores[0])[0]


def test_the_first_step_is_that_of_newton(forest):
    rate, penalty = 0.3, 2.0
    found = moved(forest, learning_rate=rate, reg_lambda=penalty).trees_
    scores = moved(forest, learning_rate=0).transform(X[NEW])[:, 0]
    _, gradient, hessian = make_objective(Y[NEW], QID[NEW])(scores)
    leaf_of = forest_leaves(forest, X[NEW])[:, 0]
    for leaf in np.unique(leaf_of):
        there = leaf_of == leaf
        step = -rate * gradient[there].sum() / (hessian[there].sum() + penalty)
        step = step if there.sum() >= 20 else 0.0
        assert found.values[leaf, 0] - forest.values[leaf, 0] == pytest.approx(step, abs=1e-6)


def test_a_leaf_of_few_documents_keeps_its_value(forest):
    assert (moved(forest, min_child_samples=10**6).trees_.values == forest.values).all()


def test_a_rate_of_zero_leaves_trees_for_others_to_go_on_from(forest):
    chain = Stages([RefitTrees(forest, learning_rate=0.0), HistogramTrees(3, learning_rate=0.1)])
    ranker = TreeDirectRanker(chain, random_state=0).fit(X[NEW], Y[NEW], QID[NEW])
    first, on_top = ranker.feature_part_.parts_
    assert (first.trees_.values == forest.values).all()
    np.testing.assert_allclose(ranker.predict(X), (first.transform(X) + on_top.transform(X))[:, 0])


SHOP = np.random.default_rng(1).integers(8, size=len(Y))
FRAME = pd.DataFrame({"price": X[:, 0], "shop": np.array(list("bcdefghi"))[SHOP], "age": X[:, 1]})
#: It matters which shop it is, not where its name stands in the alphabet.
GRADES = np.isin(SHOP, [0, 3, 4, 7]) + (X[:, 0] > 0.5).astype(int)
ENGINES = pytest.mark.parametrize(
    "engine", [LightGBMTrees, XGBoostTrees, HistogramTrees], ids=lambda engine: engine.__name__
)


def of_frame(engine):
    ranker = TreeDirectRanker(engine(8, random_state=0), random_state=0)
    return ranker.fit(FRAME[OLD], GRADES[OLD], QID[OLD])


def kept(forest, frame, chosen=NEW):
    """Return a ranker of trees that stay as they are, which was fitted to another data frame."""
    part = RefitTrees(forest, learning_rate=0.0)
    return TreeDirectRanker(part).fit(frame[chosen], GRADES[chosen], QID[chosen])


@ENGINES
def test_trees_read_data_frames_by_the_names_of_their_columns(engine):
    old = of_frame(engine)
    for other in (FRAME[["age", "shop", "price"]], FRAME.assign(fresh=1.0)[["fresh", *FRAME]]):
        found = kept(old.forest(), other)
        np.testing.assert_array_equal(found.predict(other), old.predict(FRAME))
        assert found.feature_importances_[list(other).index("shop")] > 0


@ENGINES
def test_categories_keep_their_codes_whichever_the_new_data_have(engine):
    old = of_frame(engine)
    fewer = kept(old.forest(), FRAME, NEW & ~np.isin(SHOP, [0, 5]))
    np.testing.assert_array_equal(fewer.predict(FRAME), old.predict(FRAME))
    new = FRAME.assign(shop=np.where(SHOP == 6, "a new shop", FRAME["shop"]))
    np.testing.assert_array_equal(kept(old.forest(), new).predict(new), old.predict(new))


@ENGINES
def test_trees_on_top_learn_from_new_columns_and_new_categories(engine):
    old = of_frame(engine)
    new = FRAME.assign(shop=np.where(SHOP == 6, "a new shop", FRAME["shop"]), fresh=X[:, 5])
    chain = Stages([RefitTrees(old.forest(), learning_rate=0.0), HistogramTrees(5, random_state=0)])
    grades = (SHOP == 6) + (X[:, 5] > 0)
    ranker = TreeDirectRanker(chain, random_state=0).fit(new, grades, QID)
    on_top = ranker.predict(new) - old.predict(new)
    assert ranker.columns_.categories == {1: [*"bcdefghi", "a new shop"]}
    assert on_top[(SHOP == 6) & (X[:, 5] > 0)].min() > on_top[(SHOP != 6) & (X[:, 5] <= 0)].max()


def test_the_trees_of_a_fitted_ranker_know_names_and_categories():
    forest = of_frame(LightGBMTrees).forest()
    assert forest.feature_names == ("price", "shop", "age")
    assert forest.levels == {1: list("bcdefghi")}


def test_models_of_trees_for_other_columns_are_saved_and_exported(tmp_path):
    old, other = of_frame(LightGBMTrees), FRAME[["age", "shop", "price"]]
    found = kept(old.forest(), other, NEW & (SHOP != 0))
    found.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(FRAME), old.predict(FRAME))
    margins = [ranker.explain(FRAME[:5], FRAME[5:10]).by_name() for ranker in (found, old)]
    for one, before in zip(*margins, strict=True):
        assert one == pytest.approx(before)


def test_what_given_trees_cannot_read_is_refused_with_the_way_out():
    forest = of_frame(HistogramTrees).forest()
    with pytest.raises(ValueError, match=r"columns of the given trees; 'shop' is missing from"):
        kept(forest, FRAME.drop(columns="shop"))
    with pytest.raises(TypeError, match=r"'shop' of X must hold categories, as the given trees"):
        kept(forest, FRAME.assign(shop=SHOP))
    with pytest.raises(TypeError, match=r"'price' of X must hold numbers, as the given trees"):
        kept(forest, FRAME.assign(price="cheap"))
    with pytest.raises(ValueError, match="'price' of X must be numbers, not numbers as text"):
        kept(forest, FRAME.assign(price=FRAME["price"].round().astype(str)))
    with pytest.raises(ValueError, match="X must have 3 columns, as the given trees; got 2"):
        kept(forest, FRAME[["price", "age"]].to_numpy())


def test_what_is_no_forest_is_refused():
    with pytest.raises(TypeError, match="trees must be a Forest"):
        TreeDirectRanker(RefitTrees("trees.txt")).fit(X, Y, QID)
