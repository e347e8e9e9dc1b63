"""Trees are those that plain Python grows by looking at every split of every leaf."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treerank.feature_parts.histogram import grower, leaves, speculation
from treerank.feature_parts.histogram.binning import WIDTH, bin_rows, by_column, find_bins
from treerank.feature_parts.histogram.grower import grow
from treerank.feature_parts.histogram.histogram import STRIDE, fill, size_of_batch
from treerank.feature_parts.histogram.leaves import add_leaves, leaf_sums, stored_sums
from treerank.feature_parts.histogram.packing import (
    keeps_all_bits,
    layout_of,
    magnitudes,
    pack,
    unpack,
)
from treerank.feature_parts.histogram.partition import join_parts, sort_part
from treerank.feature_parts.histogram.splitter import MEMORY, SPLIT, TreeRules, cut_gain, may_gain
from treerank.feature_parts.histogram.tree import NODE, Data, make_histograms
from treerank.feature_parts.rows import as_rows
from treerank.feature_parts.trees.fixed_point import extremes, rounded
from treerank.numerics.compiling import kernel_for
from treerank.numerics.threads import kernel_threads

# Compiled as in the kernels that call them.
unpack, fill = map(kernel_for(error_model="numpy"), (unpack, fill))
sort_part, join_parts = map(kernel_for(error_model="numpy"), (sort_part, join_parts))
RULES = dict.fromkeys(("reg_alpha", "reg_lambda", "min_split_gain", "cat_smooth", "cat_l2"), 0.0)
RULES |= {"min_child_samples": 5, "min_child_weight": 1e-3, "is_monotone": False}
RNG = np.random.default_rng(0)


def random_case(n=300, n_features=10, missing=0.1, seed=0):
    """Features of few values, derivatives in steps of 2^-10 so that float sums are exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(n, n_features)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, WIDTH:][rng.random((n, n_features - WIDTH)) < 0.9] = 0  # small leaves close this block
    gradient = np.round(rng.normal(size=n) * 2**10) / 2**10
    return X, gradient, np.round(rng.uniform(0.1, 1, size=n) * 2**10) / 2**10


def pack_rows(gradient, hessian, precision, key=(0, 0)):
    layout = layout_of(*magnitudes(gradient, hessian), precision)
    return pack(gradient, hessian, layout, key), layout


