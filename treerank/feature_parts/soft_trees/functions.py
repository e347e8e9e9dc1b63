r"""Soft tree functions: what soft trees compute, as functions of tensors.

A split sends a row to the left with the probability S(z), z = <w, x> + b. S is the smooth step of
TEL: with :math:`u = z / \gamma + 1/2` clipped to [0, 1], :math:`S = 3 u^2 - 2 u^3`. It is exactly
0 or 1 outside a band of width gamma, so trees become hard as gamma falls. The output of a tree is
the sum of its leaves, each times the probability that the row arrives there. The outputs of all
trees are summed.

``soft_trees`` computes this in plain torch, for autograd, ``torch.compile`` and ``torch.func``; it
is the reference. ``chunked_soft_trees`` takes the rows in chunks that fit into the cache, keeps
only z for the backward pass, and computes the gradient by its own code: by numba on CPUs, by torch
on any device.

References
----------
H. Hazimeh, N. Ponomareva, P. Mol, Z. Tan, R. Mazumder: The tree ensemble layer: differentiability
meets conditional computation. ICML 2020.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from treerank.feature_parts.soft_trees.kernels import N_GROUPS, tree_derivatives, tree_outputs
from treerank.numerics.threads import in_parts, kernel_threads

#: Width of the soft band, as a number or as a buffer of a layer.
Gamma = float | Tensor
#: Types that the numba kernels compute in.
_KERNEL_TYPES = (torch.float32, torch.float64)


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
    arriving = reach_by_level(smooth_step(z, gamma), leaf.shape[1])[-1]
    return torch.einsum("tkb,tko->bo", arriving, leaf)


def chunked_soft_trees(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    leaf: Tensor,
    gamma: Gamma,
    *,
    chunk_size: int = 256,
    fused: bool | None = None,
) -> Tensor:
    """Return the sum of all trees, like :func:`soft_trees` but several times as fast.

    Parameters
    ----------
    x, weight, bias, leaf, gamma
        Arguments of :func:`soft_trees`.
    chunk_size : int, default=256
        Number of rows computed at a time.
    fused : bool, default=None
        Whether numba kernels compute; ``None`` takes them wherever they work: on CPUs, in single
        or double precision.

    Returns
    -------
    Tensor of shape (n_rows, n_outputs)
        Outputs, with a gradient that cannot be differentiated again.

    Examples
    --------
    >>> x, leaf = torch.tensor([[-9.0], [0.0], [9.0]]), torch.tensor([[[2.0], [4.0]]])
    >>> chunked_soft_trees(x, torch.ones(1, 1, 1), torch.zeros(1, 1), leaf, 1.0)
    tensor([[4.], [3.], [2.]])
    """
    if fused is None:
        fused = x.device.type == "cpu" and x.dtype in _KERNEL_TYPES
    kernels = _FusedKernels if fused else _TorchKernels
    options = chunk_size, kernels, torch.is_grad_enabled()
    return _ChunkedSoftTrees.apply(x, weight, bias, leaf, gamma, *options)


def is_oblivious(n_splits: int, n_leaves: int) -> bool:
    """Tell whether trees have one split per level, not one per node."""
    return n_splits < n_leaves - 1


def reach_by_level(left: Tensor, n_leaves: int) -> list[Tensor]:
    """Return the probabilities that rows arrive at each node: one tensor per level, leaves last.

    Parameters
    ----------
    left : Tensor of shape (n_trees, n_splits, n_rows)
        Probabilities that rows go left.
    n_leaves : int
        Number of leaves of a tree.
    """
    levels = [torch.ones_like(left[:, :1])]
    while levels[-1].shape[1] < n_leaves:
        goes_left = levels[-1] * values_of_level(left, len(levels) - 1, n_leaves)
        levels.append(torch.cat([goes_left, levels[-1] - goes_left], dim=1))
    return levels


def values_of_level(values: Tensor, level: int, n_leaves: int) -> Tensor:
    """Return the part of ``values``, one per split, that belongs to the splits of a level."""
    if is_oblivious(values.shape[1], n_leaves):
        return values[:, level : level + 1]
    return values[:, 2**level - 1 : 2 ** (level + 1) - 1]


class _TorchKernels:
    """Outputs and derivatives of a chunk of rows by torch, on any device."""

    @staticmethod
    def outputs(z: Tensor, leaf: Tensor, gamma: Gamma) -> Tensor:
        """Return the outputs, of shape (n_outputs, n_rows)."""
        arriving = reach_by_level(smooth_step(z, gamma), leaf.shape[1])[-1]
        return leaf.flatten(0, 1).t() @ arriving.flatten(0, 1)

    @staticmethod
    def derivatives(z, leaf, gamma, upstream, dz, bias_sum, leaf_sum):
        """Fill ``dz`` and add to the gradients of biases and leaves."""
        n_leaves = leaf.shape[1]
        u = (z / gamma + 0.5).clamp(0, 1)
        left = u * u * (3 - 2 * u)
        *reach, arriving = reach_by_level(left, n_leaves)
        leaf_sum += (arriving.flatten(0, 1) @ upstream.t()).view_as(leaf)
        value = (leaf.flatten(0, 1) @ upstream).view_as(arriving)
        for level in range(len(reach) - 1, -1, -1):
            left_value, right_value = value.chunk(2, dim=1)
            gain = left_value - right_value
            step = gain * reach[level]
            if is_oblivious(z.shape[1], n_leaves):
                step = step.sum(dim=1, keepdim=True)
            values_of_level(dz, level, n_leaves).copy_(step)
            value = right_value + values_of_level(left, level, n_leaves) * gain
        dz *= 6 / gamma * u * (1 - u)
        bias_sum += dz.sum(dim=2)


class _FusedKernels:
    """Outputs and derivatives of a chunk of rows by numba, on CPUs."""

    @staticmethod
    def outputs(z: Tensor, leaf: Tensor, gamma: Gamma) -> Tensor:
        """Return the outputs, of shape (n_outputs, n_rows)."""
        partial = z.new_empty(min(N_GROUPS, len(leaf)), leaf.shape[2], z.shape[2])
        values, sums = leaf.numpy(), partial.numpy()
        oblivious, sharpness = is_oblivious(z.shape[1], leaf.shape[1]), sharpness_of(gamma, values)
        with threads_of_torch():
            in_parts(tree_outputs, len(sums), z.numpy(), values, oblivious, sharpness, sums)
        return partial.sum(dim=0)

    @staticmethod
    def derivatives(z, leaf, gamma, upstream, dz, bias_sum, leaf_sum):
        """Fill ``dz`` and add to the gradients of biases and leaves."""
        values, upstream = leaf.numpy(), upstream.numpy()
        bias_sum, leaf_sum = bias_sum.numpy(), leaf_sum.numpy()
        oblivious, sharpness = is_oblivious(z.shape[1], leaf.shape[1]), sharpness_of(gamma, values)
        with threads_of_torch():
            trees = z.numpy(), values, oblivious, sharpness
            found = dz.numpy(), bias_sum, leaf_sum
            in_parts(tree_derivatives, len(values), *trees, upstream, *found)


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


def sharpness_of(gamma: Gamma, values: np.ndarray) -> np.floating:
    """Return 1 / gamma in the type of ``values``: with a double, all sums would be in double."""
    return values.dtype.type(1 / float(gamma))


class _ChunkedSoftTrees(torch.autograd.Function):
    """Soft trees with their own gradient, for which only z is kept."""

    @staticmethod
    def forward(ctx, x, weight, bias, leaf, gamma, chunk_size, kernels, keep):
        leaf = leaf.contiguous()
        flat_weight, flat_bias = weight.flatten(0, 1), bias.reshape(-1, 1)
        out = x.new_empty(len(x), leaf.shape[2])
        kept = []
        for a in range(0, len(x), chunk_size):
            z = torch.addmm(flat_bias, flat_weight, x[a : a + chunk_size].t())
            z = z.unflatten(0, bias.shape)
            out[a : a + chunk_size] = kernels.outputs(z, leaf, gamma).t()
            if keep:
                kept.append(z)
        ctx.save_for_backward(x, weight, leaf, *kept)
        ctx.gamma, ctx.chunk_size, ctx.kernels = gamma, chunk_size, kernels
        return out

    @staticmethod
    def backward(ctx, gradient):
        if torch.is_grad_enabled():  # create_graph=True asks for what this code cannot compute
            raise RuntimeError("Second derivatives need backend='reference'; got another one.")
        x, weight, leaf, *kept = ctx.saved_tensors
        upstream = gradient.t()
        flat_weight = weight.flatten(0, 1)
        weight_sum = torch.zeros_like(flat_weight)
        bias_sum, leaf_sum = weight.new_zeros(weight.shape[:2]), torch.zeros_like(leaf)
        dx = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        dz = None
        for z, a in zip(kept, range(0, len(x), ctx.chunk_size), strict=True):
            rows = slice(a, a + ctx.chunk_size)
            if dz is None or dz.shape != z.shape:  # new memory costs more time than the kernel
                dz = torch.empty_like(z)
            of_chunk = upstream[:, rows].contiguous()
            ctx.kernels.derivatives(z, leaf, ctx.gamma, of_chunk, dz, bias_sum, leaf_sum)
            weight_sum.addmm_(dz.flatten(0, 1), x[rows])
            if dx is not None:
                torch.mm(dz.flatten(0, 1).t(), flat_weight, out=dx[rows])
        return dx, weight_sum.view_as(weight), bias_sum, leaf_sum, None, None, None, None
