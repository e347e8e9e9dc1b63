"""Following the nodes that a row can reach gives what computing all of them does."""

import pytest

torch = pytest.importorskip("torch")
layers = pytest.importorskip("treerank.feature_parts.soft_trees.layer")
conditional = pytest.importorskip("treerank.feature_parts.soft_trees.conditional")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def layer_of(gamma, *, depth=5, oblivious=False, n_outputs=2, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    layer = layers.SoftTreeLayer(
        3, n_outputs, n_trees=4, depth=depth, oblivious=oblivious, dtype=dtype
    )
    layer.place_splits(some_rows(), spread=1.0, generator=generator)
    layer.leaf.data.normal_(generator=generator)
    layer.set_gamma(gamma)
    return layer


def some_rows(n_rows=150):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n_rows, 3, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("oblivious", [False, True])
@pytest.mark.parametrize("gamma", [1e-6, 0.3, 1.0, 20.0])
def test_outputs_are_those_of_the_layer_whatever_is_hard(gamma, oblivious):
    layer, x = layer_of(gamma, oblivious=oblivious), some_rows()
    ours = conditional.conditional_outputs(layer, x)
    torch.testing.assert_close(ours, layer(x).detach(), rtol=0, atol=1e-12)


def test_single_precision_stays_single():
    layer, x = layer_of(0.3).float(), some_rows().float()
    ours = conditional.conditional_outputs(layer, x)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, layer(x).detach(), rtol=1e-5, atol=1e-5)


def test_a_row_gets_the_same_bits_alone_and_among_others():
    layer, x = layer_of(0.5), some_rows()
    together = conditional.conditional_outputs(layer, x)
    alone = [conditional.conditional_outputs(layer, x[i : i + 1]) for i in range(len(x))]
    assert torch.equal(together, torch.cat(alone))


def test_a_missing_value_makes_the_row_missing_and_no_other():
    layer, x = layer_of(0.5), some_rows()
    x[70, 1] = torch.nan
    missing = torch.isnan(conditional.conditional_outputs(layer, x)).any(dim=1)
    assert missing.nonzero().flatten().tolist() == [70]


def test_no_rows_have_no_outputs():
    assert conditional.conditional_outputs(layer_of(0.5), some_rows()[:0]).shape == (0, 2)


@pytest.mark.parametrize(("gamma", "followed"), [(1e-9, 5.0), (1e9, 31.0)])
def test_hard_trees_are_followed_along_one_path_and_soft_ones_everywhere(gamma, followed):
    assert conditional.splits_followed(layer_of(gamma), some_rows()) == followed


def test_a_soft_root_is_followed_to_both_sides():
    layer = layers.SoftTreeLayer(1, n_trees=1, depth=2, gamma=1.0)
    with torch.no_grad():
        layer.weight[0, :, 0] = torch.tensor([0.0, 0.0, 0.0])
        layer.bias[0] = torch.tensor([0.0, 9.0, -9.0])
        layer.leaf[0, :, 0] = torch.tensor([1.0, 2.0, 4.0, 8.0])
    x = torch.zeros(1, 1)
    # Node 0 goes left to leaf 0, node 1 right to leaf 1 + 2.
    assert conditional.conditional_outputs(layer, x).item() == (1 + 8) / 2
    assert conditional.splits_followed(layer, x) == 3


def test_it_pays_for_deep_hard_trees_only():
    x = some_rows()
    assert conditional.conditional_pays(layer_of(1e-6, depth=9), x)
    assert not conditional.conditional_pays(layer_of(1e-6, depth=5), x)
    assert not conditional.conditional_pays(layer_of(10.0, depth=9), x)
    assert not conditional.conditional_pays(layer_of(1e-6, depth=9, oblivious=True), x)
    assert not conditional.conditional_pays(layer_of(1e-6, depth=9), x[:0])
