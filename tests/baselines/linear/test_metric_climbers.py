"""Coordinate ascent and the ES-Rank family: linear weights that climb a metric itself."""

import numpy as np
import pytest
from ranking_sample import make_ranking_sample

from treerank.baselines import CoordinateAscent, RankSVM
from treerank.baselines.linear.es_rank import ESRank, IESRRank, IESVMRank, least_squares
from treerank.baselines.linear.products import moved_scores
from treerank.metrics import NDCG, get_metric

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
X, y, qid = DATA = make_ranking_sample(n_queries=8, random_state=1)


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("metric", ["ndcg@3", "map", "err@5"])
def test_the_metric_never_falls_with_more_time(metric):
    measure = get_metric(metric)

    def reached(ranker):
        return measure(y, ranker.fit(*DATA).predict(X), qid)

    evolved = [reached(ESRank(n_generations=n, metric=metric, random_state=3)) for n in (1, 9, 99)]
    assert evolved == sorted(evolved)
    still = CoordinateAscent(n_restarts=1, metric=metric, tolerance=0, random_state=0)
    climbed = [reached(still.set_params(n_sweeps=n)) for n in (1, 2, 4)]
    assert climbed == sorted(climbed)
    assert evolved[0] < evolved[-1]


def test_coordinate_ascent_takes_the_best_step_of_one_weight():
    ranker = CoordinateAscent(n_restarts=1, n_sweeps=1, n_steps=10, random_state=0).fit(*DATA)
    Z, order_seed = standard(X), np.random.RandomState(0).randint(2**31 - 1)
    weight, lengths = np.ones(5), 2.0 ** (np.arange(10) - 7)
    for j in np.random.RandomState(order_seed).permutation(np.arange(5)):
        unit = np.abs(weight).sum() / np.count_nonzero(weight)
        steps = [0.0, *(unit * lengths), *(-unit * lengths), -weight[j]]
        values = [NDCG(k=10)(y, Z @ weight + step * Z[:, j], qid) for step in steps]
        weight[j] += steps[int(np.argmax(values))]
    np.testing.assert_allclose(ranker.coef_ * X.std(axis=0), weight)


def test_evolution_starts_from_least_squares_and_from_ranksvm():
    Z = standard(X)
    expected = np.linalg.lstsq(Z, y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(least_squares(Z, y - y.mean()), expected, rtol=1e-4)
    svm = RankSVM().fit(*DATA)
    for ranker, start in (
        (IESRRank(n_generations=1, random_state=0), Z @ expected),
        (IESVMRank(n_generations=1, random_state=0), svm.predict(X)),
    ):
        reached = NDCG(k=10)(y, ranker.fit(*DATA).predict(X), qid)
        assert reached >= NDCG(k=10)(y, start, qid) - 1e-12


def test_a_move_changes_scores_as_it_changes_weights():
    rng = np.random.default_rng(0)
    columns, weight = rng.normal(size=(6, 5000)), rng.normal(size=6)
    genes, steps = np.array([1, 4]), np.array([0.5, -2.0])
    moved = weight.copy()
    moved[genes] += steps
    found = moved_scores(weight @ columns, columns, genes, steps)
    np.testing.assert_allclose(found, moved @ columns, atol=1e-12)


def test_queries_count_by_their_weight():
    alone = qid == 3
    weight = np.where(alone, 1e6, 1.0)
    for ranker in (ESRank(n_generations=300, random_state=1), CoordinateAscent(random_state=1)):
        favored = ranker.fit(X, y, qid, query_weight=weight).predict(X)
        fair = ranker.fit(X, y, qid).predict(X)
        assert NDCG(k=10)(y[alone], favored[alone]) > NDCG(k=10)(y[alone], fair[alone])


def test_evolution_is_never_worse_than_its_start_on_the_eval_set():
    for seed in range(3):
        rest = make_ranking_sample(n_queries=6, random_state=seed)
        held_out = rest.X, rest.y, rest.qid
        start = RankSVM().fit(*DATA).score(*held_out)
        evolved = IESVMRank(n_generations=40, random_state=seed).fit(*DATA, eval_set=held_out)
        assert evolved.score(*held_out) >= start - 1e-12
        assert evolved.evals_result_["validation"]["ndcg@10"][0] == pytest.approx(start)


def test_the_eval_set_decides_among_ascents():
    rest = make_ranking_sample(n_queries=10, random_state=2)
    held_out = rest.X, rest.y, rest.qid
    reached = []
    for n_restarts in (1, 2, 4):
        ranker = CoordinateAscent(n_restarts=n_restarts, random_state=0)
        reached.append(ranker.fit(*DATA, eval_set=held_out).score(*held_out))
    assert reached == sorted(reached)
