import json
from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from treerank import (
    HistogramTrees,
    LightGBMTrees,
    TreeDirectRanker,
    load,
    make_web_search,
    read_forest,
)
from treerank.baselines import MART, LambdaMART, RankSVM
from treerank.documents.training_queries import overlap_with_training
from treerank.feature_parts.refit import RefitTrees
from treerank.rankers import ForestRanker, StreamingRanker, refresh, refreshing
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.refreshing import _unfitted
from treerank.statistics.resampled import Interval

X, Y, QID = make_web_search(160, documents_per_query=10, n_features=10, random_state=0)
OLD, LATER = QID < 60, QID >= 60
#: Settings of small fits.
SMALL = {"learning_rate": 0.1, "num_leaves": 8}


def rows(chosen, X=X, y=Y):
    return X[chosen], y[chosen], QID[chosen]


@pytest.fixture(scope="module")
def ranker():
    return TreeDirectRanker(HistogramTrees(30, **SMALL), random_state=0).fit(*rows(OLD))


def drifted(rng):
    """Return data whose later queries differ: columns, labels of some or of all, or nothing."""
    X, y, qid = make_web_search(200, documents_per_query=10, n_features=10, random_state=rng)
    later, kind = qid >= 60, rng.integers(4)
    if kind == 0:
        X[np.ix_(later, rng.permutation(10)[:3])] *= rng.uniform(0.5, 2)
    elif kind == 1:
        X[np.ix_(later, rng.permutation(10)[:3])] = 0
    elif kind == 2:
        y[later] = rng.permutation(y[later])
    return X, y, qid


@pytest.mark.slow
def test_no_ranker_is_shipped_that_is_worse_on_left_out_queries():
    rng, outcomes = np.random.default_rng(0), set()
    for learn in ["leaves", "trees"] * 5:
        X, y, qid = drifted(rng)
        old, kept, later = qid < 40, (qid >= 40) & (qid < 60), qid >= 60
        part = HistogramTrees(20, **SMALL)
        ranker = TreeDirectRanker(part, random_state=0).fit(X[old], y[old], qid[old])
        before = (X[kept], y[kept], qid[kept])
        found = refresh(ranker, X[later], y[later], qid[later], old=before, learn=learn)
        assert found.ranker is (found.candidate if found.accepted else ranker)
        is_worse = any(gain.high < 0 for gain in found.differences.values())
        assert found.accepted == (found.differences["new"].estimate >= 0 and not is_worse)
        outcomes.add(found.accepted)
    assert outcomes == {True, False}


def test_what_has_turned_around_is_learned_from_new_and_noticed_on_old_queries():
    X = np.random.default_rng(0).normal(size=(len(QID), 3))
    y = np.clip(np.where(OLD, X[:, 0], -X[:, 0]).round(), 0, 2)
    ranker = TreeDirectRanker(HistogramTrees(30, **SMALL)).fit(*rows(OLD, X, y))
    alone = refresh(ranker, *rows(LATER, X, y))
    assert alone.ranker is alone.candidate
    assert alone.differences["new"].low > 0.1
    with_old = refresh(ranker, *rows(LATER, X, y), old=rows(OLD, X, y))
    assert with_old.ranker is ranker
    assert with_old.differences["old"].high < 0
    assert "The old ranker stays" in str(with_old)


