r"""Soft trees: what trees whose splits are hyperplanes compute, as a layer of torch.

A split sends a row to the left with the probability S(z), z = <w, x> + b. S is the smooth step of
TEL: with :math:`u = z / \gamma + 1/2` clipped to [0, 1], :math:`S = 3 u^2 - 2 u^3`. It is exactly
0 or 1 outside a band of width gamma. The output of a tree is
the sum of its leaves, each times the probability that the row arrives there. The outputs of all
trees are summed.

``soft_trees`` computes this in plain torch, on any device; it is the reference. On a CPU, numba
kernels compute it. They take the rows in chunks that fit into the cache, keep only z for the
backward pass, and compute the gradient by their own code.

References
----------
H. Hazimeh, N. Ponomareva, P. Mol, Z. Tan, R. Mazumder: The tree ensemble layer: differentiability
meets conditional computation. ICML 2020.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from treerank.feature_parts.network_component import Layer, SoftSplits
from treerank.feature_parts.networks.layers import array_of
from treerank.feature_parts.networks.soft_tree_kernels import (
    N_GROUPS,
    Trees,
    tree_derivatives,
    tree_outputs,
)

#: Number of rows that the kernels compute at a time.
_CHUNK = 256
#: Bound of the first leaves, as in TEL.
_BOUND = 0.01


class SoftTreeLayer(nn.Module):
    r"""A sum of soft decision trees, the first layer of a network: its inputs get no gradient.

    .. math:: f(x) = \sum_t \sum_k P_t(\text{leaf } k \mid x) \, v_{tk}

    Parameters
    ----------
    n_features, n_outputs : int
        Number of columns of the input, and of values per leaf.
    n_trees : int
        Number of trees.
    depth : int
        Splits on a path; a tree has ``2**depth`` leaves.

    Attributes
    ----------
    weight : Parameter of shape (n_trees, n_splits, n_features)
        Normals of the hyperplanes. Split :math:`2^l - 1 + k` belongs to node k of level l, whose
        children are the nodes k (left) and :math:`2^l + k` (right) of the level below.
    bias : Parameter of shape (n_trees, n_splits)
        Offsets of the hyperplanes.
    leaf : Parameter of shape (n_trees, 2**depth, n_outputs)
        Values of the leaves, numbered like the nodes of a level.
    gamma : Tensor of shape ()
        Width of the band in which a split is soft: saved with the layer, never trained.

    Examples
    --------
    >>> layer = SoftTreeLayer(136, 1, n_trees=16, depth=4)
    >>> layer.draw(torch.randn(500, 136), 0.5, torch.Generator())
    >>> layer(torch.randn(100, 136)).shape
    torch.Size([100, 1])
    """

    gamma: Tensor

    def __init__(self, n_features: int, n_outputs: int, *, n_trees: int, depth: int):
        super().__init__()
        n_leaves, n_splits = 2**depth, 2**depth - 1
        self.weight = nn.Parameter(torch.empty(n_trees, n_splits, n_features))
        self.bias = nn.Parameter(torch.empty(n_trees, n_splits))
        self.leaf = nn.Parameter(torch.empty(n_trees, n_leaves, n_outputs))
        self.register_buffer("gamma", torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return f(x), of shape (n_rows, n_outputs)."""
        trees = self.weight, self.bias, self.leaf, self.gamma
        if x.device.type != "cpu":
            return soft_trees(x, *trees)
        outputs: Tensor = _ByKernels.apply(x, *trees, torch.is_grad_enabled())
        return outputs

    def neutral_layers(self) -> list[Layer]:
        """Return the trees as a layer of arrays, without torch."""
        weight, bias, leaf = map(array_of, (self.weight, self.bias, self.leaf))
        return [SoftSplits(weight, bias, leaf, float(self.gamma))]

    @torch.no_grad()
    def draw(self, x: Tensor, spread: float, generator: torch.Generator) -> None:
        """Draw small leaves, and all splits such that each lies among the given rows.

        A hyperplane of random direction goes through the middle of two random rows. Its distances
        from the rows have the standard deviation ``spread`` times gamma. So every split separates
        some rows, and most rows lie where its gradient is not zero.
        """
        for tensor in (self.weight, self.leaf):  # weights, too, as earlier versions drew them first
            nn.init.uniform_(tensor, -_BOUND, _BOUND, generator=generator)
        nn.init.normal_(self.weight, generator=generator)
        x = x.to(self.weight)
        z = x @ self.weight.flatten(0, 1).t()
        scale = spread * self.gamma / z.std(dim=0, correction=0).clamp_min(1e-6)
        rows = torch.randint(len(x), (2, z.shape[1]), generator=generator, device=x.device)
        middle = z.gather(0, rows).mean(dim=0)
        self.weight.mul_(scale.view(*self.bias.shape, 1))
        self.bias.copy_((-middle * scale).view_as(self.bias))


