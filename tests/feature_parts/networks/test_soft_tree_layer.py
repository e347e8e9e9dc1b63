"""A soft tree is what a plain walk over its nodes says it is, however it is computed."""

import io

import numpy as np
import pytest
import torch

from treerank.feature_parts.networks import soft_tree_layer as layers
from treerank.feature_parts.networks.soft_tree_layer import SoftTreeLayer
from treerank.feature_parts.networks.training import one_thread


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(layers, "_CHUNK", 16)
    with one_thread():
        yield


OUTPUTS = [1, 3]


def layer_of(n_outputs=1):
    """A layer whose splits are partly soft and partly hard on the rows of ``some_rows``."""
    layer = SoftTreeLayer(4, n_outputs, n_trees=5, depth=3).double()
    layer.gamma.fill_(0.7)
    generator = torch.Generator().manual_seed(0)
    layer.draw(some_rows(), 0.8, generator)
    with torch.no_grad():
        layer.leaf.normal_(generator=generator)
    return layer


def some_rows(n_rows=50):
    return torch.randn(n_rows, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def walked(layer, x):
    """The outputs of one row, node by node; left has the smaller number at every level."""
    weight, bias, leaf = (p.detach().numpy() for p in (layer.weight, layer.bias, layer.leaf))
    gamma = float(layer.gamma)

    def below(t, level, k):
        if level == 3:
            return leaf[t, k]
        split = 2**level - 1 + k
        u = min(max((weight[t, split] @ x + bias[t, split]) / gamma + 0.5, 0.0), 1.0)
        left = 3 * u**2 - 2 * u**3
        return left * below(t, level + 1, k) + (1 - left) * below(t, level + 1, k + 2**level)

    return sum(below(t, 0, 0) for t in range(len(leaf)))


def by_torch(layer):
    """Return the layer as a function in plain torch."""
    trees = layer.weight, layer.bias, layer.leaf, layer.gamma
    return lambda x: layers.soft_trees(x, *trees)


def gradients(layer, x, upstream, compute=None):
    layer.zero_grad()
    (compute or layer)(x).backward(upstream)
    return [p.grad.clone() for p in layer.parameters()]


@pytest.mark.parametrize("n_outputs", OUTPUTS)
def test_outputs_are_those_of_a_walk_over_the_nodes(n_outputs):
    layer, x = layer_of(n_outputs), some_rows()
    expected = np.array([walked(layer, row) for row in x.numpy()])
    for compute in (layer, by_torch(layer)):
        np.testing.assert_allclose(compute(x).detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_outputs", OUTPUTS)
def test_gradients_are_those_of_autograd_on_the_reference(n_outputs):
    x, upstream = some_rows(), torch.randn(50, n_outputs, dtype=torch.float64)
    layer = layer_of(n_outputs)
    ours = gradients(layer, x, upstream)
    theirs = gradients(layer, x, upstream, by_torch(layer))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-10)


def test_single_precision_is_near_double():
    x, upstream = some_rows(), torch.ones(50, 1, dtype=torch.float64)
    wide = gradients(layer_of(), x, upstream)
    narrow_layer = layer_of().float()
    narrow = gradients(narrow_layer, x.float(), upstream.float())
    for mine, other in zip(narrow, wide, strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine.double(), other, rtol=1e-4, atol=1e-4)


def test_a_second_backward_pass_gives_the_same_gradient():
    layer = layer_of()
    out = layer(some_rows()).sum()
    first = torch.autograd.grad(out, layer.weight, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(out, layer.weight)[0], first)


def test_second_derivatives_are_refused():
    layer = layer_of()
    out = layer(some_rows()).square().sum()
    (slope,) = torch.autograd.grad(out, layer.weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_nothing_is_kept_where_nobody_asks_for_a_gradient():
    with torch.no_grad():
        assert layer_of()(some_rows()).grad_fn is None


def test_a_missing_value_makes_the_row_missing_and_no_other():
    layer, x = layer_of(), some_rows()
    x[3, 1] = torch.nan
    for compute in (layer, by_torch(layer)):
        assert torch.isnan(compute(x)).flatten().nonzero().flatten().tolist() == [3]


def test_there_may_be_no_rows():
    assert layer_of(3)(some_rows(0)).shape == (0, 3)


def test_a_saved_layer_computes_the_same_and_keeps_its_gamma():
    layer, file = layer_of(), io.BytesIO()
    other = SoftTreeLayer(4, 1, n_trees=5, depth=3).double()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(some_rows()), layer(some_rows()))
    assert float(other.gamma) == 0.7


def test_placed_splits_lie_among_the_rows_and_are_as_soft_as_told():
    layer = SoftTreeLayer(4, 1, n_trees=20, depth=3).double()
    layer.gamma.fill_(0.5)
    x = some_rows(400) * torch.tensor([1.0, 100.0, 0.01, 0.0]) + 5
    layer.draw(x, 0.3, torch.Generator().manual_seed(0))
    z = x @ layer.weight.detach().flatten(0, 1).t() + layer.bias.detach().flatten()
    torch.testing.assert_close(z.std(0, correction=0), torch.full((140,), 0.15).double())
    assert ((z > 0).any(0) & (z < 0).any(0)).all()


def test_draws_come_from_the_generator_alone():
    def drawn(seed):
        torch.manual_seed(seed)
        layer = SoftTreeLayer(4, 1, n_trees=5, depth=3)
        layer.draw(some_rows(), 0.5, torch.Generator().manual_seed(7))
        return torch.cat([p.detach().flatten() for p in layer.parameters()])

    assert torch.equal(drawn(0), drawn(1))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("n_outputs", OUTPUTS)
def test_a_gpu_computes_the_same(n_outputs):
    layer, x, upstream = layer_of(n_outputs), some_rows(), torch.ones(50, n_outputs)
    here = gradients(layer, x, upstream.double())
    there = gradients(layer.cuda(), x.cuda(), upstream.double().cuda())
    for mine, other in zip(here, there, strict=True):
        torch.testing.assert_close(mine, other.cpu(), rtol=0, atol=1e-10)
