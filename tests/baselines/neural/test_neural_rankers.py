import numpy as np
import pytest
from ranking_sample import make_ranking_sample
from sklearn.base import BaseEstimator

from treerank import NDCG, get_metric, make_objective
from treerank.baselines import LambdaRank, ListNet, ListNetStar, RankNet, RankNetStar, SortNet
from treerank.baselines.neural.rankprop import RankProp, SortedTargets
from treerank.baselines.neural.sorting import sort_by_comparison
from treerank.documents.queries import QueryGroups
from treerank.documents.ranking_data import Batches
from treerank.objectives.batches import taken
from treerank.rankers.nested_ranker import NestedRanker

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

DATA = make_ranking_sample(40)


@pytest.mark.parametrize(
    "ranker",
    [
        RankNetStar((16, 4), learning_rate=0.01),
        RankNet(),
        LambdaRank((16,), learning_rate=0.03),
        LambdaRank((), weight="map", learning_rate=0.05),
        ListNet(),
        ListNetStar(),
        RankProp((16,), learning_rate=0.03),
        SortNet(max_iter=5, n_epochs=10),
        NestedRanker(RankNet(()), sizes=(8,)),
    ],
    ids=repr,
)
def test_every_ranker_learns(ranker):
    ranker.set_params(random_state=0, **({"n_epochs": 20} if hasattr(ranker, "n_epochs") else {}))
    ranker.fit(*DATA)
    fresh = make_ranking_sample(40, random_state=1)
    chance = NDCG(k=10)(fresh.y, np.zeros(len(fresh.y)), fresh.qid)
    assert ranker.score(fresh.X, fresh.y, fresh.qid) > chance + 0.12


def test_the_head_of_ranknet_star_is_trained_and_squashes():
    ranker = RankNetStar((6, 3), activation="tanh", n_epochs=2, batch_size=100, random_state=0)
    ranker.fit(*DATA)
    features = ranker.feature_part_.transform(DATA.X)
    assert features.shape == (len(DATA.y), 3)
    assert (np.abs(features) < 1).all()
    margin = (features[:5] - features[5:10]) @ ranker.feature_part_.head_weight_
    np.testing.assert_allclose(ranker.compare(DATA.X[:5], DATA.X[5:10]), np.tanh(margin))
    np.testing.assert_allclose(ranker.distance(DATA.X[:5], DATA.X[5:10]), np.abs(np.tanh(margin)))


@pytest.mark.parametrize("hidden", [(6, 3), (3,)])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hidden": (4, 10**9)}, "^each of hidden must be .* at most 65536; got 1000000000"),
        ({"hidden": (10**9,)}, "^each of hidden must be .* at most 65536; got 1000000000"),
        ({"activation": "step"}, "^activation must be one of .*; got 'step'"),
        ({"dropout": 2.0}, "^dropout must be .* below 1; got 2.0"),
    ],
)
def test_errors_of_ranknet_star_name_its_parameters_not_those_of_its_network(
    hidden, wrong, message
):
    with pytest.raises(ValueError, match=message):
        RankNetStar(**{"hidden": hidden} | wrong).fit(*DATA)


def test_across_queries_documents_of_other_queries_teach():
    X, y, qid = np.array([[0.0], [1.0], [2.0]]), [0, 1, 2], ["a", "b", "c"]
    ranker = RankNetStar((4, 2), learning_rate=0.05, random_state=0).fit(X, y, qid)
    assert (np.diff(ranker.predict(X)) > 0).all()
    with pytest.warns(UserWarning, match="No pair of documents counts"):
        RankNetStar((4, 2), across_queries=False).fit(X, y, qid)


def test_soft_targets_settle_at_their_log_odds():
    X = np.array([[1.0], [0.0]])
    ranker = RankNet((), n_epochs=200, learning_rate=0.5, random_state=0)
    ranker.fit(X, [1, 0], given_pairs=[[0, 1, 1.0, 0.8]])
    assert np.ptp(ranker.predict(X)) == pytest.approx(np.log(0.8 / 0.2), rel=1e-3)


