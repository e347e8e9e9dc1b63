"""Several labels, each known for some documents: judges' labels beside those of a model."""

import numpy as np
import pytest

from treerank import (
    NDCG,
    LightGBMTrees,
    TreeDirectRanker,
    get_metric,
    make_objective,
    make_web_search,
)
from treerank.documents.queries import QueryGroups
from treerank.feature_parts import MLP, HistogramTrees
from treerank.metrics import RankingScorer
from treerank.objectives.sums import SomeRows

X, Y, QID = make_web_search(60, documents_per_query=12, n_features=12, random_state=0)
rng = np.random.default_rng(1)
KNOWN = rng.random(len(Y)) < 0.4
HUMAN = np.where(KNOWN, Y, np.nan)
MACHINE = np.where(rng.random(len(Y)) < 0.9, np.clip(Y + rng.integers(-1, 2, len(Y)), 0, 4), np.nan)
PARTS = {
    "lightgbm": LightGBMTrees(8, num_leaves=4, n_jobs=1),
    "histogram": HistogramTrees(8, num_leaves=4, n_jobs=1),
    "network": MLP((), start="zero", n_epochs=2, batch_size=40),
}


def ranker(part="lightgbm", **settings):
    return TreeDirectRanker(PARTS[part], random_state=0, **settings)


@pytest.mark.parametrize("loss", ["logistic", "listnet"])
def test_derivatives_are_those_of_the_known_rows_and_else_zero(loss):
    rows, groups = np.flatnonzero(KNOWN), QueryGroups.from_qid(QID)
    inner = make_objective(Y[KNOWN], QID[KNOWN], loss=loss)
    scores = rng.normal(size=len(Y))
    value, *found = SomeRows(inner, rows, groups)(scores)
    expected, *parts = inner(scores[rows])
    assert value == expected
    for whole, part in zip(found, parts, strict=True):
        np.testing.assert_array_equal(whole[rows], part)
        assert not np.delete(whole, rows).any()


@pytest.mark.parametrize("part", PARTS)
def test_documents_that_a_label_of_no_weight_alone_judges_are_left_out(part):
    labels = {"human": HUMAN, "nothing": np.zeros(len(Y))}
    both = ranker(part, label_weights={"nothing": 0.0}).fit(X, labels, QID)
    judged = ~np.isnan(HUMAN)
    alone = ranker(part).fit(X[judged], {"human": HUMAN[judged]}, QID[judged])
    np.testing.assert_array_equal(both.predict(X), alone.predict(X))


@pytest.mark.filterwarnings("ignore:.* queries of eval_set:UserWarning")
def test_an_eval_set_may_have_gaps_and_calibrates_by_the_first_label():
    labels = {"human": HUMAN, "machine": MACHINE}
    with pytest.warns(UserWarning, match="queries of eval_set are in the training set"):
        fitted = ranker().fit(X, labels, QID, eval_set=(X, labels, QID))
    curves = fitted.evals_result_["validation"]
    kept = fitted.best_iteration_ - 1
    measured = [NDCG(k=10)(label, fitted.predict(X), QID) for label in labels.values()]
    assert [curves[f"ndcg@10 of {name}"][kept] for name in labels] == pytest.approx(measured)
    assert fitted.score(X, labels, QID) == pytest.approx(np.mean(measured))
    assert fitted.calibration_slope_ > 0


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_batch_may_have_no_judged_document(n_outputs):
    labels = {"human": np.where(QID < 3, Y, np.nan), "machine": MACHINE}
    network = MLP((), start="zero", n_epochs=2, batch_size=12, n_outputs=n_outputs)
    assert np.ptp(TreeDirectRanker(network, random_state=0).fit(X, labels, QID).predict(X)) > 0


def mean_gain_of_the_best(y, scores, qid=None):
    """Return the mean label of the best document of each query: NaN if it sees a gap."""
    assert isinstance(y, np.ndarray)
    if qid is None:
        return y[np.argmax(scores)]
    return float(
        np.mean([y[qid == query][np.argmax(scores[qid == query])] for query in np.unique(qid)])
    )


def test_a_function_of_ones_own_sees_judged_documents_alone_wherever_it_is_asked():
    gaps = np.where(np.random.default_rng(0).random(len(Y)) < 0.3, np.nan, Y)
    gaps[QID == 3] = np.nan
    judged = ~np.isnan(gaps)
    fitted = ranker(metric=mean_gain_of_the_best).fit(X, gaps, QID, eval_set=(2 * X, gaps, QID))
    recorded = fitted.evals_result_["validation"]["mean_gain_of_the_best"]
    expected = fitted.score(2 * X[judged], Y[judged], QID[judged])
    assert recorded[fitted.best_iteration_ - 1] == expected
    assert fitted.score(2 * X, gaps, QID) == expected
    metric, scores = get_metric(mean_gain_of_the_best), fitted.predict(2 * X)
    assert metric(gaps, scores, QID) == expected
    assert metric(gaps.tolist(), scores.tolist(), QID.tolist()) == expected
    scorer = RankingScorer(mean_gain_of_the_best)
    assert scorer(fitted, 2 * X, gaps, qid=QID) == expected
    by_query = metric.per_query(gaps, scores, QID)
    assert np.flatnonzero(np.isnan(by_query)).tolist() == [3]
    assert np.nanmean(by_query) == pytest.approx(expected)
    weighed = fitted.score(2 * X, gaps, QID, sample_weight=np.ones(len(Y)))
    assert weighed == pytest.approx(expected)
    weight = np.random.default_rng(1).integers(1, 9, size=len(Y)).astype(float)
    weighed = fitted.score(2 * X, gaps, QID, sample_weight=weight)
    alone = fitted.score(2 * X[judged], Y[judged], QID[judged], sample_weight=weight[judged])
    assert weighed == pytest.approx(alone)
    several = ranker(metric=mean_gain_of_the_best).fit(X, {"a": Y, "b": gaps}, QID)
    whole = several.score(X, {"a": Y, "b": gaps}, QID)
    assert (
        whole == (several.score(X, Y, QID) + several.score(X[judged], Y[judged], QID[judged])) / 2
    )
    with pytest.raises(ValueError, match="y must hold a label in some row"):
        metric(np.full(3, np.nan), np.zeros(3), None)
