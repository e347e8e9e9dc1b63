"""What the guide says of CatBoost: why its custom objectives are no objective of pairs."""

import numpy as np
import pytest


@pytest.mark.filterwarnings("ignore:Failed to optimize method")  # which is plain Python here
def test_catboost_hands_a_custom_objective_slices_of_documents_without_queries():
    catboost = pytest.importorskip("catboost")
    calls = []

    class Recorded:
        def calc_ders_range(self, approxes, targets, weights):
            calls.append((len(targets), weights))
            return [(t - a, -1.0) for t, a in zip(targets, approxes, strict=True)]

    X = np.random.default_rng(0).normal(size=(6000, 3))
    settings = {"silent": True, "allow_writing_files": False, "thread_count": 2}
    model = catboost.CatBoostRegressor(
        iterations=1, loss_function=Recorded(), eval_metric="RMSE", **settings
    )
    model.fit(catboost.Pool(X, X[:, 0], group_id=np.arange(6000) // 3000))
    sizes = {size for size, _ in calls}
    assert max(sizes) <= 1000  # so that the 3,000 documents of a query are cut
    assert all(weights is None for _, weights in calls)