def test_a_candidate_that_gains_and_loses_nothing_is_accepted():
    X = np.tile([0.0, 1.0], len(QID) // 2).reshape(-1, 1)
    ranker = TreeDirectRanker(HistogramTrees(5), random_state=0).fit(*rows(OLD, X, X[:, 0]))
    found = refresh(ranker, *rows(LATER, X, X[:, 0]))  # both order all documents as their labels
    assert found.differences["new"].ends == (0, 0, 0)
    assert found.accepted
    assert found.ranker is found.candidate


def test_what_is_gained_is_measured_on_queries_that_were_left_out(ranker):
    labels = np.random.default_rng(1).permutation(Y)  # of which nothing can be learned
    found = refresh(ranker, *rows(LATER, y=labels), learn="leaves")
    seen = [each.score(*rows(LATER, y=labels)) for each in (found.candidate, ranker)]
    assert seen[0] - seen[1] > found.differences["new"].high


def test_the_old_ranker_stays_as_it_is(ranker):
    before = ranker.predict(X)
    found = refresh(ranker, *rows(LATER), learn="trees")
    assert (ranker.predict(X) == before).all()
    assert (found.candidate.predict(X) != before).any()


def test_neither_the_order_of_rows_nor_the_seed_of_numpy_changes_it(ranker):
    order = np.random.default_rng(0).permutation(np.flatnonzero(LATER))
    one, other = refresh(ranker, *rows(LATER)), refresh(ranker, X[order], Y[order], QID[order])
    assert (one.candidate.predict(X) == other.candidate.predict(X)).all()
    assert one.differences == other.differences


def test_columns_of_text_keep_their_codes():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(
        shop=np.where(X[:, 4] > np.median(X[:, 4]), "large", "small")
    )
    old = TreeDirectRanker(HistogramTrees(10, **SMALL)).fit(frame[OLD], Y[OLD], QID[OLD])
    later = frame[LATER].assign(shop=lambda x: x["shop"].where(x.index % 2 == 0, "new shop"))
    with pytest.warns(UserWarning, match="'shop' of X has 1 new categories, such as 'new shop'"):
        found = refresh(old, later, Y[LATER], QID[LATER])
    assert list(found.candidate.feature_names_in_) == list(frame)
    assert found.candidate.columns_.categories == old.columns_.categories
    assert len(found.candidate.predict(frame)) == len(frame)


@pytest.mark.parametrize("learn", ["leaves", "trees"])
@pytest.mark.parametrize("kind", ["forest", "LambdaMART", "stream"])
def test_it_refreshes_all_that_is_a_sum_of_trees(kind, learn, ranker, tmp_path):
    other = ForestRanker(ranker.forest())
    if kind == "LambdaMART":
        other = LambdaMART(n_estimators=10, random_state=0).fit(*rows(OLD))
    if kind == "stream":
        other = StreamingRanker(random_state=0).partial_fit(*rows(OLD))
    candidate = refresh(other, *rows(LATER), learn=learn, n_splits=2).candidate
    scores = candidate.predict(X)
    assert (scores != other.predict(X)).any()
    candidate.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), scores)
    again = clone(candidate).set_params(random_state=0).fit(*rows(LATER))
    assert np.ptp(again.predict(X)) > 0
    assert type(refresh(candidate, *rows(LATER), n_splits=2).candidate) is TreeDirectRanker


class LightGBMByGap(DirectRanker):
    feature_part, weight = LightGBMTrees(5), "label_gap"


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        (MART(5, random_state=3), {"loss": "half_squared_error", "weight": None}),
        (
            LambdaMART(n_estimators=5, weight="map", k=3, sigma=2.0, metric="map", random_state=3),
            {"weight": "map", "k": 3, "sigma": 2.0, "metric": "map", "random_state": 3},
        ),
        (LightGBMByGap(), {"weight": "label_gap", "smoothing": 0.0}),
        (
            StreamingRanker(weight="map", k=3, tau="tanh", random_state=3),
            {"weight": "map", "k": 3, "tau": "tanh", "random_state": 3, "warm_start": False},
        ),
    ],
    ids=["MART", "LambdaMART", "own", "stream"],
)
def test_settings_that_a_class_fixes_are_kept(ranker, expected):
    candidate = refresh(ranker.fit(*rows(OLD)), *rows(LATER), n_splits=2).candidate
    params = candidate.get_params()
    assert {name: params[name] for name in expected} == expected
    for name, value in ranker.get_params(deep=False).items():
        if name in params and name != "feature_part":
            assert params[name] == value


def rising_then_turning():
    """Return documents whose labels rise with the first feature, and in later queries do not."""
    X = np.random.default_rng(0).uniform(size=(len(QID), 3))
    return X, np.digitize(np.where(LATER, 2 * abs(X[:, 0] - 0.5), X[:, 0]), [0.3, 0.7])


@pytest.mark.parametrize("constraint", [[1, 0, 0], {0: 1}])
def test_new_trees_keep_monotone_constraints_which_new_leaves_would_not(constraint):
    X, y = rising_then_turning()
    part = LightGBMTrees(20, learning_rate=0.1, monotone_constraints=constraint)
    ranker = TreeDirectRanker([part, part]).fit(*rows(OLD, X, y))
    grid = np.full((101, 3), 0.5)
    grid[:, 0] = np.linspace(0, 1, 101)
    first = refresh(ranker, *rows(LATER, X, y), learn="trees").candidate
    second = refresh(first, *rows(LATER, X, y), learn="trees", n_splits=2).candidate
    for candidate in (first, second):
        assert np.diff(candidate.predict(grid)).min() >= 0
        message = r"learn must be 'trees' for a ranker with monotone_constraints.*; got 'leaves'"
        with pytest.raises(ValueError, match=message):
            refresh(candidate, *rows(LATER, X, y))


