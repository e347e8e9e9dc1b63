"""What the papers prove, of what is fitted: the pages of the gallery show the constructions."""

import numpy as np
import pytest

from treerank import MLP, LightGBMTrees, SoftTrees, TreeDirectRanker

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

#: A grid whose levels have no pattern.
POINTS = np.array([(a, b) for a in range(5) for b in range(5)], dtype=float)
PARTS = {
    "trees": LightGBMTrees(100, num_leaves=15, min_child_samples=1, learning_rate=0.2, n_jobs=1),
    "soft trees": SoftTrees(32, depth=4, n_epochs=200, learning_rate=0.05, gamma=5.0),
    "network": MLP((64, 64), n_epochs=300, learning_rate=0.01, start="glorot"),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PARTS)
def test_any_order_of_separate_points_is_reached(name, seed):
    """Theorem 3 of the DirectRanker paper."""
    level = np.random.default_rng(seed).integers(5, size=len(POINTS))
    ranker = TreeDirectRanker(
        PARTS[name], weight="uniform", pairs="adjacent", smoothing=0, random_state=0
    )
    scores = ranker.fit(POINTS, level, np.zeros(len(POINTS), dtype=int)).predict(POINTS)
    higher = level[:, None] > level
    assert (scores[:, None] > scores)[higher].all()
