import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    QueryKFold,
    TreeDirectRanker,
    checkpointing,
    load,
    read_batches,
)
from treerank.baselines import RankSVM
from treerank.clicks import ClickCounts, ClickRelevance, Items, count_data, simulate_clicks
from treerank.datasets import write_parquet
from treerank.rankers import ForestRanker, NestedRanker

pytestmark = pytest.mark.slow

FEW = LightGBMTrees(n_estimators=15, n_jobs=1)
SEED = int(check_random_state(0).randint(2**31 - 1))  # what random_state=0 of a ranker draws


def small(**settings):
    """Return a ranker that learns fast, and estimates relevance fast."""
    settings = {"clicks": ClickRelevance(FEW), "random_state": 0} | settings
    return TreeDirectRanker(clone(FEW), **settings)


def make_world(seed=0):
    """Return judged documents, and impressions of them by an old ranker that knows nothing."""
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    y = 2.0 * (X[:, 0] > 0.5) + (X[:, 0] > 1.5)
    log = simulate_clicks(y, qid, X[:, 1], severity=1.0, exploration=0.5, random_state=seed)
    impressions = {"X": X[log.items.document[log.item]], "y": log.clicked.astype(float)}
    impressions |= {"qid": log.items.query[log.item], "position": log.position}
    return (X, y, qid), log, impressions


(X, Y, QID), LOG, ROWS = make_world()
DOCUMENTS = X, QID, np.arange(len(Y))
CLICKS = pd.DataFrame(ROWS["X"], columns=["a", "b", "c"]).assign(
    click=ROWS["y"], query=ROWS["qid"], place=ROWS["position"]
)
JUDGED = pd.DataFrame(X, columns=["a", "b", "c"]).assign(click=Y, query=QID)


@pytest.fixture(scope="module")
def fitted():
    return small().fit(**ROWS)


def taken(rows, order):
    return {name: column[order] for name, column in rows.items() if column is not None}


def shuffled(rows):
    return taken(rows, np.random.default_rng(1).permutation(len(rows["y"])))


def test_a_fit_to_rows_is_that_to_the_relevance_of_their_log(fitted, tmp_path):
    clicks = ClickRelevance(FEW, random_state=SEED).fit(LOG, DOCUMENTS)
    ranker = TreeDirectRanker(FEW, random_state=0).fit(*clicks.training_data())
    assert (ranker.predict(X) == fitted.predict(X)).all()
    assert (clicks.propensities_ == fitted.propensities_).all()
    assert "propensities_" not in vars(fitted.clicks)  # a copy was fitted
    assert fitted.clicks.random_state is None
    fitted.save(tmp_path / "ranker")
    assert repr(load(tmp_path / "ranker").clicks) == repr(fitted.clicks)


def test_neither_the_order_of_rows_nor_names_of_queries_change_the_model(fitted):
    rows = shuffled(ROWS)
    again = small().fit(**rows | {"qid": -rows["qid"]})
    assert (again.predict(X) == fitted.predict(X)).all()
    assert (again.propensities_ == fitted.propensities_).all()


def test_a_weight_is_a_number_of_equal_impressions(fitted):
    data = count_data(LOG, DOCUMENTS)
    assert len(data.y) < len(ROWS["y"]) / 2
    for ranker in (small().fit(data), small().fit(**shuffled(data._asdict()))):
        assert (ranker.predict(X) == fitted.predict(X)).all()
    with pytest.raises(ValueError, match="y, qid, sample_weight and position must be None: X"):
        small().fit(data, sample_weight=data.sample_weight)


def test_weights_of_queries_are_those_of_the_documents(fitted):
    weight = 1.0 + ROWS["qid"] % 3
    ranker = small().fit(**ROWS, query_weight=weight)
    data = ClickRelevance(FEW, random_state=SEED).fit(LOG, DOCUMENTS).training_data()
    other = TreeDirectRanker(FEW, random_state=0).fit(*data, query_weight=1.0 + data.qid % 3)
    assert (ranker.predict(X) == other.predict(X)).all()
    assert (ranker.predict(X) != fitted.predict(X)).any()


def test_documents_that_differ_in_their_positions_alone_have_an_order():
    items, ones, found = Items(np.array([3, 8]), np.array([0, 0])), np.ones(2), []
    for slots in ([1, 4], [4, 1]):
        counts = ClickCounts(np.arange(2), np.array(slots), ones, ones, items, 5)
        order = counts.canonical_order(np.ones((2, 1))).order
        found.append(counts.of_items(order).slot.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "ranker", [small(), RankSVM(), NestedRanker(small(clicks=None), random_state=0)]
)
def test_rankers_learn_relevance_and_not_the_old_ranking(ranker):
    found, again = (clone(ranker).fit(**ROWS) for _ in range(2))
    assert (again.predict(X) == found.predict(X)).all()
    naive = clone(ranker).set_params(**{"clicks": None} if "clicks" in ranker.get_params() else {})
    naive.fit(ROWS["X"], ROWS["y"], ROWS["qid"])
    old = [abs(np.corrcoef(each.predict(X), X[:, 1])[0, 1]) for each in (found, naive)]
    assert old[0] < old[1] - 0.03
    assert found.score(X, Y, QID) > naive.score(X, Y, QID) + 0.015
    assert found.propensities_[[1, 4]] == pytest.approx([1 / 2, 1 / 5], abs=0.15)