def grown(
    X,
    gradient,
    hessian,
    precision="float32",
    shape=(8, -1, False),
    rows=None,
    total=None,
    **rules,
):
    rows_of_X = as_rows(X)
    categorical = rules.pop("categorical", ())
    bins = find_bins(rows_of_X, categorical=categorical)
    binned = bin_rows(rows_of_X, bins)
    packed, layout = pack_rows(gradient, hessian, precision)
    rules = TreeRules(*shape, **(RULES | rules))
    has_workers = total is not None
    n_spare = speculation.n_spare(rules, nb.get_num_threads(), has_workers=has_workers)
    histograms = make_histograms(binned, layout.n_integers, rules, n_spare=n_spare)
    rows = np.arange(len(X), dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    groups = bins.columns["feature"][None] >= 0
    data = Data(bins.columns, bins.zeros, groups, binned, by_column(binned), histograms)
    nodes, _ = grow(data, packed, layout, rules, rows, total)
    return nodes, rows, bins


def on_threads(n_threads, *data, **settings):
    with kernel_threads(n_threads):
        return grown(*data, **settings)


def assert_same_tree(nodes, others, rows=None, other_rows=None):
    """Compare nodes, and the rows of leaves, which may have been split in vain.

    Histograms are numbered in the order of splits.
    """
    for name in set(nodes.dtype.names) - {"middle", "slot"}:
        np.testing.assert_array_equal(nodes[name], others[name])
    if rows is not None:
        for leaf in nodes[nodes["column"] < 0]:
            at = slice(leaf["begin"], leaf["end"])
            np.testing.assert_array_equal(np.sort(rows[at]), np.sort(other_rows[at]))


def splits_of(nodes, bins):
    """(feature, last bin left) of each node that is split, root first."""
    split = nodes[nodes["column"] >= 0]
    return [(int(bins.columns["feature"][n["column"]]), int(n["bin"])) for n in split]


class PlainTree:
    """The grower in plain Python: sums by masks, every cut of every feature, both ways."""

    def __init__(self, X, gradient, hessian, num_leaves, max_depth, level_by_level, **rules):
        self.g, self.h, self.rules = gradient, hessian, RULES | rules
        self.codes = [np.unique(x[~np.isnan(x)], return_inverse=True) for x in X.T]
        self.X, self.max_depth = X, max_depth
        leaves = [(np.arange(len(X)), 0, self.best(np.arange(len(X)), 0))]
        self.splits = []
        while len(leaves) < num_leaves:
            open_ = [i for i, leaf in enumerate(leaves) if leaf[2] is not None]
            if not open_:
                break
            level = (lambda i: leaves[i][1]) if level_by_level else (lambda i: 0)
            i = min(open_, key=lambda i: (level(i), -leaves[i][2][0]))
            rows, depth, (_, feature, b, left) = leaves.pop(i)
            self.splits.append((feature, b))
            for side in (rows[left], rows[~left]):
                leaves.append((side, depth + 1, self.best(side, depth + 1)))
        self.leaves = [frozenset(rows.tolist()) for rows, _, _ in leaves]

    def worth(self, rows):
        g = max(abs(self.g[rows].sum()) - self.rules["reg_alpha"], 0)
        return g**2 / (self.h[rows].sum() + self.rules["reg_lambda"])

    def allowed(self, rows):
        enough = len(rows) >= self.rules["min_child_samples"]
        return enough and self.h[rows].sum() >= self.rules["min_child_weight"]

    def best(self, rows, depth):
        best = None
        if 0 < self.max_depth <= depth:
            return None
        for feature, (values, _) in enumerate(self.codes):
            x = self.X[rows, feature]
            missing = np.isnan(x)
            for missing_left in (False, True) if missing.any() else (False,):
                last = len(values) - 1 + (missing.any() and not missing_left)
                for b in range(last):
                    left = np.where(missing, missing_left, x <= values[b])
                    if self.allowed(rows[left]) and self.allowed(rows[~left]):
                        gain = self.worth(rows[left]) + self.worth(rows[~left])
                        gain -= self.worth(rows)
                        if gain > 1e-9 and (best is None or gain > best[0] + 1e-9):
                            best = gain, feature, b, left
        return best if best is None or best[0] > self.rules["min_split_gain"] else None


@pytest.mark.parametrize("precision", ["float32", "int16"])
@pytest.mark.parametrize(
    ("shape", "rules"),
    [
        ((8, -1, False), {}),
        ((8, -1, True), {}),
        ((31, 3, False), {"reg_lambda": 2.0, "reg_alpha": 1.0}),
        ((31, -1, False), {"min_child_samples": 25, "min_split_gain": 0.5}),
        ((31, -1, False), {"min_child_weight": 20.0}),
    ],
)
def test_the_tree_is_the_one_that_plain_python_grows(shape, rules, precision):
    for seed in range(3):
        case = random_case(seed=seed)
        plain = PlainTree(*case, *shape, **rules)
        if precision == "int16":  # small whole numbers survive rounding
            case = case[0], np.round(case[1] * 4), np.ceil(case[2] * 4)
            plain = PlainTree(*case, *shape, **rules)
        nodes, rows, bins = grown(*case, precision, shape, **rules)
        assert splits_of(nodes, bins) == in_order(nodes, plain)
        leaves = nodes[nodes["column"] < 0]
        own = {frozenset(rows[leaf["begin"] : leaf["end"]].tolist()) for leaf in leaves}
        assert own == set(plain.leaves)


def in_order(nodes, plain):
    """Sort the plain splits, which come as they are made, by when nodes were made."""
    made = [i for i in np.argsort(nodes["first"], kind="stable") if nodes["column"][i] >= 0]
    order = np.argsort(made)
    return [plain.splits[i] for i in order]


def test_a_subset_of_rows_is_grown_on_as_if_it_were_all():
    X, g, h = random_case(missing=0)
    kept = np.flatnonzero(RNG.random(len(X)) < 0.5)
    nodes, rows, bins = grown(X, g, h, rows=kept)
    alone, _, bins_alone = grown(X[kept], g[kept], h[kept])
    assert splits_of(nodes, bins) == splits_of(alone, bins_alone)
    assert sorted(rows) == sorted(kept)


def test_all_blocks_are_searched_and_the_first_of_equal_splits_is_taken():
    for n_features in range(WIDTH, 50 * WIDTH, WIDTH):
        X = RNG.integers(0, 2, size=(40, n_features)).astype(float)
        for first in (n_features - 1, 0):
            X[:, first] = X[:, -1]
            nodes, _, bins = grown(X, 2 * X[:, -1] - 1, np.ones(40), shape=(2, -1, False))
            assert splits_of(nodes, bins) == [(first, 0)]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_of_equal_splits_the_first_feature_wins_wherever_its_column_is(n_threads):
    values = RNG.integers(0, 4, size=5000) * (RNG.random(5000) < 0.5)
    X = np.repeat(values[:, None], WIDTH + 1, axis=1).astype(float)
    X[:, 0] -= 4  # never 0, so its block comes after that of the others
    gradient = np.where(values > 1, -1.0, 1.0)
    with kernel_threads(n_threads):
        nodes, _, bins = grown(X, gradient, np.ones(5000), shape=(2, -1, False))
    assert bins.columns["feature"][0] != 0
    assert splits_of(nodes, bins) == [(0, 1)]


@given(st.integers(0, 2**31), st.integers(-160, 60))
def test_no_cut_is_left_out_that_gains_more(seed, exponent):
    rng = np.random.default_rng(seed)
    sums = np.empty((3, 6))
    sums[0] = rng.normal(size=6).cumsum() * 10.0**exponent
    sums[1] = rng.exponential(size=6).cumsum() * 10.0 ** min(exponent / 2, 0)
    sums[2] = np.arange(5, 11)
    leaf = SimpleNamespace(gradient=sums[0, 5], hessian=sums[1, 5], n_documents=sums[2, 5])
    rules = TreeRules(8, -1, False, **RULES | {"min_child_weight": 1e-300, "min_child_samples": 1})
    cuts = sums, 5, leaf, rules, 0.0
    best = max(cut_gain(tuple(left), leaf, rules, 0.0, 0, None) for left in sums.T[:5])
    assert may_gain(*cuts, np.nextafter(best, 0) if best else -1.0)
    assert exponent < -60 or not may_gain(*cuts, 1.01 * best)


@pytest.mark.parametrize("categorical", [(), (0,)])
@pytest.mark.parametrize("others", [2.0, np.nan])
def test_a_feature_that_is_mostly_0_has_cuts_if_enough_documents_are_not(others, categorical):
    for n_others in (4, 5):
        X = np.zeros((40, 1))
        X[:2], X[2:n_others] = 3.0, others
        g = np.where(X[:, 0] == 0, 1.0, -1.0)
        nodes, _, _ = grown(X, g, np.ones(40), categorical=categorical)
        assert len(nodes) == (3 if n_others == 5 else 1)


def test_the_best_set_of_categories_is_found_by_trying_all():
    codes = RNG.integers(0, 7, size=400).astype(float)
    g, h = RNG.normal(size=7)[codes.astype(int)] + RNG.normal(size=400), np.ones(400)
    g = np.round(g * 1024) / 1024
    X = np.column_stack([codes, np.zeros(400)])
    nodes, rows, _ = grown(X, g, h, shape=(2, -1, False), categorical=[0])
    left = set(codes[rows[: nodes["end"][1]]])
    worth = {}
    for mask in range(1, 2**7 - 1):
        inside = ((mask >> codes.astype(int)) & 1).astype(bool)
        worth[mask] = sum(g[side].sum() ** 2 / side.sum() for side in (inside, ~inside))
    best = max(worth, key=worth.get)
    chosen = {c for c in range(7) if best >> c & 1}
    assert left in (chosen, set(range(7)) - chosen)
    assert nodes["gain"][0] == pytest.approx(worth[best] - g.sum() ** 2 / 400)


def test_nodes_count_their_documents_also_of_codes_without_a_bin():
    codes, g = RNG.integers(0, 400, size=(3000, 2)).astype(float), RNG.integers(-9, 9, size=3000)
    nodes, _, _ = grown(codes, g, np.ones(3000), shape=(31, -1, False), categorical=[0, 1])
    np.testing.assert_array_equal(nodes["n_documents"], nodes["end"] - nodes["begin"])


@given(st.integers(0, 2**31), st.sampled_from(["float32", "int16", "int8"]))
def test_sums_of_packed_gradients_are_exact(seed, precision):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    gradient = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6)
    hessian = rng.exponential(size=n) * 10.0 ** rng.integers(-6, 6)
    packed, layout = pack_rows(gradient, hessian, precision, (seed, 0))
    sums, running = np.empty((3, n)), np.empty((2, n), dtype=np.int64)
    unpack(packed.ravel(), 0, n, layout, running, sums)
    np.testing.assert_array_equal(sums[2], np.arange(1, n + 1))
    steps = layout.gradient_step, layout.hessian_step
    for total, values, step in zip(sums, (gradient, hessian), steps, strict=False):
        single = np.diff(total, prepend=0)
        assert (np.abs(single - values) <= step).all()
        np.testing.assert_array_equal(single / step, np.round(single / step))


