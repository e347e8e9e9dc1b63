"""Rankers for shap: it takes our trees, agrees with our parts, and draws them."""

import numpy as np
import pytest

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, XGBoostTrees
from treerank.inspection import shap_explanation, shap_model

pytestmark = pytest.mark.slow

shap = pytest.importorskip("shap")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
y = (np.nan_to_num(X[:, 0] * X[:, 1]) > 0).astype(int) + (X[:, 2] > 0)
QID = np.repeat(np.arange(10), 20)


@pytest.fixture(scope="module", params=[LightGBMTrees, XGBoostTrees, HistogramTrees])
def ranker(request):
    part = request.param(n_estimators=10, min_child_weight=0.01, n_jobs=1)
    return TreeDirectRanker(part, random_state=0).fit(X, y, QID)


def test_shap_computes_our_parts(ranker):
    explainer = shap.TreeExplainer(shap_model(ranker), X[:1])
    parts = explainer.shap_values(X[1:40])
    ours = ranker.explain(X[1:40], X[:1])
    np.testing.assert_allclose(parts, ours, rtol=0, atol=1e-6)  # shap weighs in single precision


def test_shap_computes_our_scores(ranker):
    explanation = shap.Explainer(shap_model(ranker), X[:5])(X[5:9])
    scores = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(scores, ranker.predict(X[5:9]), atol=1e-6)


def test_an_explanation_leads_from_the_second_document_to_the_first(ranker):
    explanation = shap_explanation(ranker, X[:3], X[3:4])
    assert isinstance(explanation, shap.Explanation)
    np.testing.assert_array_equal(explanation.data, X[:3])
    reached = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(reached, ranker.predict(X[:3]), atol=1e-6)


def test_categories_are_refused():
    codes = np.column_stack([X, np.arange(200) % 4])
    part = LightGBMTrees(n_estimators=3, categorical_features=[6], min_child_samples=2)
    ranker = TreeDirectRanker(part).fit(codes, codes[:, 6] % 2, QID)
    with pytest.raises(ValueError, match="no categories"):
        shap_model(ranker)
