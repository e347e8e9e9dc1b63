"""How long does it take to write a model in each format, and in what memory?

1,000 trees of 255 leaves. Memory is that of Python and NumPy.
"""

import sys
import tracemalloc

import numpy as np
from timing import time_in_turn

from treerank.exports.conversion import converted
from treerank.exports.formats import FORMATS
from treerank.feature_parts.components import Components
from treerank.forests.forest import Forest


def balanced_forest(n_trees, n_leaves, n_features=136):
    """Return trees where node i has the children 2i + 1 and 2i + 2."""
    random = np.random.default_rng(0)
    n_nodes = 2 * n_leaves - 1
    nodes = np.arange(n_nodes)
    is_leaf = nodes >= n_leaves - 1
    starts = np.arange(n_trees)[:, None] * n_nodes
    size = (n_trees, n_nodes)

    def tiled(values, dtype):
        return np.broadcast_to(values, size).ravel().astype(dtype)

    thresholds = np.float32(random.normal(size=size)).astype(np.float64)
    return Forest(
        n_features=n_features,
        roots=starts[:, 0].astype(np.int32),
        feature=tiled(np.where(is_leaf, -1, random.integers(n_features, size=size)), np.int32),
        threshold=tiled(np.where(is_leaf, 0.0, thresholds), np.float64),
        left=tiled(np.where(is_leaf, -1, starts + 2 * nodes + 1), np.int32),
        right=tiled(np.where(is_leaf, -1, starts + 2 * nodes + 2), np.int32),
        missing_left=tiled(~is_leaf & (random.random(size) < 0.5), bool),
        values=tiled(np.where(is_leaf, random.normal(size=size), 0.0), np.float64)[:, None],
        tree_output=np.zeros(n_trees, dtype=np.int32),
        constant=np.zeros(1),
    )


def peak_memory(work):
    """Return the most memory that is allocated at a time."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main(n_trees=1000, n_leaves=255):
    forest = balanced_forest(n_trees, n_leaves)
    names = [f"f{i}" for i in range(forest.n_features)]

    def write(name):
        """Return the size of the file."""
        return len(converted(name, Components(forest), names).content())

    for name in FORMATS:
        try:
            size, memory = write(name), peak_memory(lambda name=name: write(name))
        except ImportError as error:
            print(f"{name:20} {error}")
            continue
        wall, cpu = time_in_turn({name: lambda name=name: write(name)}, 1)[name]
        print(
            f"{name:20} {wall:6.0f} ms, {cpu:6.0f} ms CPU, {size / 2**20:5.1f} MiB, "
            f"memory of {memory / size:.2f} files",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