@pytest.mark.parametrize("largest", [0.0, 0.7, 1.0, 1 - 2.0**-26, 3e-39, 2.0**127])
@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_packed_derivatives_are_known_to_keep_all_their_bits(precision, largest):
    values = largest * np.append(RNG.uniform(-1, 1, size=999), 1.0)
    values, *_ = rounded(values, extremes(values)[0])
    sizes = magnitudes(values, np.abs(values))
    layout = layout_of(*sizes, precision)
    packed = pack(values, np.abs(values), layout, (0, 0))
    sums, running = np.empty((3, 1000)), np.empty((2, 1000), dtype=np.int64)
    unpack(packed.ravel(), 0, 1000, layout, running, sums)
    are_kept = (np.diff(sums[0], prepend=0) == values).all()
    assert are_kept >= keeps_all_bits(layout, sizes[1])
    if largest == 0.7:
        assert keeps_all_bits(layout, sizes[1]) == (precision == "float32")
    if 1 - largest == 2.0**-26:  # the largest one is rounded to 1, so steps are coarser
        assert not are_kept


@pytest.mark.parametrize("categorical", [(), (0, 1)])
def test_nodes_hold_the_exact_sums_of_the_derivatives_of_their_leaves(categorical):
    X, gradient, hessian = random_case()
    nodes, rows, _ = grown(X, gradient, hessian, categorical=categorical)
    exact = leaf_sums(nodes, rows, (gradient[:, None], hessian[:, None]))
    assert exact.shape == (2, 8, 1)
    np.testing.assert_array_equal(stored_sums(nodes), exact)


