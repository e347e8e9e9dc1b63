"""A soft tree is what a plain walk over its nodes says it is, however it is computed."""

import io

import numba as nb
import numpy as np
import pytest
import torch

from treerank.feature_parts.soft_trees import functions
from treerank.feature_parts.soft_trees.kernels import Trees, tree_derivatives, tree_outputs
from treerank.feature_parts.soft_trees.layer import SoftTreeLayer
from treerank.numerics.threads import in_parts


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr(functions, "_CHUNK", 16)
    before = torch.get_num_threads(), nb.get_num_threads()
    torch.set_num_threads(1)
    yield
    nb.set_num_threads(before[1])
    torch.set_num_threads(before[0])


SHAPES = [(1, False), (3, False), (1, True), (3, True)]


def layer_of(n_outputs=1, oblivious=False, **params):
    """A layer whose splits are partly soft and partly hard on the rows of ``some_rows``."""
    params = {"n_trees": 5, "depth": 3, "gamma": 0.7} | params
    layer = SoftTreeLayer(4, n_outputs, oblivious=oblivious, dtype=torch.float64, **params)
    generator = torch.Generator().manual_seed(0)
    layer.place_splits(some_rows(), spread=0.8, generator=generator)
    with torch.no_grad():
        layer.leaf.normal_(generator=generator)
    return layer


def some_rows(n_rows=50):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n_rows, 4, generator=generator, dtype=torch.float64)


def walked(layer, x):
    """The outputs of one row, node by node; left has the smaller number at every level."""
    weight, bias, leaf = (p.detach().numpy() for p in (layer.weight, layer.bias, layer.leaf))
    gamma = float(layer.gamma)

    def below(t, level, k):
        if level == layer.depth:
            return leaf[t, k]
        split = level if layer.oblivious else 2**level - 1 + k
        u = min(max((weight[t, split] @ x + bias[t, split]) / gamma + 0.5, 0.0), 1.0)
        left = 3 * u**2 - 2 * u**3
        return left * below(t, level + 1, k) + (1 - left) * below(t, level + 1, k + 2**level)

    return sum(below(t, 0, 0) for t in range(layer.n_trees))


def by_torch(layer):
    """Return the layer as a function in plain torch."""
    trees = layer.weight, layer.bias, layer.leaf, layer.gamma
    return lambda x: functions.soft_trees(x, *trees)


def gradients(layer, x, upstream, compute=None):
    x = x.clone().requires_grad_()
    layer.zero_grad()
    (compute or layer)(x).backward(upstream)
    return [x.grad, *(p.grad.clone() for p in layer.parameters())]


@pytest.mark.parametrize(("n_outputs", "oblivious"), SHAPES)
def test_outputs_are_those_of_a_walk_over_the_nodes(n_outputs, oblivious):
    layer, x = layer_of(n_outputs, oblivious), some_rows()
    expected = np.array([walked(layer, row) for row in x.numpy()])
    for compute in (layer, by_torch(layer)):
        np.testing.assert_allclose(compute(x).detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_outputs", "oblivious"), SHAPES)
def test_gradients_are_those_of_autograd_on_the_reference(n_outputs, oblivious):
    x, upstream = some_rows(), torch.randn(50, n_outputs, dtype=torch.float64)
    layer = layer_of(n_outputs, oblivious)
    theirs = gradients(layer, x, upstream, by_torch(layer))
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-4)):
        ours = gradients(layer.to(dtype), x.to(dtype), upstream.to(dtype))
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.dtype == dtype
            torch.testing.assert_close(mine.double(), other, rtol=tolerance, atol=tolerance)


def test_a_second_pass_gives_the_same_gradient_and_second_derivatives_need_plain_torch():
    def curvature(compute):
        x = some_rows().requires_grad_()
        out = compute(x).sum()
        (slope,) = torch.autograd.grad(out, x, create_graph=True)
        assert torch.equal(torch.autograd.grad(out, x, retain_graph=True)[0], slope)
        slope.sum().backward()
        return x.grad

    assert torch.isfinite(curvature(by_torch(layer_of()))).all()
    with pytest.raises(RuntimeError, match="Second derivatives need soft_trees"):
        curvature(layer_of())


