"""TreeDirectRanker() on few judged queries: trees of two losses, and when it is trees of one."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import treerank
from treerank import (
    Ensemble,
    LightGBMTrees,
    QueryKFold,
    TreeDirectRanker,
    checkpointing,
    export,
    make_web_search,
)
from treerank.exports import formats_for
from treerank.inspection import top_certainty
from treerank.objectives import Pairs
from treerank.progress import ignore_progress, listening
from treerank.rankers import ForestRanker, NestedRanker, refresh, tree_direct_ranker

X, Y, QID = make_web_search(140, documents_per_query=15, n_features=8, random_state=0)
FEW = 30
ROWS = QID < FEW
LATER = QID >= FEW


def rows_of(n_queries):
    rows = QID < n_queries
    return X[rows], Y[rows], QID[rows]


def fitted(*part, n_queries=FEW, fit=(), **settings):
    return TreeDirectRanker(*part, random_state=0, **settings).fit(*rows_of(n_queries), **dict(fit))


@pytest.fixture(scope="module")
def few():
    return fitted()


def same(one, other):
    return np.array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("n_queries", "expected"),
    [(24, LightGBMTrees), (25, Ensemble), (100, Ensemble), (101, LightGBMTrees)],
)
def test_the_number_of_queries_decides_on_trees_of_two_losses(n_queries, expected):
    ranker = fitted(n_queries=n_queries)
    assert type(ranker.feature_part_) is expected
    assert ranker.feature_part == "auto"
    if expected is LightGBMTrees:
        assert same(ranker, fitted("lightgbm", n_queries=n_queries))


def test_trees_of_squared_error_are_added_with_half_the_weight(few):
    trees = LightGBMTrees(n_jobs=1)
    losses = [None, "half_squared_error"]
    part = Ensemble([trees, trees], losses=losses, shares=[2, 1], n_bags=0, n_refits=1)
    assert same(few, fitted(part))  # with other threads
    of_pairs, of_labels = few.transform(X[ROWS]).T
    weight = np.array([2 / 3, 1 / 3 * of_pairs.std() / of_labels.std()])
    np.testing.assert_allclose(few.head_.weight, weight)
    labels = of_labels + Y[ROWS].mean()
    assert np.corrcoef(labels, Y[ROWS])[0, 1] > 0.5
    np.testing.assert_array_less(np.abs(of_pairs.std() / few.predict(X[ROWS]).std() - 1), 0.2)


def test_an_explicit_part_is_never_changed():
    for part in ("lightgbm", "histogram", LightGBMTrees(5), "linear"):
        ranker = fitted(part)
        assert not isinstance(ranker.feature_part_, Ensemble)
    searched = TreeDirectRanker(random_state=0).set_params(feature_part__num_leaves=4)
    assert type(searched.fit(*rows_of(FEW)).feature_part_) is LightGBMTrees


POSITION = np.concatenate([np.arange(n) % 5 + 1 for n in np.bincount(QID[ROWS])])
#: Settings and arguments of ``fit`` with which nothing is added.
ONE_LOSS = {
    "another loss": {"loss": "half_squared_tanh"},
    "another weight": {"weight": "map"},
    "other pairs": {"pairs": "adjacent"},
    "pairs of an object": {"pairs": Pairs(top=5)},
    "linear gain": {"gain": "linear"},
    "listed gains": {"gain": [0.0, 1.0, 2.0, 4.0, 8.0]},
    "warm start": {"warm_start": True},
    "a part of the queries held out": {"fit": {"eval_set": 0.1}},
    "an evaluation set": {"fit": {"eval_set": (X[LATER], Y[LATER], QID[LATER])}},
    "given pairs": {"fit": {"given_pairs": [[0, 1], [17, 16], [32, 31]]}},
}


@pytest.mark.parametrize("name", ONE_LOSS)
def test_other_fits_are_those_of_lightgbm(name):
    settings = dict(ONE_LOSS[name])
    ranker = fitted(**settings)
    assert type(ranker.feature_part_) is LightGBMTrees
    assert same(ranker, fitted("lightgbm", **settings))


def test_clicks_and_several_labels_are_learned_by_trees_of_one_loss():
    (few_X, few_y, few_qid), clicked = rows_of(FEW), (Y[ROWS] > 0).astype(int)
    for part in ("auto", "lightgbm"):
        ranker = TreeDirectRanker(part, random_state=0)
        ranker.fit(few_X, clicked, few_qid, position=POSITION)
        assert type(ranker.feature_part_) is LightGBMTrees
        ranker.fit(few_X, {"grade": few_y, "sale": clicked}, few_qid)
        assert type(ranker.feature_part_) is LightGBMTrees


@pytest.mark.parametrize(
    "settings",
    [
        {"weight": "ndcg"},
        {"pairs": None},
        {"smoothing": 0.0},
        {"k": 5},
        {"sigma": 2.0},
        {"metric": "map"},
        {"tau": "tanh"},
        {"query_normalization": "equal"},
    ],
)
def test_settings_that_do_not_choose_what_is_learned_count_in_both_sums(settings):
    assert isinstance(fitted(**settings).feature_part_, Ensemble)


def test_defaults_in_other_words_are_the_defaults(few):
    assert same(few, fitted(weight="ndcg", pairs=None, loss="logistic", gain="exponential"))


def test_only_judged_queries_count():
    y = Y.astype(float)
    y[QID >= FEW] = np.nan
    ranker = TreeDirectRanker(random_state=0).fit(X, y, QID)
    assert same(ranker, fitted())
    weight = (QID < FEW).astype(float)
    assert same(TreeDirectRanker(random_state=0).fit(X, Y, QID, sample_weight=weight), ranker)
    y[QID >= 20] = np.nan
    assert type(TreeDirectRanker().fit(X, y, QID).feature_part_) is LightGBMTrees


def test_a_fit_says_what_it_adds():
    lines = []
    with listening(ignore_progress, lines.append):
        fitted()
        fitted("lightgbm")
    assert lines[0] == (
        "30 queries are few: trees of the ranker's loss and of squared error are added; the "
        "feature part 'lightgbm' is the former alone"
    )
    assert len(lines) == 2
    assert "trees of 4 leaves" in lines[1]


def test_callbacks_see_whole_fits_and_stop_only_trees_that_are_chosen(few):
    calls = []

    def stop_at_3(n_done, n_total, values):
        calls.append((n_done, n_total))
        return n_done == 3

    assert same(few, fitted(fit={"callbacks": [stop_at_3]}))
    assert calls == [(1, 1)]
    assert fitted("lightgbm", fit={"callbacks": [stop_at_3]}).forest().n_trees == 3


def test_order_of_rows_and_kind_of_matrix_change_nothing(few):
    order = np.random.default_rng(0).permutation(ROWS.sum())
    few_X, few_y, few_qid = rows_of(FEW)
    shuffled = TreeDirectRanker(random_state=0).fit(few_X[order], few_y[order], few_qid[order])
    sparse = TreeDirectRanker(random_state=0).fit(csr_matrix(few_X), few_y, few_qid)
    assert same(few, shuffled)
    assert same(few, sparse)
    assert same(few, clone(few).fit(few_X, few_y, few_qid))


def test_it_saves_and_exports_as_trees_do(few, tmp_path):
    trees = fitted("lightgbm")
    few.save(tmp_path / "few.treerank")
    loaded = treerank.load(tmp_path / "few.treerank")
    assert same(few, loaded)
    assert loaded.feature_part == "auto"
    assert set(formats_for(few)) == set(formats_for(trees))
    export(few, tmp_path / "few.txt", format="lightgbm")
    exported = ForestRanker(treerank.read_forest(tmp_path / "few.txt"))
    np.testing.assert_allclose(exported.predict(X), few.predict(X))
    assert few.forest().n_trees == 2 * trees.forest().n_trees


def test_names_and_categories_reach_both_sums(tmp_path):
    few_X, few_y, few_qid = rows_of(FEW)
    frame = pd.DataFrame(few_X, columns=[f"f{n}" for n in range(8)])
    frame["kind"] = pd.Categorical(np.where(few_y > 1, "shop", "blog"))
    ranker = TreeDirectRanker(random_state=0).fit(frame, few_y, few_qid)
    assert isinstance(ranker.feature_part_, Ensemble)
    assert ranker.feature_importances_.shape == (9,)
    top, bottom = (frame[i : i + 1] for i in (few_y.argmax(), few_y.argmin()))
    margin = ranker.predict(top) - ranker.predict(bottom)
    np.testing.assert_allclose(np.asarray(ranker.explain(top, bottom)).sum(), margin, rtol=1e-9)
    ranker.save(tmp_path / "few.treerank")
    loaded = treerank.load(tmp_path / "few.treerank")
    np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))


def test_a_checkpoint_does_not_change_the_fit(few, tmp_path):
    with checkpointing(tmp_path / "few.checkpoint", every=1):
        assert same(few, fitted())


def test_weights_of_queries_count(few):
    weight = np.where(QID[ROWS] < 10, 5.0, 1.0)
    weighted = fitted(fit={"query_weight": weight})
    assert isinstance(weighted.feature_part_, Ensemble)
    assert not same(few, weighted)


def test_it_is_refreshed_as_trees_are(few):
    refreshed = refresh(few, X[LATER], Y[LATER], QID[LATER])
    assert refreshed.candidate.forest().n_trees == few.forest().n_trees
    assert refreshed.differences["new"].estimate > -0.01


def test_a_later_warm_start_says_which_part_goes_on(few):
    ranker = clone(few).fit(*rows_of(FEW)).set_params(warm_start=True)
    message = "warm_start must be True in the first fit, too, since 'auto' is Ensemble for few"
    with pytest.raises(ValueError, match=message):
        ranker.fit(*rows_of(FEW))
    ranker = clone(few).set_params(warm_start=True).fit(*rows_of(FEW))
    n_trees = ranker.forest().n_trees
    ranker.set_params(feature_part=LightGBMTrees(n_trees + 1)).fit(*rows_of(FEW))
    assert ranker.forest().n_trees == n_trees + 1


def test_certainty_asks_for_several_fits(few):
    with pytest.raises(ValueError, match="ranker must have an ensemble of several fits"):
        top_certainty(few, X, QID)


@pytest.mark.parametrize("n_queries", [30, 60, 120])
def test_stages_get_about_as_many_documents_as_asked(n_queries):
    """The halves of a training set may be few where the whole is not: scores have one scale."""
    train = rows_of(n_queries)
    reaching = {}
    for part in ("auto", "lightgbm"):
        ranker = NestedRanker(TreeDirectRanker(part), sizes=(5,), random_state=0).fit(*train)
        first = ranker.rankers_[0].predict(X[LATER])
        reaching[part] = (first >= ranker.thresholds_[0]).mean() * 15
    assert abs(reaching["auto"] - reaching["lightgbm"]) < 1.5
    assert 3 < reaching["auto"] < 8


def test_a_search_over_tree_parameters_compares_trees_of_one_loss():
    grid = {"feature_part__num_leaves": [3, 5]}
    search = GridSearchCV(TreeDirectRanker(random_state=0), grid, cv=QueryKFold(2))
    few_X, few_y, few_qid = rows_of(60)
    with config_context(enable_metadata_routing=True):
        search.fit(few_X, few_y, qid=few_qid)
    assert type(search.best_estimator_.feature_part_) is LightGBMTrees


def test_pairs_without_an_answer_leave_a_constant_model():
    few_X, few_y, few_qid = rows_of(FEW)
    with pytest.warns(UserWarning, match="the model is constant"):
        ranker = TreeDirectRanker().fit(few_X, np.ones_like(few_y), few_qid)
    assert np.ptp(ranker.predict(X)) == 0


def test_the_parts_of_best_and_of_few_queries_are_those_that_were_measured():
    part = TreeDirectRanker.best(time=7).feature_part
    assert isinstance(part, Ensemble)
    settings = part.get_params(deep=False)
    expected = Ensemble(
        ["lightgbm", "lightgbm", "linear"],
        n_bags="auto",
        losses=[None, "half_squared_error", None],
        shares=[1.0, 0.5, 0.15],
        n_refits=3,
        time=7,
    )
    assert settings == expected.get_params(deep=False)
    few = tree_direct_ranker.trees_for_few(50, n_jobs=2).get_params(deep=False)
    assert [trees.get_params() for trees in few.pop("parts")] == [
        LightGBMTrees(n_jobs=2).get_params()
    ] * 2
    expected = Ensemble(
        ["lightgbm", "lightgbm"],
        losses=[None, "half_squared_error"],
        shares=[1.0, 0.5],
        n_bags=0,
        n_refits=1,
    ).get_params(deep=False)
    assert few == {name: value for name, value in expected.items() if name != "parts"}