def test_random_rounding_is_right_on_average():
    gradient = np.full(200_000, 0.3001)
    gradient[0] = 100.0
    packed, layout = pack_rows(gradient, gradient, "int8", (1, 2))
    sums, running = np.empty((3, len(packed))), np.empty((2, len(packed)), dtype=np.int64)
    unpack(packed.ravel(), 0, len(packed), layout, running, sums)
    assert layout.gradient_step > 0.3
    np.testing.assert_allclose(sums[:2, -1] - sums[:2, 0], 0.3001 * 199_999, rtol=0.01)
    assert (pack(gradient, gradient, layout, (1, 3)) != packed).any()


@pytest.mark.parametrize("leaves_out", [True, False])
@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_a_histogram_is_the_naive_one(precision, leaves_out):
    n, n_blocks = 3000, 4
    codes = RNG.integers(0, 256, size=(n, n_blocks * WIDTH)).astype(np.uint8)
    zeros = RNG.integers(0, 256, size=n_blocks * WIDTH).astype(np.uint8)
    for block, step in ((1, 9), (3, 3)):  # few documents of one block have zeros, many of the other
        at = slice(block * WIDTH, (block + 1) * WIDTH)
        codes[::step, at] = zeros[at]
    bins, zeros = codes.view(np.uint64), zeros.view(np.uint64) if leaves_out else None
    g, h = RNG.normal(size=n), RNG.uniform(size=n)
    packed, layout = pack_rows(g, h, precision)
    rows = np.sort(RNG.permutation(n)[:2500]).astype(np.uint32)
    naive = np.zeros((n_blocks * WIDTH, STRIDE, layout.n_integers), dtype=np.int64)
    for row in rows:
        for column in range(n_blocks * WIDTH):
            naive[column, codes[row, column]] += packed[row]
    naive = naive.reshape(n_blocks, -1)[1:]
    found = np.full_like(naive, -1)
    batch = np.empty(size_of_batch(layout.n_integers, n_blocks), dtype=np.int64)
    # Two of the blocks from number 1 on.
    fill(1, np.array([1, 3]), bins, zeros, packed, rows, found, batch)
    np.testing.assert_array_equal(found[::2], naive[::2])
    assert (found[1] == -1).all()


