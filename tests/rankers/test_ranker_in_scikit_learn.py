import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_rankers import COLUMNS_BY_NAME, Column, ranking_data, some_ranker
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_rankers import made

from treerank import LightGBMTrees, QueryKFold, TreeDirectRanker, XGBoostTrees
from treerank.rankers import NestedRanker, StreamingRanker
from treerank.registry import RANKERS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
X, y, qid = ranking_data()


@parametrize_with_checks(
    [
        TreeDirectRanker(LightGBMTrees(n_estimators=3, n_jobs=1)),
        # A weight of 2 is a row there twice only where ranks do not matter: twice the same
        # document takes two ranks. LightGBM's 20 documents per leaf leave that check no split.
        TreeDirectRanker(XGBoostTrees(n_estimators=3, n_jobs=1), weight="uniform"),
    ],
    expected_failed_checks=lambda _: COLUMNS_BY_NAME,
)
@pytest.mark.filterwarnings("ignore:All .* documents get the same score")
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


CHANGED = [
    *(TreeDirectRanker("histogram", sigma=2.0), StreamingRanker(k=5, random_state=3)),
    NestedRanker(TreeDirectRanker(), sizes=(9, 4)),
]


@pytest.mark.parametrize("ranker", CHANGED, ids=lambda ranker: type(ranker).__name__)
def test_parameters_survive_copies_and_show_in_the_repr(ranker):
    params = ranker.get_params(deep=False)
    for copy in (clone(ranker), pickle.loads(pickle.dumps(ranker)), type(ranker)(**params)):
        assert repr(copy) == repr(ranker)
        assert copy.get_params(deep=False).keys() == params.keys()
    changed = {name: value for name, value in params.items() if f"{name}=" in repr(ranker)}
    assert 0 < len(changed) <= 2
    with pytest.raises(TypeError, match="positional argument"):
        type(ranker)("lightgbm", "logistic")


def test_a_streaming_ranker_has_the_parameters_of_a_tree_direct_ranker():
    streaming, direct = StreamingRanker().get_params(), TreeDirectRanker().get_params()
    assert streaming == direct | {"feature_part": "streaming"}


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("part", ["lightgbm", "xgboost"])
def test_a_feature_part_given_by_name_can_be_searched_over(part):
    grid = {"feature_part__n_estimators": [1, 4]}
    search = GridSearchCV(TreeDirectRanker(part, random_state=0), grid, cv=QueryKFold(3))
    search.fit(X, y, qid=qid)
    chosen = search.best_estimator_.feature_part_
    assert chosen.best_iteration_ == search.best_params_["feature_part__n_estimators"]
    assert TreeDirectRanker(part).set_params(sigma=2.0).feature_part == part
    with pytest.raises(ValueError, match="Invalid parameter 'n_tree'"):
        TreeDirectRanker(part).set_params(feature_part__n_tree=3)


@pytest.mark.usefixtures("routing")
def test_cross_validation_carries_weights_along():
    ranker = some_ranker().set_fit_request(sample_weight=True, query_weight=True)
    ranker.set_score_request(sample_weight=False)
    params = {"qid": qid, "sample_weight": np.ones(len(X)), "query_weight": 1.0 + qid}
    scores = cross_validate(ranker, X, y, cv=QueryKFold(2), params=params)["test_score"]
    assert (scores > 0.8).all()


@pytest.mark.usefixtures("routing")
def test_pairs_of_row_numbers_are_not_carried_into_folds_where_these_are_other_rows():
    ranker, params = some_ranker(), {"qid": qid, "given_pairs": [[0, 1]]}
    with pytest.raises(ValueError, match=r"given_pairs.* not explicitly set as requested"):
        cross_validate(ranker, X, y, cv=QueryKFold(2), params=params)
    requesting = clone(ranker.set_fit_request(given_pairs=True))
    for evaluated in (requesting, GridSearchCV(requesting, {"sigma": [1.0]}, cv=QueryKFold(2))):
        with pytest.raises(ValueError, match="given_pairs must not be requested of fit, since"):
            cross_validate(evaluated, X, y, cv=QueryKFold(2), params=params)
    assert clone(ranker.set_fit_request(given_pairs=False)).fit(X, y, qid, given_pairs=[[0, 1]])


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_says_which_arguments_of_fit_scikit_learn_passes_on(name):
    requests = made(name).get_metadata_routing().fit.requests
    assert requests["qid"] is requests["position"] is True
    assert not requests["given_pairs"]