def test_judged_documents_stop_the_fit_and_calibrate_it():
    (X_test, y_test, qid_test), _, _ = make_world(1)
    part = LightGBMTrees(n_estimators=200, early_stopping_rounds=3, n_jobs=1)
    ranker = TreeDirectRanker(part, clicks=ClickRelevance(FEW), random_state=0)
    ranker.fit(**ROWS, eval_set=(X_test, y_test, qid_test))
    assert ranker.best_iteration_ < 200
    assert ranker.calibration_slope_ != 1.0


def test_names_of_columns_stand_for_clicks_queries_and_positions(fitted):
    names = {"y": "click", "qid": "query", "position": "place"}
    ranker = small(warm_start=True).fit(CLICKS, **names)
    assert list(ranker.feature_names_in_) == ["a", "b", "c"]
    assert (ranker.predict(JUDGED) == fitted.predict(X)).all()
    more = ranker.set_params(feature_part__n_estimators=20).fit(CLICKS, **names)
    assert more.best_iteration_ == 20
    with pytest.raises(ValueError, match=r"position must name a column of X; got 'rank' and"):
        small().fit(CLICKS, "click", "query", position="rank")


def test_a_sparse_matrix_is_the_matrix_that_it_stands_for(fitted):
    ranker = small().fit(**ROWS | {"X": sparse.csr_matrix(ROWS["X"])})
    assert ranker.predict(sparse.csr_matrix(X)) == pytest.approx(fitted.predict(X))
    assert (ranker.propensities_ == fitted.propensities_).all()
    needs_dense = small(clicks=ClickRelevance("mlp"))
    with pytest.raises(TypeError, match=r"X must be dense for clicks=ClickRelevance\('mlp'\), wh"):
        needs_dense.fit(**ROWS | {"X": sparse.csr_matrix(ROWS["X"])})


def test_columns_of_text_are_categories_of_both_fits():
    def frame(X):
        kind = np.array(list("cfaebd"))[np.digitize(X[:, 0], [-1.5, -0.5, 0, 0.5, 1.5])]
        return pd.DataFrame({"kind": pd.Categorical(kind), "b": X[:, 1]})

    ranker = small().fit(**ROWS | {"X": frame(ROWS["X"])})
    clicks = ClickRelevance(FEW, random_state=SEED).fit(LOG, (frame(X), *DOCUMENTS[1:]))
    other = TreeDirectRanker(FEW, random_state=0).fit(*clicks.training_data())
    assert ranker.columns_.categories == {0: list("abcdef")}
    assert ranker.forest().categories is not None  # text is split by sets
    seen = []

    class Noting(LightGBMTrees):
        def fit(self, X, objective, *, validation=None):
            seen.append((X.columns.names, *X.columns.categories))
            return super().fit(X, objective, validation=validation)

    small(clicks=ClickRelevance(Noting(n_estimators=2))).fit(**ROWS | {"X": frame(ROWS["X"])})
    assert seen == [(("kind", "b"), 0)] * 5
    assert (ranker.predict(frame(X)) == other.predict(frame(X))).all()


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("form", [pd.DataFrame, np.asarray], ids=["frame", "array"])
def test_the_estimate_of_relevance_knows_the_names_of_columns(form):
    """Its feature part takes constraints by name, or says that there are no names."""
    constrained = HistogramTrees(5, monotone_constraints={"a": -1}, random_state=0)
    ranker = small(clicks=ClickRelevance(constrained, random_state=0))
    frame = CLICKS[["a", "b", "c"]]
    given = {"qid": ROWS["qid"], "position": ROWS["position"]}
    if form is np.asarray:
        with pytest.raises(ValueError, match="monotone_constraints must name features of X"):
            ranker.fit(form(frame), ROWS["y"], **given)
        return
    by_number = ClickRelevance(clone(constrained).set_params(monotone_constraints=[-1, 0, 0]))
    expected = small(clicks=by_number.set_params(random_state=0)).fit(frame, ROWS["y"], **given)
    found = ranker.fit(frame, ROWS["y"], **given)
    np.testing.assert_array_equal(found.predict(frame), expected.predict(frame))


@pytest.mark.usefixtures("routing")
def test_searches_and_cross_validation_route_positions_and_never_cut_queries(fitted):
    data = {"X": ROWS["X"], "y": ROWS["y"]}
    params = {"qid": ROWS["qid"], "position": ROWS["position"]}
    found = cross_validate(small(), **data, cv=QueryKFold(2), params=params, return_estimator=True)
    train, _ = next(QueryKFold(2).split(**data, qid=ROWS["qid"]))
    alone = small().fit(**taken(ROWS, train))
    assert (found["estimator"][0].predict(X) == alone.predict(X)).all()
    search = GridSearchCV(small(), {"clicks__correction": [0.0, 0.5]}, cv=QueryKFold(2))
    search.fit(**data, **params)
    assert set(search.cv_results_["param_clicks__correction"]) == {0.0, 0.5}
    assert search.best_estimator_.propensities_ is not None
    pipeline = make_pipeline(StandardScaler(), small()).fit(**data, **params)
    assert pipeline[-1].propensities_ == pytest.approx(fitted.propensities_)


