"""Dense gradient: the gradient of a batch computed by torch, where its scores are on a GPU.

The kernels run on the CPU, so a GPU would wait for scores and gradients to be copied. The pairs of
a batch fit into a matrix with a row and a column per document. This works for pair losses with
``of_tensor`` and weights that do not depend on ranks; all other objectives use the CPU.
"""

from typing import Any, TypeGuard

import numpy as np
import torch

from treerank.objectives.pairwise import PairwiseObjective

#: Largest number of documents for which the matrix is not too large.
MAX_DOCUMENTS = 8192


def is_dense(objective: Any) -> TypeGuard[PairwiseObjective]:
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
    table = torch.from_numpy(per_place).to(scores.device)  # one copy for all of them
    low, high = table[:2, :, None]
    upper, lower, offset = table[2:].to(scores.dtype)
    row = torch.from_numpy(labels.row.astype(np.int64)).to(scores.device)
    place = torch.arange(len(row), device=scores.device)
    x = objective.sigma * scores[row] - offset
    assert objective.loss.of_tensor is not None
    slope = objective.loss.of_tensor(x[:, None] - x + objective.shift)
    counts = (low <= place) & (place < high)
    pulled = torch.where(counts, upper[:, None] * lower * slope, 0.0)
    gradient = torch.empty_like(scores)
    gradient[row] = pulled.sum(dim=1) - pulled.sum(dim=0)
    return gradient
