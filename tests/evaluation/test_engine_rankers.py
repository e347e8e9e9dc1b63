import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMRanker, LGBMRegressor
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker, XGBRegressor

from treerank import LightGBMTrees, TreeDirectRanker, compare
from treerank.documents.columns import taken_rows
from treerank.documents.ranking_data import RankingData
from treerank.evaluation import Split
from treerank.evaluation.engine_rankers import ENGINE_RANKERS, EngineRanker, engine_ranker
from treerank.evaluation.fits import fit_and_predict
from treerank.evaluation.fitted_rankers import is_fitted
from treerank.evaluation.pipelines import adapted, takes_eval_set

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


def split_of(X, noise=4.0):
    """Return queries to train on, to watch and to test, of labels that are mostly noise."""
    noisy = np.random.default_rng(1).normal(scale=noise, size=N)
    y = np.clip(np.round(FRAME["a"].to_numpy() + noisy), 0, 3)
    parts = [
        np.isin(QID, [f"q{i}" for i in numbers]) for numbers in ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9))
    ]
    train, valid, test = (
        RankingData(taken_rows(X, np.flatnonzero(rows)), y[rows], QID[rows]) for rows in parts
    )
    return Split("1", train, test, valid)


def n_iterations(fitted):
    """Return how many iterations a fitted engine predicts by."""
    if hasattr(fitted, "tree_count_"):
        return fitted.tree_count_
    best = fitted.best_iteration_ if hasattr(fitted, "booster_") else fitted.best_iteration + 1
    return best


LONG = {
    "lightgbm": lambda **more: LGBMRanker(
        n_estimators=60, verbosity=-1, min_child_samples=5, **more
    ),
    "xgboost": lambda **more: XGBRanker(n_estimators=60, **more),
    "lightgbm's regressor": lambda **more: LGBMRegressor(
        n_estimators=60, verbosity=-1, min_child_samples=5, **more
    ),
    "xgboost's regressor": lambda **more: XGBRegressor(n_estimators=60, **more),
    "catboost": lambda **more: pytest.importorskip("catboost").CatBoostRanker(
        iterations=60, thread_count=1, **ENGINE_RANKERS["CatBoostRanker"][1], **more
    ),
}