def changed(name, row, value):
    column = ROWS[name].astype(float)
    column[row] = value
    return {name: column}


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, changed("position", 3, 0), r"position must be a whole .* got 0\.0 in row 3"),
        ({}, changed("position", 3, 1001), r"position must be .* to 1000; got 1001\.0 in row 3"),
        ({}, changed("position", 3, np.nan), "position must be finite; got nan in row 3"),
        ({}, changed("position", 3, 12), r"position must have clicks .* got none at \[12\]\."),
        ({}, {"position": [1, 2]}, "position must have one entry per document; got 2 for"),
        ({}, {"position": ["a"] * len(LOG.item)}, "position must be numbers"),
        ({}, changed("y", 3, 2), r"y must be a click, 0 or 1, .* got 2\.0 in row 3"),
        ({}, {"y": np.zeros(len(LOG.item))}, "y must be 1 in some row; got none"),
        ({}, {"y": {"a": ROWS["y"], "b": ROWS["y"]}}, r"y must be a single column .*\['a', 'b'\]"),
        ({}, {"given_pairs": [[0, 1]]}, "given_pairs must be None if position is given"),
        ({}, {"position": None}, "clicks must be None where position is None; got ClickRel"),
        ({"clicks": 3}, {}, "clicks must be None or a ClickRelevance; got 3"),
        ({"clicks": ClickRelevance(n_bags=1)}, {}, "n_bags must be a whole number of at least 2"),
        ({"clicks": ClickRelevance(propensities=[1.0])}, {}, "propensities must have an entry f"),
    ],
)
def test_bad_input_is_refused_by_name_before_any_training(monkeypatch, settings, given, message):
    def train(*_, **__):
        raise AssertionError("Training has begun.")

    monkeypatch.setattr(LightGBMTrees, "fit", train)
    with pytest.raises((ValueError, TypeError), match=message):
        small(**settings).fit(**ROWS | given)


def test_documents_that_never_change_their_position_are_a_warning():
    # A document at another position has other features, and so is another document.
    features = np.column_stack([ROWS["X"], 0.5 * ROWS["position"]])
    with pytest.warns(UserWarning, match="they are 0.0% of all impressions"):
        ranker = small().fit(**ROWS | {"X": features})
    assert ranker.propensities_.tolist() == [1.0] * 10


def test_sessions_instead_of_queries_are_a_warning():
    with pytest.warns(UserWarning, match="If qid is the session, pass the query instead"):
        small().fit(**ROWS | {"qid": LOG.sessions[LOG.session]})


def test_propensities_with_gaps_are_taken_back_as_they_were_estimated():
    at_gaps = ROWS | {"position": 2 * ROWS["position"] + 1}
    estimated = small().fit(**at_gaps)
    theta = estimated.propensities_
    assert np.isnan(theta[:2]).all()
    for known in (np.append(theta, np.nan), theta, np.nan_to_num(theta, nan=1.0)):
        given = small().set_params(clicks__propensities=known).fit(**at_gaps)
        assert (given.predict(X) == estimated.predict(X)).all()
        np.testing.assert_array_equal(given.propensities_[theta > 0], theta[theta > 0])
    with pytest.raises(ValueError, match=r"propensities must be known .*; got nan at position 1"):
        small(clicks=ClickRelevance(FEW, propensities=theta)).fit(**ROWS)


def test_what_cannot_learn_from_clicks_says_so(tmp_path, fitted):
    forest = ForestRanker(fitted.components().forest)
    with pytest.raises(ValueError, match="position must be None for ForestRanker, which does not"):
        forest.fit(**ROWS)
    write_parquet(tmp_path / "rows.parquet", X, Y, QID)
    batches = read_batches(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="positions must be None where X is Batches"):
        TreeDirectRanker("histogram").fit(batches, position=ROWS["position"])
    with pytest.raises(ValueError, match=r"qid, .* must be None where X is Batches"):
        fitted.score(batches, Y, QID)


def test_a_checkpoint_is_for_the_trees_of_the_ranker_and_not_for_those_of_relevance(tmp_path):
    _, _, impressions = make_world()
    ranker = TreeDirectRanker(clone(FEW), random_state=0)  # relevance by its own trees
    expected = clone(ranker).fit(**impressions)
    with checkpointing(tmp_path / "fit", every=5):
        saved = clone(ranker).fit(**impressions)
        again = clone(ranker).fit(**impressions)
    for each in saved, again:
        assert (each.predict(impressions["X"]) == expected.predict(impressions["X"])).all()
