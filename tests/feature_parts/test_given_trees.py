import numpy as np
import pytest

from treerank import LightGBMTrees, TreeDirectRanker, XGBoostTrees, make_objective, make_web_search
from treerank.feature_parts import Chain, GivenTrees, HistogramTrees
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
    return GivenTrees(forest, **settings).fit(X[NEW], objective)


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
    chain = Chain([GivenTrees(forest, learning_rate=0.0), HistogramTrees(3, learning_rate=0.1)])
    ranker = TreeDirectRanker(chain, random_state=0).fit(X[NEW], Y[NEW], QID[NEW])
    first, on_top = ranker.feature_part_.parts_
    assert (first.trees_.values == forest.values).all()
    np.testing.assert_allclose(ranker.predict(X), (first.transform(X) + on_top.transform(X))[:, 0])


def test_what_is_no_forest_is_refused():
    with pytest.raises(TypeError, match="trees must be a Forest"):
        TreeDirectRanker(GivenTrees("trees.txt")).fit(X, Y, QID)
