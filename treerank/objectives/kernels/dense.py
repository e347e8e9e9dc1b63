"""Dense objectives: the gradient of a batch by torch itself, where its scores are on a GPU.

Kernels run on the CPU; a GPU would wait for the scores to go there and the gradient to come back.
A batch is small, so its pairs fit into a matrix with a row and a column per document. That serves
pair losses with weights that do not depend on ranks, whole queries or pieces of them. Others go
by way of the CPU. To add a loss, list its slope in ``SLOPES``.
"""

import numpy as np
import torch

from treerank.objectives.losses import PAIR_LOSSES
from treerank.objectives.pairwise import PairwiseObjective

#: Documents of a batch from which on the matrix is too large.
MAX_DOCUMENTS = 8192


def _logistic(margin):
    return -torch.sigmoid(-margin)


def _half_squared_tanh(margin):
    tanh = torch.tanh(margin)
    return -(1 - tanh) * (1 - tanh * tanh)


def _squared_sigmoid(margin):
    upset = torch.sigmoid(-margin)
    return -2 * upset * upset * torch.sigmoid(margin)


def _fidelity(margin):
    return -torch.sigmoid(-margin) * torch.sigmoid(margin).sqrt() / 2


def _half_squared(margin):
    return margin - 1


def _exponential(margin):
    return -torch.exp(-margin)


def _hinge(margin):
    return -(margin < 1).to(margin.dtype)


def _squared_hinge(margin):
    return -2 * (1 - margin).clamp(min=0)


#: Derivative of each pair loss by the margin.
SLOPES = {
    "logistic": _logistic,
    "half_squared_tanh": _half_squared_tanh,
    "squared_sigmoid": _squared_sigmoid,
    "fidelity": _fidelity,
    "half_squared": _half_squared,
    "exponential": _exponential,
    "hinge": _hinge,
    "squared_hinge": _squared_hinge,
}
_SLOPE_OF = {PAIR_LOSSES[name].of_margin: slope for name, slope in SLOPES.items()}


def is_dense(objective):
    """Tell whether :func:`dense_gradient` knows the objective."""
    return (
        isinstance(objective, PairwiseObjective)
        and objective.loss.of_margin in _SLOPE_OF
        and objective._mass_is_fixed
        and len(objective.y) <= MAX_DOCUMENTS
    )


def dense_gradient(scores, objective):
    """Return the gradient by the scores, on their device and in their precision.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> dense_gradient(torch.zeros(3), make_objective([1, 0, 0]))
    tensor([-1.0000,  0.5000,  0.5000])
    """
    labels, weights = objective._labels, objective._weights
    n_rows = np.diff(labels.indptr)
    first = labels.indptr[:-1].repeat(n_rows)
    factor = objective._factors(objective._fixed_mass).repeat(n_rows)
    per_place = np.stack(
        [
            first + labels.low,
            first + labels.high,
            weights.gain * weights.document * factor * objective.sigma,
            weights.document,
            objective._offset,
        ]
    )
    table = torch.from_numpy(per_place).to(scores.device)  # one trip for all of them
    low, high = table[:2, :, None]
    upper, lower, offset = table[2:].to(scores.dtype)
    row = torch.from_numpy(labels.row).to(scores.device)
    place = torch.arange(len(row), device=scores.device)
    x = objective.sigma * scores[row] - offset
    slope = _SLOPE_OF[objective.loss.of_margin](x[:, None] - x + objective._shift)
    counts = (low <= place) & (place < high)
    pulled = torch.where(counts, upper[:, None] * lower * slope, 0.0)
    gradient = torch.empty_like(scores)
    gradient[row] = pulled.sum(dim=1) - pulled.sum(dim=0)
    return gradient
