"""Explanations for shap: their parts lead from one document to another."""

import numpy as np
import pytest

from treerank import HistogramTrees, TreeDirectRanker
from treerank.inspection import shap_explanation

pytestmark = pytest.mark.slow

shap = pytest.importorskip("shap")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
y = (np.nan_to_num(X[:, 0] * X[:, 1]) > 0).astype(int) + (X[:, 2] > 0)
QID = np.repeat(np.arange(10), 20)


def test_an_explanation_leads_from_the_second_document_to_the_first():
    ranker = TreeDirectRanker(HistogramTrees(n_estimators=10), random_state=0).fit(X, y, QID)
    explanation = shap_explanation(ranker, X[:3], X[3:4])
    assert isinstance(explanation, shap.Explanation)
    np.testing.assert_array_equal(explanation.data, X[:3])
    reached = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(reached, ranker.predict(X[:3]), atol=1e-6)
