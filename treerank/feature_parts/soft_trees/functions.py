r"""Soft tree functions: what soft trees compute, as functions of tensors.

A split sends a row to the left with the probability S(z), z = <w, x> + b. S is the smooth step of
TEL: with :math:`u = z / \gamma + 1/2` clipped to [0, 1], :math:`S = 3 u^2 - 2 u^3`. It is exactly
0 or 1 outside a band of width gamma, so trees become hard as gamma falls. The output of a tree is
the sum of its leaves, each times the probability that the row arrives there. The outputs of all
trees are summed.

``soft_trees`` computes this in plain torch, on any device, for autograd, ``torch.compile`` and
``torch.func``; it is the reference. ``fused_soft_trees`` computes it on CPUs by numba kernels. It
takes the rows in chunks that fit into the cache, keeps only z for the backward pass, and computes
the gradient by its own code.

References
----------
H. Hazimeh, N. Ponomareva, P. Mol, Z. Tan, R. Mazumder: The tree ensemble layer: differentiability
meets conditional computation. ICML 2020.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from treerank.feature_parts.soft_trees.kernels import (
    N_GROUPS,
    Trees,
    tree_derivatives,
    tree_outputs,
)
from treerank.numerics.threads import in_parts, kernel_threads

#: Width of the soft band, as a number or as a buffer of a layer.
Gamma = float | Tensor
#: Number of rows that the kernels compute at a time.
_CHUNK = 256


def smooth_step(z: Tensor, gamma: Gamma) -> Tensor:
    """Return S(z): 0 below -gamma/2, 1 above gamma/2, a cubic in between.

    Examples
    --------
    >>> smooth_step(torch.tensor([-1.0, -0.25, 0.0, 1.0]), 1.0)
    tensor([0.0000, 0.1562, 0.5000, 1.0000])
    """
    u = (z / gamma + 0.5).clamp(0, 1)
    return u * u * (3 - 2 * u)


def soft_trees(x: Tensor, weight: Tensor, bias: Tensor, leaf: Tensor, gamma: Gamma) -> Tensor:
    """Return the sum of all trees, in plain torch.

    Parameters
    ----------
    x : Tensor of shape (n_rows, n_features)
        Features.
    weight : Tensor of shape (n_trees, n_splits, n_features)
        Normals of the hyperplanes: one per inner node, or one per level for oblivious trees.
    bias : Tensor of shape (n_trees, n_splits)
        Offsets of the hyperplanes.
    leaf : Tensor of shape (n_trees, n_leaves, n_outputs)
        Values of the leaves.
    gamma : float or Tensor
        Width of the band in which a split is soft.

    Returns
    -------
    Tensor of shape (n_rows, n_outputs)
        Outputs.

    Examples
    --------
    >>> x, leaf = torch.tensor([[-9.0], [0.0], [9.0]]), torch.tensor([[[2.0], [4.0]]])
    >>> soft_trees(x, torch.ones(1, 1, 1), torch.zeros(1, 1), leaf, 1.0)
    tensor([[4.], [3.], [2.]])
    """
    z = (weight.flatten(0, 1) @ x.t()).unflatten(0, bias.shape) + bias[..., None]
    arriving = reach_of_leaves(smooth_step(z, gamma), leaf.shape[1])
    return torch.einsum("tkb,tko->bo", arriving, leaf)


def fused_soft_trees(x: Tensor, weight: Tensor, bias: Tensor, leaf: Tensor, gamma: Gamma) -> Tensor:
    """Return the sum of all trees, like :func:`soft_trees` but several times as fast.

    Tensors are on a CPU, in single or double precision. The gradient cannot be differentiated
    again.

    Examples
    --------
    >>> x, leaf = torch.tensor([[-9.0], [0.0], [9.0]]), torch.tensor([[[2.0], [4.0]]])
    >>> fused_soft_trees(x, torch.ones(1, 1, 1), torch.zeros(1, 1), leaf, 1.0)
    tensor([[4.], [3.], [2.]])
    """
    return _FusedSoftTrees.apply(x, weight, bias, leaf, gamma, torch.is_grad_enabled())


def is_oblivious(n_splits: int, n_leaves: int) -> bool:
    """Tell whether trees have one split per level, not one per node."""
    return n_splits < n_leaves - 1


def reach_of_leaves(left: Tensor, n_leaves: int) -> Tensor:
    """Return the probabilities that rows arrive at each leaf.

    Parameters
    ----------
    left : Tensor of shape (n_trees, n_splits, n_rows)
        Probabilities that rows go left.
    n_leaves : int
        Number of leaves of a tree.
    """
    reach, level = torch.ones_like(left[:, :1]), 0
    oblivious = is_oblivious(left.shape[1], n_leaves)
    while reach.shape[1] < n_leaves:
        splits = slice(level, level + 1) if oblivious else slice(2**level - 1, 2 ** (level + 1) - 1)
        goes_left = reach * left[:, splits]
        reach, level = torch.cat([goes_left, reach - goes_left], dim=1), level + 1
    return reach


def _trees(z: Tensor, leaf: Tensor, gamma: Gamma) -> Trees:
    """Return the input of kernels."""
    values, oblivious = leaf.numpy(), is_oblivious(z.shape[1], leaf.shape[1])
    return Trees(z.numpy(), values, oblivious, values.dtype.type(1 / float(gamma)))


def _outputs(z: Tensor, leaf: Tensor, gamma: Gamma) -> Tensor:
    """Return the outputs of a chunk of rows, of shape (n_outputs, n_rows)."""
    partial = z.new_empty(min(N_GROUPS, len(leaf)), leaf.shape[2], z.shape[2])
    with threads_of_torch():
        in_parts(tree_outputs, len(partial), _trees(z, leaf, gamma), partial.numpy())
    return partial.sum(dim=0)


@contextmanager
def threads_of_torch() -> Iterator[None]:
    """Give kernels as many threads as torch has, and restore torch's number afterwards.

    Torch and numba may share one OpenMP runtime, whose number of threads a kernel changes.
    """
    n_threads = torch.get_num_threads()
    with kernel_threads(n_threads):
        yield
    if torch.get_num_threads() != n_threads:
        torch.set_num_threads(n_threads)


class _FusedSoftTrees(torch.autograd.Function):
    """Soft trees with their own gradient, for which only z is kept."""

    @staticmethod
    def forward(ctx, x, weight, bias, leaf, gamma, keep):
        leaf = leaf.contiguous()
        flat_weight, flat_bias = weight.flatten(0, 1), bias.reshape(-1, 1)
        out = x.new_empty(len(x), leaf.shape[2])
        kept = []
        for a in range(0, len(x), _CHUNK):
            z = torch.addmm(flat_bias, flat_weight, x[a : a + _CHUNK].t())
            z = z.unflatten(0, bias.shape)
            out[a : a + _CHUNK] = _outputs(z, leaf, gamma).t()
            if keep:
                kept.append(z)
        ctx.save_for_backward(x, weight, leaf, *kept)
        ctx.gamma = gamma
        return out

    @staticmethod
    def backward(ctx, gradient):
        if torch.is_grad_enabled():  # create_graph=True asks for what this code cannot compute
            raise RuntimeError("Second derivatives need soft_trees, in plain torch.")
        x, weight, leaf, *kept = ctx.saved_tensors
        upstream = gradient.t()
        flat_weight = weight.flatten(0, 1)
        weight_sum = torch.zeros_like(flat_weight)
        bias_sum, leaf_sum = weight.new_zeros(weight.shape[:2]), torch.zeros_like(leaf)
        dx = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        dz = None
        for z, a in zip(kept, range(0, len(x), _CHUNK), strict=True):
            rows = slice(a, a + _CHUNK)
            if dz is None or dz.shape != z.shape:  # new memory costs more time than the kernel
                dz = torch.empty_like(z)
            of_chunk = upstream[:, rows].contiguous()
            found = dz.numpy(), bias_sum.numpy(), leaf_sum.numpy()
            with threads_of_torch():
                trees = _trees(z, leaf, ctx.gamma)
                in_parts(tree_derivatives, len(leaf), trees, of_chunk.numpy(), found)
            weight_sum.addmm_(dz.flatten(0, 1), x[rows])
            if dx is not None:
                torch.mm(dz.flatten(0, 1).t(), flat_weight, out=dx[rows])
        return dx, weight_sum.view_as(weight), bias_sum, leaf_sum, None, None