@pytest.mark.parametrize("oblivious", [False, True])
def test_kernels_give_the_same_bits_for_any_number_of_threads(oblivious):
    layer, x = layer_of(2, oblivious, n_trees=40), some_rows(300)
    leaf, n_splits = layer.leaf.detach().numpy(), layer.weight.shape[1]
    z = (layer.weight.detach() @ x.t() + layer.bias.detach()[..., None]).numpy()
    trees, upstream = Trees(z, leaf, oblivious, 1.4), np.random.default_rng(0).normal(size=(2, 300))
    results = []
    for n_threads in (1, nb.get_num_threads()):
        nb.set_num_threads(n_threads)
        partial, dz = np.empty((16, 2, 300)), np.empty_like(z)
        sums = np.zeros((40, n_splits)), np.zeros_like(leaf)
        in_parts(tree_outputs, 16, trees, partial)
        in_parts(tree_derivatives, 40, trees, upstream, (dz, *sums))
        results.append([partial, dz, *sums])
    for one, many in zip(*results, strict=True):
        np.testing.assert_array_equal(one, many)


def test_kernels_leave_torch_as_many_threads_as_it_had():
    torch.set_num_threads(2)
    nb.set_num_threads(1)
    layer_of()(some_rows()).sum().backward()
    assert torch.get_num_threads() == 2


def test_the_gradient_of_the_inputs_is_not_computed_where_nobody_asks_for_it():
    layer, x = layer_of(), some_rows()
    layer(x).sum().backward()
    assert x.grad is None
    with torch.no_grad():
        assert layer(x).grad_fn is None


def test_a_missing_value_makes_the_row_missing_and_no_other():
    layer, x = layer_of(), some_rows()
    x[3, 1] = torch.nan
    for compute in (layer, by_torch(layer)):
        assert torch.isnan(compute(x)).flatten().nonzero().flatten().tolist() == [3]


def test_leading_dimensions_stay_and_may_be_empty():
    layer, x = layer_of(3), some_rows(12)
    torch.testing.assert_close(layer(x.view(3, 4, 4)), layer(x).view(3, 4, 3))
    assert (layer(x[0]).shape, layer(x[:0]).shape) == ((3,), (0, 3))


def test_a_saved_layer_computes_the_same_and_keeps_its_gamma():
    layer, other, file = layer_of(), SoftTreeLayer(4, n_trees=5, depth=3).double(), io.BytesIO()
    layer.set_gamma(0.3)
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(some_rows()), layer(some_rows()))
    assert float(other.gamma) == 0.3


def test_placed_splits_lie_among_the_rows_and_are_as_soft_as_told():
    layer = SoftTreeLayer(4, n_trees=20, depth=3, gamma=0.5, dtype=torch.float64)
    x = some_rows(400) * torch.tensor([1.0, 100.0, 0.01, 0.0]) + 5
    layer.place_splits(x, spread=0.3, generator=torch.Generator().manual_seed(0))
    z = x @ layer.weight.detach().flatten(0, 1).t() + layer.bias.detach().flatten()
    torch.testing.assert_close(z.std(0, correction=0), torch.full((140,), 0.15).double())
    assert ((z > 0).any(0) & (z < 0).any(0)).all()


def test_draws_come_from_the_generator_alone():
    def drawn(seed):
        torch.manual_seed(seed)
        layer, generator = SoftTreeLayer(4), torch.Generator().manual_seed(7)
        layer.reset_parameters(generator)
        fresh = [p.detach().flatten().clone() for p in layer.parameters()]
        layer.place_splits(some_rows().float(), generator=generator)
        return torch.cat([*fresh, *(p.detach().flatten() for p in layer.parameters())])

    assert torch.equal(drawn(0), drawn(1))


def test_what_makes_no_layer_or_no_place_for_splits_is_refused():
    for name, value in (("depth", 0), ("n_trees", 1.5), ("gamma", 0.0), ("gamma", np.nan)):
        with pytest.raises(ValueError, match=f"{name} must be a .*; got {value}"):
            SoftTreeLayer(4, **{name: value})
    with pytest.raises(ValueError, match=r"x must have 4 features .* got shape \(2, 3\)"):
        layer_of()(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="x must have at least one row"):
        layer_of().place_splits(torch.zeros(0, 4))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("n_outputs", "oblivious"), SHAPES)
def test_a_gpu_computes_the_same(n_outputs, oblivious):
    layer, x, upstream = layer_of(n_outputs, oblivious), some_rows(), torch.ones(50, n_outputs)
    here = gradients(layer, x, upstream.double())
    there = gradients(layer.cuda(), x.cuda(), upstream.double().cuda())
    for mine, other in zip(here, there, strict=True):
        torch.testing.assert_close(mine, other.cpu(), rtol=0, atol=1e-10)
