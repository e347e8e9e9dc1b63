"""Random forests, and documents near their thresholds, for the tests of the export."""

from dataclasses import replace

import numpy as np

from treerank.forests.forest import CategorySets, Forest
from treerank.imports.growing import GrowingForest

#: Numbers that are hard for some program: not in single precision, tiny, huge, zero of both signs.
HARD = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-40,
    1e-36,
    1e-35,
    1e-6,
    0.1,
    1 / 3,
    1.0,
    1 + 1e-7,
    16777217.0,
]
HUGE = [1e30, 1e300, -1e300]
ENDLESS = [np.inf, -np.inf]


def drawn_forest(
    random,
    *,
    n_trees=5,
    most_splits=12,
    huge=False,
    rule=None,
    zeros=False,
    sum_dtype="float64",
    constant=False,
):
    """Return a forest of four features; the last one has categories if ``rule`` is given.

    Trees are leaves, chains and bushes. Numbers are small enough for single precision, unless
    ``huge``; ``zeros`` are missing; and all numbers are of single precision if sums are.
    """
    single = sum_dtype == "float32"
    pool = np.array(HARD + (HUGE + ENDLESS if huge else []))
    if single:
        with np.errstate(over="ignore"):
            pool = pool.astype(np.float32).astype(np.float64)
    columns = {name: [] for name in ("feature", "threshold", "left", "right", "missing_left")}
    values, roots, of_node, sets = [], [], [], []

    def add(feature):
        for name, column in columns.items():
            column.append(feature if name == "feature" else -1)
        values.append(random.normal())
        of_node.append(-1)
        return len(values) - 1

    for _ in range(n_trees):
        roots.append(add(-1))
        leaves = [roots[-1]]
        is_chain = random.random() < 0.3
        for _ in range(random.integers(most_splits + 1)):
            node = leaves.pop(-1 if is_chain else random.integers(len(leaves)))
            columns["feature"][node] = feature = int(random.integers(4))
            threshold = random.choice(pool) if random.random() < 0.3 else random.normal()
            columns["threshold"][node] = float(np.float32(threshold)) if single else threshold
            if rule is not None and feature == 3:
                columns["threshold"][node] = 0.0
                of_node[node] = len(sets)
                share = random.choice([0.3 if zeros else 0.0, 0.3, 0.3])  # some sets are empty
                sets.append(np.flatnonzero(random.random(40) < share).astype(np.float64))
                sets[-1] = np.array([7.0]) if zeros and not len(sets[-1]) else sets[-1]
            columns["left"][node], columns["right"][node] = add(-1), add(-1)
            columns["missing_left"][node] = random.random() < 0.5
            leaves += [columns["left"][node], columns["right"][node]]
    is_leaf = np.array(columns["feature"]) < 0
    columns["threshold"] = np.where(is_leaf, 0.0, columns["threshold"])
    columns["missing_left"] = ~is_leaf & (np.array(columns["missing_left"]) == 1)
    values = np.where(is_leaf, values, 0.0)
    values = values.astype(np.float32).astype(np.float64) if single else values
    dtypes = {"threshold": np.float64, "missing_left": bool}
    forest = Forest(
        n_features=4,
        roots=np.array(roots, dtype=np.int32),
        values=values[:, None],
        tree_output=np.zeros(n_trees, dtype=np.int32),
        constant=np.array([0.75 if constant else 0.0]),
        missing_up_to=0.0 if zeros else -1.0,
        sum_dtype=sum_dtype,
        **{name: np.array(c, dtype=dtypes.get(name, np.int32)) for name, c in columns.items()},
    )
    if not sets:
        return forest
    starts = np.append(0, np.cumsum([len(codes) for codes in sets])).astype(np.int64)
    categories = CategorySets(np.array(of_node, dtype=np.int32), starts, np.concatenate(sets), rule)
    return replace(forest, categories=categories)


def content_of(conversion):
    """Return the content of the file of a conversion."""
    return b"".join(conversion.pieces())


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
