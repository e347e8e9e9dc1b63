"""The user's own function as a metric, and metrics as scorers of scikit-learn."""

import pickle

import numpy as np
import sklearn
from metric_cases import make_judged
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_validate

from treerank.inputs.grouping import QueryGroups
from treerank.metrics import NDCG, AveragePrecision, get_metric, make_ranking_scorer


def top_label(y, scores, qid):
    assert qid is None or len(qid) == len(y)
    return float(np.asarray(y)[np.argmax(scores)])


def test_a_function_is_a_metric():
    metric = get_metric(top_label)
    assert metric.name == "top_label"
    assert metric([1, 2], [0.1, 0.2]) == 2
    np.testing.assert_array_equal(metric.per_query([1, 2, 3], [3, 2, 1], [1, 0, 0]), [2, 1])
    for qid in ([7, 7], QueryGroups.from_qid([7, 7])):
        prepared = pickle.loads(pickle.dumps(metric.prepared([1, 2], qid)))
        assert (prepared.name, prepared([0.1, 0.2])) == ("top_label", 2)


class FirstFeature(BaseEstimator):
    """Ranks by its first feature."""

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0]


def test_scorer_takes_qid_without_routing():
    y, scores, qid = make_judged()
    scorer = make_ranking_scorer("map")
    value = scorer(FirstFeature(), scores[:, None], y, qid=qid)
    assert value == AveragePrecision()(y, scores, qid)


def test_scorers_get_qid_routed_by_default():
    y, scores, qid = make_judged()
    scoring = {"a": make_ranking_scorer("ndcg@10"), "b": make_ranking_scorer("map")}
    splits = [(np.arange(300), np.arange(300, 600))]
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            FirstFeature(),
            scores[:, None],
            y,
            scoring=scoring,
            cv=splits,
            params={"qid": qid},
            error_score="raise",
        )
    expected = NDCG(k=10)(y[300:], scores[300:], qid[300:])
    assert result["test_a"] == [expected]
