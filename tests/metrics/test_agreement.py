"""Metrics agree with those of others, where conventions coincide."""

from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from metric_cases import make_judged
from sklearn.metrics import ndcg_score as sklearn_ndcg_score
from sklearn.metrics import roc_auc_score

from treerank.metrics import METRICS, NDCG, PairwiseAccuracy, get_metric


@pytest.fixture(scope="module")
def untied():
    y, scores, qid = make_judged()
    rows = qid % 10 != 7
    return y[rows], scores[rows] + np.linspace(0, 0.01, rows.sum()), qid[rows]


@pytest.mark.parametrize("k", [3, 10, None])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_agrees_with_scikit_learn(gain, k):
    y, scores, qid = make_judged()  # ties included: scikit-learn takes the average too
    values = NDCG(k=k, gain=gain, no_relevant=0).per_query(y, scores, qid)
    gains = y if gain == "linear" else 2.0**y - 1
    queries = [qid == q for q in np.unique(qid)]
    expected = [sklearn_ndcg_score([gains[q]], [scores[q]], k=k) for q in queries]
    np.testing.assert_allclose(values, expected)


def test_pairwise_accuracy_of_two_labels_is_the_area_under_the_roc_curve():
    y, scores, _ = make_judged()
    np.testing.assert_allclose(PairwiseAccuracy()(y > 0, scores), roc_auc_score(y > 0, scores))


def as_dictionaries(y, scores, qid):
    qrels, run = {}, {}
    for row, (label, score, query) in enumerate(zip(y, scores, qid, strict=True)):
        qrels.setdefault(str(query), {})[f"d{row}"] = int(label)
        run.setdefault(str(query), {})[f"d{row}"] = float(score)
    return qrels, run


def ir_measures_mean(measure, y, scores, qid, provider):
    qrels, run = as_dictionaries(y, scores, qid)
    evaluator = ir_measures.providers.registry[provider].evaluator([measure], qrels)
    return np.mean([metric.value for metric in evaluator.iter_calc(run)])


@pytest.mark.parametrize(
    ("metric", "measure"),
    [
        (NDCG(k=10, gain="linear"), ir_measures.nDCG @ 10),
        (NDCG(gain="linear"), ir_measures.nDCG),
        (get_metric("map"), ir_measures.AP),
        (get_metric("map@3"), ir_measures.AP @ 3),
        (replace(METRICS["map"], threshold=2), ir_measures.AP(rel=2)),
        (get_metric("mrr"), ir_measures.RR),
        (get_metric("recall@5"), ir_measures.R @ 5),
        (get_metric("success@2"), ir_measures.Success @ 2),
        (get_metric("p@5"), ir_measures.P @ 5),
        (get_metric("p@30"), ir_measures.P @ 30),
        (replace(METRICS["p"], threshold=2, k=5), ir_measures.P(rel=2) @ 5),
    ],
    ids=str,
)
def test_agrees_with_trec_eval(metric, measure, untied):
    metric = replace(metric, no_relevant=0)
    expected = ir_measures_mean(measure, *untied, provider="pytrec_eval")
    np.testing.assert_allclose(metric(*untied), expected)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("err@5", ir_measures.ERR @ 5),
        ("err@20", ir_measures.ERR @ 20),
        ("ndcg@5", ir_measures.nDCG(dcg="exp-log2") @ 5),
    ],
)
def test_agrees_with_gdeval(name, measure, untied):
    if not ir_measures.providers.registry["gdeval"].is_available():
        pytest.skip("gdeval needs perl")
    metric = get_metric(name)
    if metric.stem == "err":
        metric = replace(metric, max_label=4)
    expected = ir_measures_mean(measure, *untied, provider="gdeval")
    np.testing.assert_allclose(metric(*untied), expected, atol=1e-5)  # it prints five decimals
