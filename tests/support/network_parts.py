"""Networks as feature parts, small and quick, and ranking data with an objective to train them."""

import numpy as np
import pytest

from treerank.feature_parts.networks.mlp import MLP
from treerank.feature_parts.networks.polynomial import LinearNetwork, Polynomial
from treerank.objectives import make_objective

PARTS = {
    "mlp": MLP((8,), n_epochs=3, batch_size=32, random_state=0),
    "dropout": MLP((8, 4), n_outputs=3, output_activation="tanh", dropout=0.3, n_epochs=3,
                   batch_size=32, random_state=0),
    "linear": LinearNetwork(n_epochs=3, batch_size=32, random_state=0),
    "polynomial": Polynomial(2, n_epochs=3, batch_size=32, random_state=0),
}  # fmt: skip
every_part = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
QID = np.repeat(np.arange(8), 15)
Y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.7])
OBJECTIVE = make_objective(Y, QID)