@pytest.mark.parametrize("leaves_out", [True, False])
@pytest.mark.parametrize(
    "open_blocks", [range(9), [2, 3, 9, 10], range(17), [*range(1, 12), 16], [3], [15, 16]]
)
@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_histograms_of_many_blocks_are_the_naive_ones(precision, open_blocks, leaves_out):
    """Eight blocks or more are copied in squares, of which the last one may overlap another.

    Around fewer blocks, others are copied, too.
    """
    codes = RNG.integers(0, 256, size=(3000, 17 * WIDTH)).astype(np.uint8)
    zeros = RNG.integers(0, 256, size=17 * WIDTH).astype(np.uint8)
    for block in (3, 9, 16):
        at = slice(block * WIDTH, (block + 1) * WIDTH)
        codes[RNG.random(3000) < 0.4, at] = zeros[at]
    zeros = zeros.view(np.uint64) if leaves_out else None
    packed, layout = pack_rows(RNG.normal(size=3000), RNG.uniform(size=3000), precision)
    for n in (0, 1, 7, 8, 1017, 2999):
        rows = np.sort(RNG.permutation(3000)[:n]).astype(np.uint32)
        naive = np.zeros((17 * WIDTH, STRIDE, layout.n_integers), dtype=np.int64)
        for column in range(17 * WIDTH):
            np.add.at(naive[column], codes[rows, column], packed[rows])
        found = np.zeros((17, naive[:WIDTH].size), dtype=np.int64)
        batch = np.empty(size_of_batch(layout.n_integers, 17), dtype=np.int64)
        fill(0, np.array(open_blocks), codes.view(np.uint64), zeros, packed, rows, found, batch)
        is_open = np.isin(np.arange(17), open_blocks)
        expected = naive.reshape(17, -1) * is_open[:, None]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_parts", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 7, 30_001])
def test_rows_are_sorted_by_side_and_keep_their_order(n, n_parts):
    bins = RNG.integers(0, 256, size=n).astype(np.uint8)
    goes_left = RNG.integers(0, 2, size=256).astype(np.uint8)
    rows = RNG.permutation(n).astype(np.uint32)
    left = goes_left[bins[rows]] == 1
    expected = np.concatenate([rows[:2], rows[2:][left[2:]], rows[2:][~left[2:]]])
    leaf, split = np.zeros(1, dtype=NODE), np.zeros(1, dtype=SPLIT)
    leaf["begin"], leaf["end"] = min(n, 2), n
    split["goes_left"], split["column"] = goes_left, 1
    columns, right = np.stack([np.zeros_like(bins), bins]), np.empty_like(rows)
    memory = np.zeros(n_parts, dtype=MEMORY)
    for part in RNG.permutation(n_parts):
        sort_part(part, n_parts, leaf[0], split[0], rows, columns, right, memory[part])
    join_parts(n_parts, leaf[0], rows, right, memory)
    assert leaf["middle"][0] == min(n, 2) + left[2:].sum()
    np.testing.assert_array_equal(rows, expected)


