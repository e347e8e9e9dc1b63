"""Objective function: an objective as a function of torch's automatic differentiation.

The head is linear before tau. So torch needs of an objective only its value and its gradient by
the scores: one function with a known derivative, for the scores of any network.
"""

from typing import Any

import torch

from treerank.objectives.base import Objective


class ObjectiveFunction(torch.autograd.Function):
    """An objective of scores, ``ObjectiveFunction.apply(scores, objective, iteration)``.

    Parameters
    ----------
    scores : Tensor of shape (n_documents,) or (n_documents, n_outputs)
        Scores, for instance outputs of a network.
    objective : Objective
        What is minimized.
    iteration : int
        Key of what the objective draws at random.

    Returns
    -------
    Tensor of shape ()
        Value of the objective, with a gradient by the scores.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> scores = torch.zeros(2, requires_grad=True)
    >>> ObjectiveFunction.apply(scores, make_objective([1, 0]), 0).backward()
    >>> scores.grad
    tensor([-0.5000,  0.5000])
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, objective: Objective, iteration: int) -> Any:
        """Return the value of the objective, and keep its gradient."""
        given = scores.detach().cpu().double().numpy()
        value, gradient, _ = objective(given, iteration=iteration)
        ctx.save_for_backward(torch.as_tensor(gradient).to(scores))
        return scores.new_tensor(value)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        """Return the gradient by the scores; the other arguments have none."""
        (gradient,) = ctx.saved_tensors
        return grad_output * gradient, None, None


def score_gradient(scores: torch.Tensor, objective: Objective, iteration: int) -> torch.Tensor:
    """Return the gradient of an objective by the scores, without its value, which costs more.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> score_gradient(torch.zeros(2), make_objective([1, 0]), 0)
    tensor([-0.5000,  0.5000])
    """
    given = scores.detach().cpu().double().numpy()
    gradient, _ = objective.derivatives(given, iteration=iteration)
    return torch.as_tensor(gradient).to(scores)