def plain_targets(y, scores):
    """Targets of one query, slowly: mean place among all orders that respect label and score."""
    n, targets = len(y), []
    for i in range(n):
        below = sum((y[j], scores[j]) < (y[i], scores[i]) for j in range(n))
        equal = sum((y[j], scores[j]) == (y[i], scores[i]) for j in range(n))
        targets.append((below + (equal - 1) / 2) / (n - 1) - 0.5)
    return np.array(targets) if len(set(y)) > 1 else np.zeros(n)


def test_rankprop_asks_for_places_by_label_and_then_by_score():
    rng = np.random.default_rng(0)
    qid = rng.integers(5, size=60)
    y, scores = rng.integers(3, size=60) * (qid > 0), rng.integers(4, size=60) / 2
    _, gradient, hessian = make_objective(y, qid, loss=SortedTargets())(scores)
    for q in range(5):
        own = qid == q
        expected = scores[own] - plain_targets(y[own].tolist(), scores[own].tolist())
        np.testing.assert_allclose(gradient[own], expected, atol=1e-12)
    assert (hessian == 1).all()


def test_rankprop_regresses_on_the_same_targets_for_an_epoch():
    rng = np.random.default_rng(1)
    qid, y = rng.integers(5, size=60), rng.integers(3, size=60)
    weight = rng.integers(1, 3, size=60)
    before, now = rng.normal(size=(2, 60))
    objective = make_objective(y, qid, loss=SortedTargets(), sample_weight=weight)
    epoch = objective.for_epoch(lambda: before)
    targets = np.empty(60)
    for q in range(5):
        targets[qid == q] = plain_targets(y[qid == q].tolist(), before[qid == q].tolist())
    value, gradient, hessian = epoch(now)
    np.testing.assert_allclose(gradient, weight * (now - targets), atol=1e-12)
    np.testing.assert_array_equal(hessian, weight)
    assert value == pytest.approx((weight * (now - targets) ** 2).sum() / 2)
    rows = np.lexsort((rng.random(60), qid))[:23]  # a batch that cuts a query
    of_batch, _ = taken(epoch, rows).derivatives(now[rows])
    np.testing.assert_allclose(of_batch, gradient[rows], atol=1e-12)


@pytest.mark.parametrize("sizes", [(1,), (5, 2, 9), (16,), (31, 1, 1, 8)])
def test_sorting_by_comparison_sorts_every_query(sizes):
    qid = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    height = np.random.default_rng(1).integers(6, size=len(qid)).astype(float)
    groups = QueryGroups.from_qid(qid)
    order, (i, j, preference) = sort_by_comparison(groups, lambda i, j: height[i] - height[j])
    expected = [r for q in range(len(sizes)) for r in np.flatnonzero(qid == q)]
    expected = sorted(expected, key=lambda r: (qid[r], -height[r]))  # stable
    assert order.tolist() == expected
    assert (qid[i] == qid[j]).all()
    np.testing.assert_array_equal(preference, height[i] - height[j])
    assert len(i) <= sum(n * np.ceil(np.log2(max(n, 1))) for n in sizes)


@pytest.mark.parametrize("metric", ["map", "p@10", "ndcg@5"])
def test_sortnet_keeps_the_comparator_of_the_best_ranking(metric):
    held_out = make_ranking_sample(10, random_state=2)
    ranker = SortNet(4, max_iter=3, n_epochs=3, metric=metric, random_state=0)
    ranker.fit(*DATA, eval_set=held_out)
    assert 1 < len(ranker.qualities_) <= 4
    ranks = ranker.rank(held_out.X, held_out.qid)
    quality = get_metric(metric)(held_out.y, -ranks.astype(float), held_out.qid)
    assert quality == pytest.approx(max(ranker.qualities_))