def test_histograms_are_computed_only_where_a_leaf_above_may_be_split(monkeypatch):
    X, gradient, hessian = random_case(n_features=2 * WIDTH, missing=0)
    X[:, WIDTH:] = np.arange(len(X))[:, None] < 3  # a block of features that hardly vary
    made, make = [], make_histograms

    def make_full(*arguments, **spare):
        made.append(np.full_like(make(*arguments, **spare), -1))
        return made[0]

    monkeypatch.setitem(globals(), "make_histograms", make_full)
    nodes, *_ = grown(X, gradient, hessian, min_child_samples=4)
    kept = (made[0] != -1).any(axis=2)
    assert len(nodes) == 15
    varying = int(kept[1].argmax())  # its block
    assert kept[:2, varying].all()
    assert kept[0, 1 - varying]
    assert not kept[1:, 1 - varying].any()


@pytest.mark.parametrize("total", [None, lambda values: values])
def test_the_last_split_needs_no_histograms(total, monkeypatch):
    made, make = [], make_histograms

    def make_full(*arguments, **spare):
        made.append(np.full_like(make(*arguments, **spare), -1))
        return made[0]

    monkeypatch.setitem(globals(), "make_histograms", make_full)
    for num_leaves in (2, 5):
        made.clear()
        shape = (num_leaves, -1, False)
        settings = {"shape": shape, "total": total, "min_child_samples": 1}
        nodes, *_ = on_threads(1, *random_case(n=1000), **settings)
        assert len(nodes) == 2 * num_leaves - 1
        n_kept = np.count_nonzero((made[0] != -1).any(axis=(1, 2)))
        assert n_kept == num_leaves - 1


