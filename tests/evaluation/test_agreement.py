"""One number, whoever measures it: ties are means over all orders, and queries stay whole."""

import json

import numpy as np
import pytest
from command_line import run

from tests.corpus.make import metric_value
from treerank import report
from treerank.baselines import RankSVM
from treerank.datasets.letor import write_letor
from treerank.evaluation import compare
from treerank.metrics import RankingScorer

pytestmark = pytest.mark.slow

QID = np.repeat(np.arange(40), 5)
RNG = np.random.default_rng(0)
X = RNG.integers(3, size=(200, 1)).astype(float)
Y = np.clip(X[:, 0] + RNG.integers(-1, 2, size=200), 0, 3)
Y[QID == 39] = 0.0  # nothing to find there
TRAIN, TEST = np.flatnonzero(QID < 20), np.flatnonzero(QID >= 20)


def mean_over_orders(y, scores):
    """Return the mean NDCG of all orders that scores allow."""
    case = {"metric": "ndcg", "k": 10, "gain": "exponential", "ties": "average"}
    return float(metric_value(case | {"labels": y.astype(int).tolist(), "scores": scores}))


def test_ranker_scorer_comparison_report_and_shell_tell_the_same_mean(tmp_path):
    data, test = (X, Y, QID), (X[TEST], Y[TEST], QID[TEST])
    ranker = RankSVM().fit(X[TRAIN], Y[TRAIN], QID[TRAIN])
    scores = ranker.predict(X)
    queries = [QID == query for query in range(20, 39)]
    expected = np.mean([mean_over_orders(Y[rows], scores[rows]) for rows in queries])
    assert ranker.score(*test) == pytest.approx(expected)
    scorer = RankingScorer("ndcg@10")
    assert scorer(ranker, X[TEST], Y[TEST], qid=QID[TEST]) == pytest.approx(expected)
    comparison = compare({"a": RankSVM()}, data, cv=[(TRAIN, TEST)], metrics=["ndcg@10"])
    assert np.nanmean(comparison.by_query("ndcg@10")) == pytest.approx(expected)
    assert f"{expected:.4f}" in report(ranker, *test).html
    ranker.save(tmp_path / "m")
    write_letor(tmp_path / "test.txt", *test)
    printed = run("evaluate", tmp_path / "m", tmp_path / "test.txt", "--json").stdout
    assert json.loads(printed)["metrics"]["ndcg@10"] == pytest.approx(expected)