def soft_trees(x: Tensor, weight: Tensor, bias: Tensor, leaf: Tensor, gamma: Tensor) -> Tensor:
    """Return the sum of all trees, in plain torch; with the parameters of the layer as arguments.

    Examples
    --------
    >>> x, leaf = torch.tensor([[-9.0], [0.0], [9.0]]), torch.tensor([[[2.0], [4.0]]])
    >>> soft_trees(x, torch.ones(1, 1, 1), torch.zeros(1, 1), leaf, torch.tensor(1.0))
    tensor([[4.], [3.], [2.]])
    """
    z = (weight.flatten(0, 1) @ x.t()).unflatten(0, bias.shape) + bias[..., None]
    u = (z / gamma + 0.5).clamp(0, 1)
    left, reach = u * u * (3 - 2 * u), torch.ones_like(z[:, :1])
    while reach.shape[1] < leaf.shape[1]:
        n_nodes = reach.shape[1]
        goes_left = reach * left[:, n_nodes - 1 : 2 * n_nodes - 1]
        reach = torch.cat([goes_left, reach - goes_left], dim=1)
    return torch.einsum("tkb,tko->bo", reach, leaf)


class _ByKernels(torch.autograd.Function):
    """Soft trees by numba kernels, with a gradient of their own; only z is kept for it."""

    @staticmethod
    def forward(ctx, x, weight, bias, leaf, gamma, keep):
        leaf = leaf.contiguous()
        sharpness = leaf.numpy().dtype.type(1 / float(gamma))
        out = x.new_empty(len(x), leaf.shape[2])
        kept = []
        for a in range(0, len(x), _CHUNK):
            rows = x[a : a + _CHUNK]
            z = torch.addmm(bias.reshape(-1, 1), weight.flatten(0, 1), rows.t())
            z = z.unflatten(0, bias.shape)
            trees = Trees(z.numpy(), leaf.numpy(), sharpness)
            partial = z.new_empty(min(N_GROUPS, len(leaf)), leaf.shape[2], len(rows))
            tree_outputs(trees, partial.numpy())
            out[a : a + _CHUNK] = partial.sum(dim=0).t()
            if keep:
                kept.append(trees)
        ctx.save_for_backward(x, weight, bias, leaf)
        ctx.kept = kept
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, weight, bias, leaf = ctx.saved_tensors
        weight_sum = torch.zeros_like(weight.flatten(0, 1))
        bias_sum, leaf_sum = torch.zeros_like(bias), torch.zeros_like(leaf)
        dz = x.new_empty(0)
        for trees, a in zip(ctx.kept, range(0, len(x), _CHUNK), strict=True):
            upstream = gradient[a : a + _CHUNK].t().contiguous()
            if dz.shape != trees.z.shape:  # new memory costs more time than the kernel
                dz = x.new_empty(trees.z.shape)
            results = dz.numpy(), bias_sum.numpy(), leaf_sum.numpy()
            tree_derivatives(trees, upstream.numpy(), results)
            weight_sum.addmm_(dz.flatten(0, 1), x[a : a + _CHUNK])
        return None, weight_sum.view_as(weight), bias_sum, leaf_sum, None, None
