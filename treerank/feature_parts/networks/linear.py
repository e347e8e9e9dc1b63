"""Linear feature part: f(x) = <w, x>, the simplest network."""

from dataclasses import dataclass

import numpy as np
import torch

from treerank.feature_parts.networks.network_part import NetworkPart
from treerank.parameters import LearningRate


@dataclass(eq=False, repr=False, kw_only=True)
class Linear(NetworkPart):
    """A weighted sum of the features.

    All other parameters and attributes are those of
    :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

    Parameters
    ----------
    learning_rate : float, default=0.01
        Length of the first steps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weight of each feature, in the units of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from treerank.objectives import make_objective
    >>> X = np.array([[1.0, 0.0], [0.0, 0.1], [1.0, 0.3], [0.0, 0.2]])
    >>> objective = make_objective([1, 0, 1, 0], ["a", "a", "b", "b"])
    >>> part = Linear(learning_rate=0.1, random_state=0).fit(X, objective)
    >>> part.coef_.shape, bool(part.coef_[0] > 0)
    ((2,), True)
    """

    learning_rate: LearningRate = 1e-2

    @property
    def coef_(self) -> np.ndarray:
        """Weight of each feature as given, of shape (n_features,) or (n_outputs, n_features)."""
        weight = self.network_.get_parameter("weight").detach().double().numpy()
        weight = weight / self._standardization.scale
        return weight[0] if len(weight) == 1 else weight

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        return bias_free_layer(n_features, n_outputs, generator)


def bias_free_layer(n_inputs: int, n_outputs: int, generator: torch.Generator) -> torch.nn.Linear:
    """Return a layer without bias: zero weights for one output, else small random weights.

    From zero the first step is the same for every seed. Several outputs must start differently.
    """
    layer = torch.nn.Linear(n_inputs, n_outputs, bias=False)
    bound = 0.0 if n_outputs == 1 else n_inputs**-0.5
    torch.nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    return layer
