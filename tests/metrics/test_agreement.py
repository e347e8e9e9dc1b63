"""Metrics agree with gdeval, which the corpus does not ask: it prints five decimals."""

from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from metric_cases import make_judged

from treerank.metrics import get_metric


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("err@5", ir_measures.ERR @ 5),
        ("err@20", ir_measures.ERR @ 20),
        ("ndcg@5", ir_measures.nDCG(dcg="exp-log2") @ 5),
    ],
)
def test_agrees_with_gdeval(name, measure):
    gdeval = ir_measures.providers.registry["gdeval"]
    if not gdeval.is_available():
        pytest.skip("gdeval needs perl")
    y, scores, qid = make_judged()
    scores = scores + np.linspace(0, 0.01, len(scores))  # no ties
    metric = get_metric(name)
    if metric.stem == "err":
        metric = replace(metric, max_label=4)
    qrels, run = {}, {}
    for row in np.flatnonzero(qid % 10 != 7):  # the others have nothing to find
        qrels.setdefault(str(qid[row]), {})[f"d{row}"] = int(y[row])
        run.setdefault(str(qid[row]), {})[f"d{row}"] = float(scores[row])
    values = [each.value for each in gdeval.evaluator([measure], qrels).iter_calc(run)]
    judged = qid % 10 != 7
    expected = metric(y[judged], scores[judged], qid[judged])
    np.testing.assert_allclose(np.mean(values), expected, atol=1e-5)