@pytest.mark.parametrize("form", ["array", "with text"])
@pytest.mark.parametrize("name", LONG)
def test_engines_stop_early_by_the_validation_set(name, form):
    split = split_of(DATA[form])
    ranker = adapted(LONG[name]())
    watched = clone(ranker).fit(*split.train, eval_set=tuple(split.validation))
    assert watched.stops_
    assert n_iterations(watched.fitted_) < 60
    found = fit_and_predict(ranker, split)
    assert found.watched
    np.testing.assert_array_equal(found.scores, watched.predict(split.test.X))
    comparison = compare({"a": LONG[name](random_state=0)}, [split], metrics=["ndcg@10"])
    assert "Validation set, for early stopping: used by a." in comparison.summary().notes
    alone = clone(ranker).fit(*split.train)
    assert not alone.stops_
    assert (alone.predict(split.test.X) != found.scores).any()


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_engines_that_stop_early_print_and_write_nothing(name, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    split = split_of(DATA["array"])
    watched = adapted(LONG[name]()).fit(*split.train, eval_set=tuple(split.validation))
    assert watched.stops_
    assert capfd.readouterr() == ("", "")
    assert [*tmp_path.iterdir()] == []


def test_engines_stop_as_their_own_settings_say():
    split = split_of(DATA["array"])
    for name in ("lightgbm", "xgboost", "catboost"):
        few = adapted(LONG[name](early_stopping_rounds=1))
        few.fit(*split.train, eval_set=tuple(split.validation))
        best = adapted(LONG[name]()).fit(*split.train, eval_set=tuple(split.validation))
        assert few.stops_
        assert n_iterations(few.fitted_) <= n_iterations(best.fitted_)
    for ranker in (
        LONG["lightgbm"](early_stopping_round=0),
        LONG["lightgbm"](boosting_type="dart"),
        LONG["catboost"](use_best_model=False),
    ):
        comparison = compare({"all": ranker}, [split], metrics=["ndcg@10"])
        assert "Validation set, for early stopping: used by none." in comparison.summary().notes


def test_pipelines_of_engines_get_queries_and_the_validation_set():
    split = split_of(DATA["array"])
    piped = make_pipeline(StandardScaler(), LONG["lightgbm"]())
    scaler = StandardScaler().fit(split.train.X)
    parts = [
        (scaler.transform(part.X), part.y, part.qid) for part in (split.train, split.validation)
    ]
    expected = adapted(LONG["lightgbm"]()).fit(*parts[0], eval_set=parts[1])
    found = fit_and_predict(adapted(piped), split)
    assert found.watched
    np.testing.assert_array_equal(found.scores, expected.predict(scaler.transform(split.test.X)))
    grid = {"a": {"lgbmranker__n_estimators": [2, 30]}}
    comparison = compare({"a": piped}, [split], grid=grid, metrics=["ndcg@10"])
    assert comparison.outcomes["a", "1"].best_params["lgbmranker__n_estimators"] in (2, 30)
    assert not hasattr(piped[-1], "booster_")
    assert not hasattr(piped[0], "mean_")


@pytest.mark.parametrize("given", [["color"], [3], ["color", "c"]])
@pytest.mark.parametrize("form", ["with text", "polars with text"])
def test_catboost_has_categories_of_its_own(given, form):
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 5, "thread_count": 1, **ENGINE_RANKERS["CatBoostRanker"][1]}
    data = DATA[form] if "c" not in given else COLORED.assign(c=rng.integers(3, size=N))
    ranker = catboost.CatBoostRanker(cat_features=given, **settings)
    found = compare({"a": ranker}, (data, Y, QID), cv=2)
    assert found.failures == ()
    assert found.by_split("ndcg@10").mean() > 0.9
    assert ranker.get_params()["cat_features"] == given
    piped = compare({"a": make_pipeline("passthrough", ranker)}, (data, Y, QID), cv=2)
    np.testing.assert_array_equal(piped.by_query("map"), found.by_query("map"))


def test_catboost_takes_numbers_as_categories():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 20, "thread_count": 1, **ENGINE_RANKERS["CatBoostRanker"][1]}
    codes = rng.permutation(30)[rng.integers(30, size=N)]
    y = (codes % 2).astype(int)
    data = np.column_stack([codes + 0.0, FRAME["a"]]), y, QID
    data[0][0, 0] = np.nan
    found = compare({"a": catboost.CatBoostRanker(cat_features=[0], **settings)}, data, cv=2)
    assert found.by_split("ndcg@10").mean() > 0.9
    split = Split("1", RankingData(*data), RankingData(*data), RankingData(*data))
    ranker = adapted(catboost.CatBoostRanker(cat_features=[0], **settings))
    assert fit_and_predict(ranker, split).watched
    searched = compare({"a": ranker.ranker}, data, cv=2, grid={"a": {"depth": [2]}}, inner_cv=2)
    assert {outcome.best_params["depth"] for outcome in searched.outcomes.values()} == {2}


def test_a_missing_value_of_any_kind_is_one_category_of_catboost():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 5, "thread_count": 1, **ENGINE_RANKERS["CatBoostRanker"][1]}
    colors = COLORED["color"].to_numpy(dtype=object)
    colors[::2] = np.nan
    data = np.column_stack([colors, FRAME["a"].to_numpy(dtype=object)])
    ranker = EngineRanker(catboost.CatBoostRanker(cat_features=[0], **settings))
    ranker.fit(data, pd.isna(colors) * 1, QID)
    none, nan, text = ranker.predict(np.array([[value, 0.5] for value in (None, np.nan, "red")]))
    assert none == nan > text