@pytest.mark.parametrize("kind", ["booster", "dump", "names", "saved"])
def test_new_trees_keep_the_monotone_constraints_of_a_model_of_lightgbm(kind, tmp_path):
    X, y = rising_then_turning()
    frame, path = pd.DataFrame(X, columns=["a", "b", "c"]), tmp_path / "model"
    params = {"monotone_constraints": [1, 0, 0], "verbosity": -1, "num_threads": 1}
    source = lightgbm.train(params, lightgbm.Dataset(frame[OLD], y[OLD]), 5)
    if kind == "dump":
        path.write_text(json.dumps(source.dump_model()))
        source = path
    trees = read_forest(source, feature_names=["c", "b", "a"] if kind == "names" else None)
    ranker = ForestRanker(trees)
    if kind == "saved":
        ranker.save(path)
        ranker = load(path)
    with pytest.raises(ValueError, match=r"learn must be 'trees' for a ranker with monotone_con"):
        refresh(ranker, frame[LATER], y[LATER], QID[LATER])
    candidate = refresh(ranker, frame[LATER], y[LATER], QID[LATER], learn="trees").candidate
    grid = pd.DataFrame({"a": np.linspace(0, 1, 101), "b": 0.5, "c": 0.5})
    assert np.diff(candidate.predict(grid)).min() >= 0
    assert candidate.forest().n_trees > 5


def test_a_sign_of_zero_is_no_constraint():
    part = HistogramTrees(5, monotone_constraints=[0] * 10, **SMALL)
    assert refresh(TreeDirectRanker(part).fit(*rows(OLD)), *rows(LATER), n_splits=2).candidate