@pytest.mark.parametrize("part", ["lightgbm", "xgboost", "histogram"])
def test_names_of_columns_outlast_a_continued_fit(part):
    frame = pl.DataFrame(X, schema=list("abcd"))
    ranker = TreeDirectRanker(part, warm_start=True, random_state=0)
    ranker.set_params(feature_part__n_estimators=2).fit(frame, y, qid)
    ranker.set_params(feature_part__n_estimators=4).fit(frame, y, qid, eval_set=(frame * 2, y, qid))
    assert list(ranker.feature_names_in_) == list("abcd")
    before = ranker.predict(frame)
    ranker.set_params(feature_part__n_estimators=5)
    for call in (ranker.fit, ranker.score):
        with pytest.raises(ValueError, match="X must have the columns of fit; 'd' is missing"):
            call(frame[["b", "a", "c"]], y, qid)
    np.testing.assert_array_equal(ranker.predict(frame), before)


def test_names_of_columns_outlast_a_stream():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="random_state must"):
        StreamingRanker(random_state=-1).partial_fit(frame, y, qid)
    ranker = StreamingRanker(random_state=0).partial_fit(frame, y, qid).partial_fit(frame, y, qid)
    with pytest.raises(ValueError, match="X must have the columns of fit; 'd' is missing"):
        ranker.partial_fit(frame[list("cba")], y, qid)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_outputs_are_frames_where_frames_are_asked_for(kind):
    ranker = TreeDirectRanker(Column((0, 2))).fit(X, y, qid).set_output(transform=kind)
    outputs = ranker.transform(X)
    assert list(outputs.columns) == ["treedirectranker0", "treedirectranker1"]
    np.testing.assert_array_equal(outputs.to_numpy(), X[:, [0, 2]])
    np.testing.assert_array_equal(ranker.get_feature_names_out(), list(outputs.columns))


@pytest.mark.parametrize("tau", ["identity", "tanh"])
def test_the_distance_is_a_metric_of_scikit_learn(tau):
    """Proposition 5: a pseudometric, which serves neighbors and clusters."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], 12))
    X = np.column_stack([labels + 0.05 * rng.normal(size=36), rng.normal(size=36)])
    ranker = TreeDirectRanker("linear", tau=tau, random_state=0).fit(X, labels)
    matrix = np.array([[ranker.distance(a, b) for b in X] for a in X])
    assert matrix.shape == (36, 36)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (np.diag(matrix) == 0).all()
    assert (matrix[:, :, None] <= matrix[:, None, :] + matrix.T[None, :, :] + 1e-12).all()
    np.testing.assert_array_equal(ranker.distance(X[:1], X), matrix[0])
    np.testing.assert_allclose(pairwise_distances(X, metric=ranker.distance), matrix, atol=1e-14)
    for algorithm in ("brute", "ball_tree"):
        neighbors = NearestNeighbors(n_neighbors=5, metric=ranker.distance, algorithm=algorithm)
        found, rows = neighbors.fit(X).kneighbors(X)
        np.testing.assert_allclose(found, np.sort(matrix, axis=1)[:, :5], atol=1e-12)
        assert (labels[rows] == labels[:, None]).all()
    radius = np.quantile(matrix[labels[:, None] == labels], 0.9)
    clusters = DBSCAN(eps=radius, metric=ranker.distance).fit_predict(X)
    precomputed = DBSCAN(eps=radius, metric="precomputed").fit_predict(matrix)
    np.testing.assert_array_equal(clusters, precomputed)
    assert adjusted_rand_score(labels, clusters) == 1
    # The documents of scores on a line: the same, and quicker.
    scores = ranker.predict(X)[:, None]
    on_line = NearestNeighbors(n_neighbors=5).fit(scores).kneighbors(scores)[0]
    if tau == "identity":
        np.testing.assert_allclose(on_line, np.sort(matrix, axis=1)[:, :5], atol=1e-12)
