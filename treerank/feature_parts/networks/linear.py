"""Linear feature part: f(x) = <w, x>, the simplest network there is."""

import torch

from treerank.feature_parts.networks.network_part import NetworkPart


class Linear(NetworkPart):
    """A weighted sum of the features.

    Parameters
    ----------
    **training
        See :class:`~treerank.feature_parts.networks.network_part.NetworkPart`.

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

    def __init__(self, *, learning_rate=1e-2, **training):
        super().__init__(learning_rate=learning_rate, **training)

    @property
    def coef_(self):
        """Weight of each feature as given, of shape (n_features,) or (n_outputs, n_features)."""
        weight = self.network_.get_parameter("weight").detach().double().numpy()
        weight = weight / self._standardization.scale
        return weight[0] if len(weight) == 1 else weight

    def _make_network(self, n_features, n_outputs, X_sample, generator):
        layer = torch.nn.Linear(n_features, n_outputs, bias=False)
        # From zero the first step is the same whatever the seed; several outputs must differ.
        bound = 0.0 if n_outputs == 1 else n_features**-0.5
        torch.nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
        return layer