def test_pair_probabilities_of_sortnet_are_those_of_its_comparator():
    ranker = SortNet(2, max_iter=1, n_epochs=1, random_state=0).fit(*DATA)
    a, b = DATA.X[:200], DATA.X[200:400]
    preference = ranker.compare(a, b)
    np.testing.assert_allclose(ranker.predict_pair_proba(a, b), (1 + preference) / 2, atol=1e-14)
    assert (np.sign(ranker.predict(a) - ranker.predict(b)) != np.sign(preference)).any()
    held_out = make_ranking_sample(30, random_state=3)
    ranker.calibrate(held_out.X, held_out.y, held_out.qid)
    probability = ranker.predict_pair_proba(a, b)
    with pytest.raises(TypeError, match="X must be a matrix in memory"):
        ranker.calibrate(Batches([held_out]))  # and the old steepness stays
    np.testing.assert_array_equal(np.sign(probability - 0.5), np.sign(preference))
    odds = ((1 + preference) / (1 - preference)) ** ranker.calibration_slope_
    np.testing.assert_allclose(probability, odds / (1 + odds))
    assert ranker.calibration_slope_ > 1  # one epoch leaves the comparator timid
    likely = ranker.predict_relevance(a)
    assert (np.diff(likely[np.argsort(ranker.predict(a))]) >= 0).all()
    assert np.ptp(likely) > 0


def nested(sizes=(6,), **more):
    ranker = NestedRanker(RankNet((), n_epochs=1), sizes=sizes, random_state=0)
    return ranker.fit(*DATA, **more)


def test_what_a_nested_ranker_ranks_again_stays_on_top():
    ranker = nested((6, 3))
    assert len(ranker.rankers_) == 3
    scores = ranker.predict(DATA.X)
    reached = np.arange(len(scores))
    for stage, threshold in enumerate(ranker.thresholds_):
        reaches = ranker.rankers_[stage].predict(DATA.X[reached]) >= threshold
        assert scores[reached[reaches]].min() > np.max(scores[reached[~reaches]], initial=0)
        reached = reached[reaches]
    for sizes in ((3, 6), (1,), (2.5,), 5):
        with pytest.raises((ValueError, TypeError), match="sizes must be"):
            nested(sizes)


class Recalling(BaseEstimator):
    """Scores documents by the labels that it learned, and others by 0."""

    def fit(self, X, y, qid):
        self.labels_ = dict(zip(map(bytes, X), y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.labels_.get(bytes(x), 0.0) for x in X])


def test_a_stage_does_not_learn_from_documents_chosen_by_their_labels():
    ranker = NestedRanker(Recalling(), sizes=(2,)).fit(*DATA)
    assert ranker.thresholds_ == [0.0]  # the score of documents that are not known
    assert len(ranker.rankers_[1].labels_) == len(DATA.y)


def test_stages_end_where_no_given_pair_reaches_them():
    first, last = np.lexsort((DATA.y, DATA.qid))[[0, 1]]  # two documents at the end of one query
    assert len(nested((2,), given_pairs=[[first, last]]).rankers_) == 1


def test_a_stage_however_sure_cannot_undo_the_one_before():
    ranker = nested()
    for stage, weight in zip(ranker.rankers_, (1e9, -1e9), strict=True):
        stage.predict = lambda rows, weight=weight: weight * rows.array()[:, 0]
    ranker.thresholds_ = [4e9]
    X = np.arange(-10.0, 10.0)[:, None] * np.ones(DATA.X.shape[1])
    assert set(np.argsort(-ranker.predict(X))[:6]) == set(range(14, 20))


def test_the_parts_of_a_nested_rankers_explanation_add_up():
    ranker = nested()
    parts = ranker.explain(DATA.X[:5], DATA.X[5:10], n_orders=2)
    scores = ranker.predict(DATA.X)
    np.testing.assert_allclose(parts.sum(axis=1), scores[:5] - scores[5:10], atol=1e-9)


def test_rankers_of_a_nested_ranker_stop_early_on_the_tops_of_held_out_lists():
    held_out = make_ranking_sample(20, random_state=3)
    first = RankNet((), n_epochs=9, early_stopping_rounds=2)
    ranker = NestedRanker(first, sizes=(6,), random_state=0)
    ranker.fit(*DATA, eval_set=held_out)
    values = [r.evals_result_["validation"]["ndcg@10"] for r in ranker.rankers_]
    assert [len(v) for v in values] == [r.best_iteration_ + 2 for r in ranker.rankers_]
    scores = ranker.rankers_[0].predict(held_out.X)
    rows = np.flatnonzero(scores >= ranker.thresholds_[0])
    again = ranker.rankers_[1].predict(held_out.X[rows])
    reached = NDCG(k=10)(held_out.y[rows], again, held_out.qid[rows])
    assert reached == pytest.approx(max(values[1]), abs=0.05)
