"""How long does a layer of soft trees take, forward and backward, against an MLP and a plain loop?

Bars: at most 3.5 times as long as an MLP of 256 and 128 hidden units; at least 25 times as fast as
a loop over trees and nodes.
"""

import argparse

import numba
import torch
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank.feature_parts.soft_trees.functions import smooth_step
from treerank.feature_parts.soft_trees.layer import SoftTreeLayer


class NodeLoop(torch.nn.Module):
    """The same trees, one node after the other, as autograd takes them."""

    def __init__(self, layer):
        super().__init__()
        self.weight, self.bias = torch.nn.ParameterList(), torch.nn.ParameterList()
        for tree in range(layer.n_trees):
            self.weight.append(layer.weight[tree].detach().clone())
            self.bias.append(layer.bias[tree].detach().clone())
        self.leaf, self.depth = torch.nn.Parameter(layer.leaf.detach().clone()), layer.depth

    def forward(self, x):
        """Return the sum of the trees."""
        total = 0
        for weight, bias, leaf in zip(self.weight, self.bias, self.leaf, strict=True):
            reach = [torch.ones(len(x))]
            for level in range(self.depth):
                left, right = [], []
                for k, here in enumerate(reach):
                    split = 2**level - 1 + k
                    share = smooth_step(x @ weight[split] + bias[split], 1.0)
                    left.append(here * share)
                    right.append(here * (1 - share))
                reach = left + right
            for here, value in zip(reach, leaf, strict=True):
                total = total + here[:, None] * value
        return total


def step(network, x):
    """Return a function that goes forward and backward once."""

    def forward_and_backward():
        network.zero_grad(set_to_none=True)
        network(x).mean().backward()

    return forward_and_backward


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=64)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    numba.set_num_threads(arguments.threads)
    features, x = arguments.features, torch.randn(arguments.rows, arguments.features)
    shape = {"n_trees": arguments.trees, "depth": arguments.depth}
    layers = {
        "soft trees": SoftTreeLayer(features, **shape),
        "soft trees, torch": SoftTreeLayer(features, **shape, backend="torch"),
        "soft trees, reference": SoftTreeLayer(features, **shape, backend="reference"),
        "oblivious soft trees": SoftTreeLayer(features, **shape, oblivious=True),
    }
    for layer in layers.values():
        layer.place_splits(x)
    sizes = [torch.nn.Linear(features, 256), torch.nn.Linear(256, 128), torch.nn.Linear(128, 1)]
    mlp = torch.nn.Sequential(sizes[0], torch.nn.ReLU(), sizes[1], torch.nn.ReLU(), sizes[2])
    loop = NodeLoop(layers["soft trees"])
    torch.testing.assert_close(loop(x), layers["soft trees"](x), rtol=1e-3, atol=1e-4)
    networks = {"MLP": mlp, **layers, "loop over nodes": loop}
    say_versions("torch", "numba")
    steps = {name: step(network, x) for name, network in networks.items()}
    times = time_in_turn(steps, arguments.repetitions)
    say_times(times)
    for name in layers:
        wall, cpu = times[name] / times["MLP"]
        print(f"{name} against the MLP: {wall:.2f} of its wall, {cpu:.2f} of its CPU time")
    print("bar for soft trees: at most 3.5")
    say_ratio("against the loop", times, "soft trees", "loop over nodes", ">= 25")


if __name__ == "__main__":
    main()