def test_new_trees_keep_interaction_constraints():
    groups = [["a", "b"], ["c"]]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(len(QID), 3)), columns=["a", "b", "c"])
    y = (X["a"] * X["c"] > 0).astype(int).to_numpy()
    part = LightGBMTrees(10, interaction_constraints=groups)
    ranker = TreeDirectRanker(part).fit(X[OLD], y[OLD], QID[OLD])
    candidate = refresh(ranker, X[LATER], y[LATER], QID[LATER], learn="trees").candidate
    base = [[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    low, a, c, both = candidate.predict(pd.DataFrame(base, columns=["a", "b", "c"]))
    assert both - a - c + low == pytest.approx(0, abs=1e-9)


def test_trees_of_different_constraints_are_refused():
    parts = [HistogramTrees(5, monotone_constraints=[1, *[0] * 9]), HistogramTrees(5)]
    ranker = TreeDirectRanker(parts).fit(*rows(OLD))
    for learn in ("leaves", "trees"):
        with pytest.raises(ValueError, match="ranker must have the same constraints in all of its"):
            refresh(ranker, *rows(LATER), learn=learn)


def test_what_cannot_be_refreshed_is_refused_by_name(ranker):
    message = r"ranker must be a sum of trees; got \['linear'\].* Fit others anew .*: clone\(rank"
    with pytest.raises(ValueError, match=message):
        refresh(RankSVM().fit(*rows(OLD)), *rows(LATER))
    with pytest.raises(TypeError, match=r"ranker must be .*Ranker.*; got 'model'"):
        refresh("model", *rows(LATER))
    with pytest.raises(ValueError, match=r"old must be \(X, y\) or \(X, y, qid\); got .*tuple"):
        refresh(ranker, *rows(LATER), old=(X,))
    with pytest.raises(ValueError, match=r"learn must be one of .*leaves.*; got 'all'"):
        refresh(ranker, *rows(LATER), learn="all")
    with pytest.raises(ValueError, match="qid must be given; got None"):
        refresh(ranker, X, Y)


def test_queries_of_mixed_names_stay_apart(ranker):
    X, y, qid = rows(LATER)
    names = ["60" if query == 61 else int(query) for query in qid]  # beside the number 60
    found = refresh(ranker, X, y, names, n_splits=2)
    expected = refresh(ranker, X, y, np.where(qid == 61, 1000, qid), n_splits=2)
    np.testing.assert_array_equal(found.candidate.predict(X), expected.candidate.predict(X))
    assert found.differences == expected.differences


def test_the_candidate_remembers_old_and_new_queries_by_their_ids(ranker):
    X, y, qid = rows(LATER)
    names = np.array([f"{'red' if query % 2 else 'blue'} {query} shoes" for query in qid])
    candidate = refresh(ranker, X, y, names).candidate
    assert overlap_with_training(candidate, *rows(OLD)).n_same == 60
    half = np.arange(len(y)) % 2 == 0
    assert overlap_with_training(candidate, X[half], y[half], names[half]).n_cut > 0


def test_old_queries_without_qid_are_refused(ranker):
    with pytest.raises(ValueError, match=r"old must be \(X, y, qid\) where fit has several"):
        refresh(ranker, *rows(LATER), old=rows(OLD)[:2])


def test_queries_that_tell_no_ranker_from_another_are_refused(ranker):
    X, y, qid = rows(LATER)
    message = r"must hold a query with two different labels; got none among \d+ documents\."
    with pytest.raises(ValueError, match=rf"^y {message}"):
        refresh(ranker, X, 0 * y, qid)
    with pytest.raises(ValueError, match=rf"^old {message}"):
        refresh(ranker, X, y, qid, old=rows(OLD, y=0 * Y), n_splits=2)
    strict = clone(ranker).set_params(metric="map(threshold=9)").fit(*rows(OLD))
    with pytest.raises(ValueError, match=r"^y must define map.* for at least one query; got NaN"):
        refresh(strict, X, y, qid, n_splits=2)


def test_the_gain_on_a_single_query_has_no_bounds(ranker):
    X, y, qid = rows(LATER)
    with pytest.warns(UserWarning, match="the model is constant"):  # without this query
        found = refresh(ranker, X, np.where(qid == qid[0], y, 0), qid)
    gain = found.differences["new"]
    assert np.isnan([gain.low, gain.high]).all()
    assert found.accepted == (gain.estimate >= 0)
    assert str(found).endswith(f" gains in ndcg@10 {gain.estimate:.4f} on new queries.")
    one = OLD & (QID == 7)
    found = refresh(ranker, X, y, qid, old=rows(one))
    assert np.isnan(found.differences["old"].high)
    assert found.accepted == (found.differences["new"].estimate >= 0)


def test_a_ranker_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="This TreeDirectRanker instance is not fitted"):
        refresh(TreeDirectRanker("histogram"), [[1.0], [2.0]], [0, 1], [1, 1])


def test_folds_are_drawn_by_the_seed_and_a_candidate_starts_anew(ranker):
    first, same, other = (refresh(ranker, *rows(LATER), random_state=seed) for seed in (0, 0, 1))
    gains = [found.differences["new"].estimate for found in (first, same, other)]
    assert gains[0] == gains[1] != gains[2]
    assert first.candidate.warm_start is False


def test_new_trees_are_a_hundred_small_steps_on_top_of_the_old(ranker):
    old, new = _unfitted(ranker, "trees").feature_part.parts
    assert (old.learning_rate, new.n_estimators, new.learning_rate) == (0.0, 100, 0.01)
    leaves = _unfitted(ranker, "leaves")
    assert isinstance(leaves.feature_part, RefitTrees)
    assert leaves.get_params()["random_state"] == 0
    started = clone(ranker).set_params(warm_start=True).fit(*rows(OLD))
    assert _unfitted(started, "leaves").warm_start is False


def test_five_folds_of_seed_0_have_intervals_of_95_percent(ranker):
    given = {"n_splits": 5, "level": 0.95, "random_state": 0}
    found, expected = refresh(ranker, *rows(LATER)), refresh(ranker, *rows(LATER), **given)
    assert found.differences == expected.differences
    np.testing.assert_array_equal(found.candidate.predict(X), expected.candidate.predict(X))


@pytest.mark.parametrize(("gain", "is_accepted"), [(0.0, True), (-0.001, False), (0.001, True)])
def test_a_candidate_must_gain_nothing_and_lose_nothing(ranker, gain, is_accepted, monkeypatch):
    new, old = Interval(gain, -0.1, 0.1, 0.95), Interval(-0.1, -0.2, 0.0, 0.95)
    for of_old, accepted in ((old, is_accepted), (replace(old, high=-0.001), False)):
        found_intervals = iter([new, of_old])
        monkeypatch.setattr(
            refreshing, "mean_interval", lambda gaps, level, it=found_intervals: next(it)
        )
        found = refresh(ranker, *rows(LATER), old=rows(OLD))
        assert found.accepted == accepted
        assert found.ranker is (found.candidate if accepted else ranker)
