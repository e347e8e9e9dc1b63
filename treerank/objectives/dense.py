"""Dense objectives: the gradient of a batch by torch itself, where its scores are on a GPU.

Kernels run on the CPU; a GPU would wait for the scores to go there and the gradient to come back.
A batch is small, so its pairs fit into a matrix with a row and a column per document. That serves
pair losses with weights that do not depend on ranks, whole queries or pieces of them. Others go
by way of the CPU. The gradient of a loss is its ``of_tensor``.
"""

from typing import Any

import numpy as np
import torch

from treerank.objectives.pairwise import PairwiseObjective

#: Documents of a batch from which on the matrix is too large.
MAX_DOCUMENTS = 8192


def is_dense(objective: Any) -> bool:
    """Tell whether :func:`dense_gradient` knows the objective."""
    return (
        isinstance(objective, PairwiseObjective)
        and objective.loss.of_tensor is not None
        and objective.is_separable
        and len(objective.judgments.y) <= MAX_DOCUMENTS
    )


def dense_gradient(scores: torch.Tensor, objective: PairwiseObjective) -> torch.Tensor:
    """Return the gradient by the scores, on their device and in their precision.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> dense_gradient(torch.zeros(3), make_objective([1, 0, 0]))
    tensor([-1.0000,  0.5000,  0.5000])
    """
    labels, weights = objective.labels, objective.weights
    n_rows = np.diff(labels.indptr)
    first = labels.indptr[:-1].repeat(n_rows)
    factor = objective.factors(objective.fixed_mass).repeat(n_rows)
    per_place = np.stack(
        [
            first + labels.low,
            first + labels.high,
            weights.gain * weights.document * factor * objective.sigma,
            weights.document,
            objective.offset,
        ]
    )
    table = torch.from_numpy(per_place).to(scores.device)  # one trip for all of them
    low, high = table[:2, :, None]
    upper, lower, offset = table[2:].to(scores.dtype)
    row = torch.from_numpy(labels.row).to(scores.device)
    place = torch.arange(len(row), device=scores.device)
    x = objective.sigma * scores[row] - offset
    assert objective.loss.of_tensor is not None
    slope = objective.loss.of_tensor(x[:, None] - x + objective.shift)
    counts = (low <= place) & (place < high)
    pulled = torch.where(counts, upper[:, None] * lower * slope, 0.0)
    gradient = torch.empty_like(scores)
    gradient[row] = pulled.sum(dim=1) - pulled.sum(dim=0)
    return gradient