def test_workers_send_histograms_without_the_blocks_that_are_closed():
    X, gradient, hessian = random_case(n_features=2 * WIDTH, missing=0)
    X[:, WIDTH:] = np.arange(len(X))[:, None] < 3  # a block of features that hardly vary
    for precision in ("float32", "int16"):
        messages = []

        def total(values, messages=messages):  # the other worker has no rows
            messages.append(values.nbytes)
            return values

        settings = {"min_child_samples": 4, "precision": precision}
        alone, *_ = grown(X, gradient, hessian, **settings)
        nodes, *_ = grown(X, gradient, hessian, total=total, **settings)
        assert_same_tree(nodes, alone)
        one_block = WIDTH * STRIDE * 8 * (1 if precision == "int16" else 2)
        _, root, *others = messages
        assert root == 2 * one_block  # the second block is closed in the root
        n_sent = [size // one_block for size in others]
        assert [n * one_block for n in n_sent] == others
        assert 0 < sum(n_sent) <= np.count_nonzero(nodes["column"] >= 0)


@pytest.mark.parametrize("num_leaves", [2, 3, 8, 31, 64])
@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_leaves_that_are_split_ahead_change_no_bit(num_leaves, precision):
    for seed in range(10):
        X, gradient, hessian = random_case(n=3000, seed=seed)
        shape = (num_leaves, 6 if seed % 2 else -1, False)
        drawn = np.flatnonzero(np.random.default_rng(seed).random(len(X)) < 0.8)
        settings = {"precision": precision, "shape": shape, "min_split_gain": 0.1 * (seed % 3)}
        settings |= {"min_child_samples": 3, "categorical": [0, 3]}
        messages = []

        def total(values, messages=messages):  # the other worker has no rows
            messages.append(values)
            return values

        alone, alone_rows, _ = grown(X, gradient, hessian, rows=drawn, **settings)
        nodes, rows, _ = grown(X, gradient, hessian, rows=drawn, total=total, **settings)
        assert_same_tree(nodes, alone, rows, alone_rows)
        assert len(messages) <= num_leaves  # with the sums of the root; none for the last split
        assert num_leaves < 31 or len(messages) < 0.6 * num_leaves


def twins(seed):
    """Two halves of documents, with opposite gradients: leaves of both halves have equal gains."""
    X, gradient, hessian = random_case(n=2000, seed=seed)
    X, half = np.tile(X, (2, 1)), np.repeat([0.0, 1.0], len(X))
    gradient = np.concatenate([gradient + 4, -(gradient + 4)])
    return np.column_stack([X, half]), gradient, np.tile(hessian, 2)


def surprises(seed, n=4000):
    """Splits above gain hardly anything, those below a lot, in some parts of the documents."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, size=(n, 10)).astype(float)
    signs = np.sign(X[:, :3] - 5.5).prod(axis=1) * (X[:, 3] > 6) * 4
    gradient = np.round((signs + 0.3 * X[:, 3] + 0.02 * X[:, 4]) * 2**8) / 2**8
    return X, gradient, np.ones(n)


def wide_surprises(seed):
    """The same, with features of noise, so that threads split some leaves together."""
    X, *derivatives = surprises(seed)
    return np.column_stack([X, random_case(len(X), 90, missing=0, seed=seed)[0]]), *derivatives


def large_noise(seed):
    """Leaves that threads split together, of which one follows after others were split in vain."""
    return random_case(10_000, seed=429 + seed)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("case", [twins, surprises])
@pytest.mark.parametrize("num_leaves", [3, 8, 20, 64])
def test_leaves_are_split_as_alone_whatever_share_is_split_ahead(
    num_leaves, case, share, monkeypatch
):
    monkeypatch.setattr(speculation, "_SHARE", share)
    n_ahead, next_leaves = [], speculation.next_leaves

    def watched(tree, rules):
        leaves, is_last = next_leaves(tree, rules)
        n_ahead.append(len(leaves) + (tree.step[0]["n_nodes"] - 1) // 2)
        return leaves, is_last

    monkeypatch.setattr(speculation, "next_leaves", watched)
    for seed in range(5):
        data, settings = case(seed), {"shape": (num_leaves, -1, False), "min_child_samples": 2}
        alone, alone_rows, _ = grown(*data, **settings)
        nodes, rows, _ = grown(*data, total=lambda values: values, **settings)
        assert_same_tree(nodes, alone, rows, alone_rows)
    most = num_leaves - 1 + min(num_leaves // 2, 16)
    assert max(n_ahead) <= most
    if (case, share, num_leaves) == (surprises, 1.0, 20):
        assert max(n_ahead) == most


@pytest.mark.parametrize(
    ("n_leaves", "max_depth", "sent"),  # pairs of leaves in each message, the root alone first
    [(31, 4, [1, 1, 2, 4]), (16, -1, [1, 1, 2, 4, 6]), (6, -1, [1, 1, 2, 1])],
)
def test_workers_send_one_message_a_level_where_trees_grow_by_level(n_leaves, max_depth, sent):
    X, gradient, hessian = random_case(n=2000)
    messages, shape = [], (n_leaves, max_depth, True)

    def total(values):  # the other worker has no rows
        messages.append(values.shape)
        return values

    alone, *_ = grown(X, gradient, hessian, shape=shape, min_child_samples=1)
    nodes, *_ = grown(X, gradient, hessian, total=total, shape=shape, min_child_samples=1)
    assert_same_tree(nodes, alone)
    n_sent = [np.prod(shape[:-1]) for shape in messages[1:]]
    assert [n // 2 for n in n_sent] == sent  # of two blocks of features each


@pytest.mark.skipif(nb.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
@pytest.mark.parametrize("shape", [(12, -1, False), (16, 4, True)])
@pytest.mark.parametrize("n_of_first", [27_000, 30_000])
def test_workers_grow_the_same_tree_if_only_one_sorts_large_leaves_by_threads(shape, n_of_first):
    X, noise, hessian = random_case(n=30_000)
    data = X, noise + np.nan_to_num(X[:, :3]).sum(axis=1), hessian
    settings = {"shape": shape, "categorical": [0]}
    alone, alone_rows, _ = on_threads(1, *data, **settings)
    both_have_sent, sent = threading.Barrier(2, timeout=60), [np.empty(0)] * 2

    def total_for(rank):
        def total(values):
            sent[rank] = np.array(values)
            both_have_sent.wait()
            found = sent[0] + sent[1]
            both_have_sent.wait()
            return found

        return total

    shards = np.split(np.arange(len(X)), [n_of_first])
    with ThreadPoolExecutor(2) as pool:
        fits = [
            pool.submit(on_threads, 2 - k, *data, rows=shards[k], total=total_for(k), **settings)
            for k in range(2)
        ]
        workers = [fit.result()[:2] for fit in fits]
    for name in {*alone.dtype.names} - {"begin", "end", "middle", "slot"}:
        for nodes, _ in workers:
            np.testing.assert_array_equal(nodes[name], alone[name])
    for leaf in np.flatnonzero(alone["column"] < 0):
        own = [rows[nodes["begin"][leaf] : nodes["end"][leaf]] for nodes, rows in workers]
        expected = alone_rows[alone["begin"][leaf] : alone["end"][leaf]]
        np.testing.assert_array_equal(np.sort(np.concatenate(own)), np.sort(expected))


@pytest.mark.parametrize("by_level", [False, True])
@pytest.mark.parametrize("case", [twins, surprises, wide_surprises, large_noise])
@pytest.mark.parametrize("num_leaves", [2, 3, 7, 8, 31, 64])
@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_leaves_that_threads_split_in_vain_change_no_bit(
    n_threads, num_leaves, case, by_level, monkeypatch
):
    settings = {
        "shape": (num_leaves, 7 if n_threads == 3 else -1, by_level),
        "min_child_samples": 2,
    }
    if n_threads == 8:
        settings |= {"categorical": [0, 3], "min_split_gain": 0.1, "rows": np.arange(0, 4000, 3)}
    n_splits, true_tree = [], speculation.true_tree

    def watched(tree, rows):
        n_splits.append((tree.step[0]["n_nodes"] - 1) // 2)
        return true_tree(tree, rows)

    monkeypatch.setattr(speculation, "true_tree", watched)
    for seed in range(3):
        alone, alone_rows, _ = on_threads(1, *case(seed), **settings)
        n_splits.clear()
        for coming in ([0], [n_threads - 1], range(n_threads)):  # other threads never come
            with monkeypatch.context() as patched:
                patched.setattr(nb, "get_num_threads", lambda: n_threads)
                run = partial(run_in_threads, numbers=coming)
                patched.setattr(grower, "in_parts", run)
                nodes, rows, _ = grown(*case(seed), **settings)
            assert_same_tree(nodes, alone, rows, alone_rows)
            for leaf in nodes[nodes["column"] < 0]:  # rows are ascending, as for one thread
                assert (np.diff(rows[leaf["begin"] : leaf["end"]].astype(int)) > 0).all()
        n_needed = np.count_nonzero(alone["column"] >= 0)
        rules = TreeRules(*settings["shape"], **RULES)
        n_spare = speculation.n_spare(rules, n_threads, has_workers=False)
        assert n_needed <= min(n_splits) <= max(n_splits) <= num_leaves - 1 + n_spare
    if case is surprises and num_leaves == 8 and not by_level:
        assert n_splits[0] > n_needed


def run_in_threads(work, n, numbers):
    threads = [threading.Thread(target=work, args=(k, k), daemon=True) for k in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_each_score_gets_the_value_of_its_leaf_however_many_threads_share_the_scores(monkeypatch):
    X, gradient, hessian = random_case(n=20_000, n_features=40)
    nodes, rows, _ = grown(X, gradient, hessian, shape=(8, -1, False))
    rules = TreeRules(8, -1, False, **RULES)
    scores, expected = np.zeros((2, len(X), 1))
    values = add_leaves(nodes, rows, stored_sums(nodes), rules, 0.5, scores)
    for leaf in np.flatnonzero(nodes["column"] < 0):
        expected[rows[nodes["begin"][leaf] : nodes["end"][leaf]]] = values[leaf]
    np.testing.assert_array_equal(scores, expected)
    slices = [(k * len(X) // 50, (k + 1) * len(X) // 50) for k in range(50)]
    monkeypatch.setattr(
        leaves, "in_parts", lambda kernel, n, *rest: [kernel(*at, *rest) for at in slices]
    )
    shared = np.zeros_like(scores)
    add_leaves(nodes, rows, stored_sums(nodes), rules, 0.5, shared)
    np.testing.assert_array_equal(shared, expected)