@pytest.mark.parametrize(("form", "found"), [("with text", "'color'"), ("array", "an array")])
def test_catboost_is_told_of_categories_that_are_no_columns(form, found):
    ranker = pytest.importorskip("catboost").CatBoostRanker(cat_features=["colour"])
    rule = f"cat_features must be columns of X; got 'colour' and .*{found}"
    with pytest.warns(UserWarning, match=rule):
        assert compare({"a": ranker}, (DATA[form], Y, QID), cv=2).outcomes == {}


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_parameters_of_engines_are_searched_by_the_validation_set(name):
    grid = {"a": {"n_estimators": [2, 30]}}
    comparison = compare({"a": LONG[name]()}, [split_of(DATA["array"])], grid=grid)
    assert comparison.failures == ()
    assert comparison.outcomes["a", "1"].best_params["n_estimators"] in (2, 30)


def test_lightgbm_stops_by_ndcg_at_10():
    split = split_of(DATA["array"])
    watched = adapted(LONG["lightgbm"]()).fit(*split.train, eval_set=tuple(split.validation))
    assert [*watched.fitted_.best_score_["valid_0"]] == ["ndcg@10"]


@pytest.mark.parametrize("n_steps", [0, 1, 2])
def test_pipelines_of_any_length_are_what_their_last_step_is(n_steps):
    split = split_of(DATA["array"])
    steps = [StandardScaler() for _ in range(n_steps)]
    piped = adapted(make_pipeline(*steps, LONG["lightgbm"]()))
    assert takes_eval_set(piped)
    assert not is_fitted(piped.pipeline)
    fitted = clone(piped).fit(*split.train, eval_set=tuple(split.validation))
    assert fitted.stops_
    assert (fitted.front_ is None) is (n_steps == 0)
    alone = EngineRanker(LONG["lightgbm"]())
    scaled = [StandardScaler().fit(split.train.X).transform(split.train.X), *[*split.train][1:]]
    alone.fit(*(scaled if n_steps else split.train))
    assert alone.fitted_.n_features_ == fitted.ranker_.fitted_.n_features_
    trees = make_pipeline(*steps, TreeDirectRanker(LightGBMTrees(5, min_child_samples=5)))
    trees.fit(split.train.X, split.train.y, treedirectranker__qid=split.train.qid)
    assert is_fitted(trees)
    several = {"a": split.train.y, "b": 3 - split.train.y}
    data = split.train.X, several, split.train.qid
    assert compare({"a": clone(trees)}, data, cv=2, metrics=["map"]).failures == ()
    with pytest.raises(ValueError, match="y must be a single label for 'a', LGBMRanker"):
        compare({"a": piped.pipeline}, data, cv=2)


@pytest.mark.parametrize("name", ENGINE_RANKERS)
def test_engines_by_name_print_and_write_nothing(name, capfd, tmp_path, monkeypatch):
    if name == "CatBoostRanker":
        pytest.importorskip("catboost")
    monkeypatch.chdir(tmp_path)
    EngineRanker(engine_ranker(name)).fit(FRAME[:60], Y[:60], QID[:60])
    assert capfd.readouterr() == ("", "")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_categories_of_lightgbm_are_those_of_the_frame():
    order = np.argsort(QID, kind="stable")
    group = np.unique(QID, return_counts=True)[1]
    codes = COLORED["color"].map({"blue": 0, "green": 1, "red": 2})
    matrix = np.column_stack([FRAME, codes])
    settings = {"n_estimators": 5, "min_child_samples": 5, "min_data_per_group": 1, "cat_smooth": 1}
    ranker = LGBMRanker(verbosity=-1, n_jobs=1, **settings)
    found = EngineRanker(ranker).fit(COLORED, Y, QID).predict(COLORED)
    alone = clone(ranker).fit(matrix[order], Y[order], group=group, categorical_feature=[3])
    np.testing.assert_array_equal(found, alone.predict(matrix))
    numbers = clone(ranker).fit(matrix[order], Y[order], group=group)
    assert (found != numbers.predict(matrix)).any()


def test_engines_take_sparse_matrices_and_lists():
    expected = EngineRanker(RANKERS["lightgbm"]()).fit(FRAME.to_numpy(), Y, QID)
    for X in (csr_matrix(FRAME.to_numpy()), FRAME.to_numpy().tolist()):
        found = EngineRanker(RANKERS["lightgbm"]()).fit(X, Y, QID)
        np.testing.assert_array_equal(found.predict(X), expected.predict(FRAME.to_numpy()))
