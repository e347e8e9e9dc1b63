"""Objective function: how an objective enters automatic differentiation.

The head is linear before tau, so torch needs nothing of an objective but its value and its
gradient by the scores: one function with a known derivative, whatever network made the scores.
"""

import torch

from treerank.objectives.dense import dense_gradient, is_dense


class ObjectiveFunction(torch.autograd.Function):
    """An objective of scores, ``ObjectiveFunction.apply(scores, objective, iteration)``.

    Examples
    --------
    >>> from treerank.objectives import make_objective
    >>> scores = torch.zeros(2, requires_grad=True)
    >>> ObjectiveFunction.apply(scores, make_objective([1, 0]), 0).backward()
    >>> scores.grad
    tensor([-0.5000,  0.5000])
    """

    @staticmethod
    def forward(ctx, scores, objective, iteration):
        """Ask the objective for the value, and keep its gradient."""
        given = scores.detach().cpu().double().numpy()
        value, gradient, _ = objective(given, iteration=iteration)
        ctx.save_for_backward(torch.as_tensor(gradient).to(scores))
        return scores.new_tensor(value)

    @staticmethod
    def backward(ctx, grad_output):
        """Hand the gradient on."""
        (gradient,) = ctx.saved_tensors
        return grad_output * gradient, None, None


def score_gradient(scores, objective, iteration):
    """Return the objective's gradient by the scores, without its value, which costs more.

    On the GPU itself where the scores are there and the objective allows.
    """
    if scores.is_cuda and is_dense(objective):
        return dense_gradient(scores.detach(), objective)
    given = scores.detach().cpu().double().numpy()
    gradient, _ = objective.derivatives(given, iteration=iteration)
    return torch.as_tensor(gradient).to(scores)
