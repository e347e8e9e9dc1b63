"""Random forests, and documents near their thresholds, for the tests of the export."""

from dataclasses import replace

import numpy as np

from treerank.forests.building import GrowingForest
from treerank.forests.forest import CategorySets

#: Numbers that are hard for some program: not in single precision, tiny, huge, zero of both signs.
HARD = [0.0, -0.0, 5e-324, -5e-324, 1e-40, 1e-36, 1e-35, 1e-6, 0.1, 1 / 3, 1.0, 1 + 1e-7]
HARD += [16777217.0]
HUGE = [1e30, 1e300, -1e300, np.inf, -np.inf]


def drawn_forest(
    random, *, n_trees=5, most_splits=12, huge=False, rule=None, zeros=False, sum_dtype="float64",
    constant=False,
):  # fmt: skip
    """Return a forest of four features; the last one has categories if ``rule`` is given.

    Trees are leaves, chains and bushes. Numbers are small enough for single precision, unless
    ``huge``; ``zeros`` are missing; and all numbers are of single precision if sums are.
    """
    pool = np.array(HARD + HUGE if huge else HARD)
    growing, of_node, sets = GrowingForest(), {}, []
    for _ in range(n_trees):
        leaves = [growing.add_tree(random.normal())]
        is_chain = random.random() < 0.3
        for _ in range(random.integers(most_splits + 1)):
            node = leaves.pop(-1 if is_chain else random.integers(len(leaves)))
            feature = int(random.integers(4))
            threshold = random.choice(pool) if random.random() < 0.3 else random.normal()
            if rule is not None and feature == 3:
                threshold, of_node[node] = 0.0, len(sets)
                share = random.choice([0.3 if zeros else 0.0, 0.3, 0.3])  # some sets are empty
                sets.append(np.flatnonzero(random.random(40) < share).astype(np.float64))
                sets[-1] = np.array([7.0]) if zeros and not len(sets[-1]) else sets[-1]
            children = growing.split(node, feature, threshold, False)
            for child in children:
                growing.values[child] = random.normal()
            growing.missing_left[node] = random.random() < 0.5
            leaves += children
    forest = growing.forest(4, missing_up_to=0.0 if zeros else -1.0, sum_dtype=sum_dtype)
    with np.errstate(over="ignore"):  # numbers as precise as the sums
        numbers = {
            name: getattr(forest, name).astype(sum_dtype).astype(np.float64)
            for name in ("values", "threshold")
        }
    forest = replace(forest, **numbers, constant=np.array([0.75 if constant else 0.0]))
    if not sets:
        return forest
    starts = np.append(0, np.cumsum([len(codes) for codes in sets])).astype(np.int64)
    numbered = np.array([of_node.get(node, -1) for node in range(forest.n_nodes)], dtype=np.int32)
    return replace(forest, categories=CategorySets(numbered, starts, np.concatenate(sets), rule))


def one_leaf(n_features):
    """Return a forest that gives all documents the score 1."""
    growing = GrowingForest()
    growing.add_tree(1.0)
    return growing.forest(n_features)


def drawn_documents(random, forest, n, *, missing=True):
    """Return documents whose values are often thresholds and their neighbors."""
    X = random.normal(size=(n, 4))
    near = forest.threshold[~forest.is_leaf]
    near = near[np.isfinite(near)]
    near = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), [0.0]])
    is_near = random.random((n, 4)) < 0.5
    X[is_near] = random.choice(near, int(is_near.sum()))
    if forest.categories is not None:
        X[:, 3] = random.integers(-1, 45, n)
    if missing:
        X[random.random((n, 4)) < 0.2] = np.nan
    return np.where(np.isinf(X), 0.0, X)
