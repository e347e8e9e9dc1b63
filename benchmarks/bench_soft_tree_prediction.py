"""How much faster do trained deep soft trees score along reachable nodes?

The trees learn the utility of synthetic web searches from pairs, with a falling gamma. Bar: at
depth 8, at least 5 times as fast as the dense layer.
"""

import argparse

import numba
import torch
from timing import say_ratio, say_times, say_versions, time_in_turn

from treerank.datasets.web_search import make_web_search
from treerank.feature_parts.soft_trees.conditional import (
    conditional_outputs,
    splits_followed,
)
from treerank.feature_parts.soft_trees.part import SoftTrees
from treerank.objectives import make_objective


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--trees", type=int, default=64)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--final-gamma", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    X, y, qid = make_web_search(arguments.queries, documents_per_query=60, random_state=0)
    part = SoftTrees(
        arguments.trees,
        depth=arguments.depth,
        n_epochs=arguments.epochs,
        gamma=1.0,
        spread=0.5,
        final_gamma=arguments.final_gamma,
        random_state=0,
    ).fit(X, make_objective(y, qid))
    print(f"chosen by itself: {part.conditional_}")
    say_versions("torch", "numba")
    torch.set_num_threads(arguments.threads)
    numba.set_num_threads(arguments.threads)
    x = torch.from_numpy((X - X.mean(axis=0)) / X.std(axis=0).clip(1e-9))[:2048]
    for dtype in (torch.float32, torch.float64):
        layer, rows = part.network_.layer.to(dtype), x.to(dtype)
        followed, n_splits = splits_followed(layer, rows), layer.weight.shape[1]
        with torch.inference_mode():
            apart = (conditional_outputs(layer, rows) - layer(rows)).abs().max()
            ways = {
                "dense": lambda layer=layer, rows=rows: layer(rows),
                "conditional": lambda layer=layer, rows=rows: conditional_outputs(layer, rows),
            }
            times = time_in_turn(ways, arguments.repetitions)
        print(f"{dtype}: {followed:.1f} of {n_splits} splits followed; at most {apart:.1e} apart")
        say_times(times)
        say_ratio("conditional against dense", times, "conditional", "dense", ">= 5")


if __name__ == "__main__":
    main()
