"""SoftTreeLayer: a sum of differentiable decision trees, as a layer of any torch network.

A split of a boosted tree compares one feature with a threshold, and never changes once it is
found. A split of these trees is a hyperplane, learned by gradient together with the layers before
and after. What the layer computes is in :mod:`treerank.feature_parts.soft_trees.functions`.
"""

from typing import Any

import torch
from torch import nn

from treerank.checks import check_count, check_number
from treerank.feature_parts.soft_trees.functions import fused_soft_trees, soft_trees

#: Bound of the first weights and leaves, as in TEL.
_BOUND = 0.01


#: Types that the numba kernels compute in.
_FUSED_TYPES = (torch.float32, torch.float64)


class SoftTreeLayer(nn.Module):
    r"""A sum of soft decision trees.

    .. math:: f(x) = \sum_t \sum_k P_t(\text{leaf } k \mid x) \, v_{tk}

    Each split sends x to the left with the probability :math:`S((\langle w, x \rangle + b) /
    \gamma)`, where S is the smooth step: 0 or 1 outside a band of width gamma around the
    hyperplane. Inputs should be of about unit scale: put a ``BatchNorm1d`` in front, or
    standardize.

    Parameters
    ----------
    in_features : int
        Number of columns of the input.
    out_features : int, default=1
        Number of columns of the output: values per leaf.
    n_trees : int, default=64
        Number of trees.
    depth : int, default=5
        Splits on a path; a tree has ``2**depth`` leaves.
    gamma : float, default=1.0
        Width of the band in which a split is soft. It is a buffer: saved with the layer, never
        trained. :meth:`set_gamma` changes it, for instance step by step to harden the trees.
    oblivious : bool, default=False
        Whether a tree has one split per level instead of one per node.
    device : torch.device or str, default=None
        Device of the parameters, as for any layer.
    dtype : torch.dtype, default=None
        Type of the parameters, as for any layer.

    Attributes
    ----------
    weight : Parameter of shape (n_trees, n_splits, in_features)
        Normals of the hyperplanes. Split :math:`2^l - 1 + k` is that of node k of level l, whose
        children are the nodes k (left) and :math:`2^l + k` (right) of the level below; of an
        oblivious tree, split l is that of level l.
    bias : Parameter of shape (n_trees, n_splits)
        Offsets of the hyperplanes.
    leaf : Parameter of shape (n_trees, 2**depth, out_features)
        Values of the leaves, numbered like the nodes of a level.
    gamma : Tensor of shape ()
        Width of the band.

    Shape
    -----
    - Input: ``(*, in_features)``
    - Output: ``(*, out_features)``

    Notes
    -----
    CPUs compute outputs and gradient by numba kernels, which cannot be differentiated again. For
    second derivatives, ``torch.compile`` and ``torch.func``, pass the parameters to
    :func:`~treerank.feature_parts.soft_trees.functions.soft_trees`. If torch's matrix products give
    the same bits for any number of threads, so does the layer. The kernels use at most
    ``torch.get_num_threads()`` threads.

    References
    ----------
    H. Hazimeh, N. Ponomareva, P. Mol, Z. Tan, R. Mazumder: The tree ensemble layer:
    differentiability meets conditional computation. ICML 2020.

    Examples
    --------
    >>> import torch
    >>> layer = SoftTreeLayer(136, n_trees=16, depth=4)
    >>> layer(torch.randn(100, 136)).shape
    torch.Size([100, 1])

    Trees behind a BatchNorm, as one member of a network:

    >>> network = torch.nn.Sequential(torch.nn.BatchNorm1d(136, affine=False), layer)
    >>> network(torch.randn(100, 136)).square().mean().backward()
    >>> layer.leaf.grad.shape
    torch.Size([16, 16, 1])
    """

    gamma: torch.Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        *,
        n_trees: int = 64,
        depth: int = 5,
        gamma: float = 1.0,
        oblivious: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        counts = {"in_features": in_features, "out_features": out_features, "n_trees": n_trees}
        for name, value in (counts | {"depth": depth}).items():
            check_count(name, value)
        self.in_features, self.out_features = in_features, out_features
        self.n_trees, self.depth, self.oblivious = n_trees, depth, oblivious
        n_leaves = 2**depth
        n_splits = depth if oblivious else n_leaves - 1
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(n_trees, n_splits, in_features, **options))
        self.bias = nn.Parameter(torch.empty(n_trees, n_splits, **options))
        self.leaf = nn.Parameter(torch.empty(n_trees, n_leaves, out_features, **options))
        self.register_buffer("gamma", torch.ones((), **options))
        self.set_gamma(gamma)
        self.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return f(x)."""
        if x.shape[-1] != self.in_features:
            raise ValueError(
                f"x must have {self.in_features} features in its last dimension; "
                f"got shape {tuple(x.shape)}."
            )
        rows = x.reshape(-1, self.in_features)
        trees = self.weight, self.bias, self.leaf, self.gamma
        is_fused = x.device.type == "cpu" and x.dtype in _FUSED_TYPES
        out = (fused_soft_trees if is_fused else soft_trees)(rows, *trees)
        return out.reshape(*x.shape[:-1], self.out_features)

    def set_gamma(self, gamma: float) -> None:
        """Set the width of the band in which a split is soft."""
        check_number("gamma", gamma, above=0)
        self.gamma.fill_(gamma)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw weights and leaves between -0.01 and 0.01, as TEL does, and set biases to 0."""
        nn.init.uniform_(self.weight, -_BOUND, _BOUND, generator=generator)
        nn.init.zeros_(self.bias)
        nn.init.uniform_(self.leaf, -_BOUND, _BOUND, generator=generator)

    @torch.no_grad()
    def place_splits(
        self, x: torch.Tensor, *, spread: float = 0.5, generator: torch.Generator | None = None
    ) -> None:
        """Draw all splits again, such that each lies among the given rows.

        A hyperplane of random direction goes through the middle of two random rows. Its distances
        from the rows have the standard deviation ``spread`` times gamma. So every split separates
        some rows, and most rows lie where its gradient is not zero.

        Parameters
        ----------
        x : Tensor of shape (n_rows, in_features)
            Typical rows; a few hundred are enough.
        spread : float, default=0.5
            Standard deviation of the distances, in units of gamma.
        generator : torch.Generator, default=None
            Source of random numbers; None is torch's global generator.
        """
        if len(x) == 0:
            raise ValueError(f"x must have at least one row; got shape {tuple(x.shape)}.")
        x = x.to(self.weight)
        nn.init.normal_(self.weight, generator=generator)
        z = x @ self.weight.flatten(0, 1).t()
        scale = spread * self.gamma / z.std(dim=0, correction=0).clamp_min(1e-6)
        rows = torch.randint(len(x), (2, z.shape[1]), generator=generator, device=x.device)
        middle = z.gather(0, rows).mean(dim=0)
        self.weight.mul_(scale.view(*self.bias.shape, 1))
        self.bias.copy_((-middle * scale).view_as(self.bias))

    def extra_repr(self) -> str:
        """Return the parameters as ``print`` shows them."""
        return (
            f"{self.in_features}, {self.out_features}, n_trees={self.n_trees}, "
            f"depth={self.depth}, oblivious={self.oblivious}, gamma={float(self.gamma):g}"
        )
