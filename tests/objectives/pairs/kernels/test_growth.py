"""How the exact gradients over all pairs grow, counted in accesses of array elements: no clock."""

import math

import numpy as np
import pytest

from treerank.inputs.grouping import QueryGroups
from treerank.objectives.pairs.kernels import hinges, level_sums, ranking
from treerank.objectives.pairs.kernels.hinges import HINGES, hinge_kernel
from treerank.objectives.pairs.kernels.label_order import LabelOrder
from treerank.objectives.pairs.kernels.level_sums import LEVEL_SUMS, level_kernel
from treerank.objectives.pairs.kernels.ranking import sort_queries

SIZES = (200, 400, 800)


class Counted(np.ndarray):
    """An array that counts the elements that are read or written through it."""

    n_accesses = 0

    def __getitem__(self, key):
        taken = super().__getitem__(key)
        Counted.n_accesses += np.size(taken)
        return taken

    def __setitem__(self, key, value):
        Counted.n_accesses += np.size(super().__getitem__(key))
        super().__setitem__(key, value)


def counted(values):
    return np.asarray(values).view(Counted)


class CountingNumpy:
    """NumPy whose arrays count."""

    def __getattr__(self, name):
        return getattr(np, name)

    def zeros(self, *arguments):
        return counted(np.zeros(*arguments))

    def empty(self, *arguments):
        return counted(np.empty(*arguments))

    def arange(self, *arguments):
        return counted(np.arange(*arguments))


def plain(function):
    return getattr(function, "py_func", function)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Let kernels run as plain Python, the functions that they call included."""
    for module, names in (
        (level_sums, ["_gather", "_sums_of_levels"]),
        (hinges, ["add_moments", "moments_below"]),
        (ranking, ["_sort_by_bin", "_insert", "_sort_by_gaps", "_insert_by_gap", "longest_query"]),
    ):
        monkeypatch.setattr(module, "np", CountingNumpy())
        for name in names:
            monkeypatch.setattr(module, name, plain(getattr(module, name)))


def count(kernel, n, n_levels):
    """Return how many elements a kernel accesses on one query of ``n`` documents."""
    rng = np.random.default_rng(0)
    y, scores = np.arange(n) % n_levels, rng.normal(size=n)
    labels = LabelOrder.from_labels(y.astype(float), QueryGroups.from_qid(None, n))
    labels = labels._replace(**{name: counted(getattr(labels, name)) for name in labels._fields})
    arrays = [counted(array) for array in (np.ones(n), np.ones(n), np.zeros(n), np.zeros(n))]
    value = counted(np.zeros(1))
    Counted.n_accesses = 0
    places = labels.indptr, labels.levels()
    x, ranked = counted(scores[labels.row]), ()
    if kernel.__name__ == "over_sorted":
        ranked = counted(np.arange(n)), counted(np.empty(n))
        plain(sort_queries)(0, 1, x, labels.indptr, False, *ranked)
    plain(kernel)(0, 1, x, 0.0, *places, *arrays, value, *ranked)
    assert np.asarray(arrays[2]).any()
    return Counted.n_accesses


def double_loop(first, last, x, shift, indptr, level, weight, upper, g, h, value):
    """The same gradient pair by pair: what must not pass."""
    for i in range(len(x)):
        below = level[:] < level[i]
        g[i] += (x[i] - x[:] - 1)[below].sum()


def is_linear(counts):
    return counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def growth(counts):
    """Return by how much accesses grow over n log n, from the first size to the last."""
    by_n_log_n = [c / (n * math.log2(n)) for n, c in zip(SIZES, counts, strict=True)]
    return by_n_log_n[-1] / by_n_log_n[0]


@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("loss", LEVEL_SUMS, ids=["half_squared", "exponential"])
def test_level_sums_touch_each_document_equally_often_however_many_there_are(loss, adjacent):
    kernel = level_kernel(*LEVEL_SUMS[loss], adjacent)
    counts = [count(kernel, n, n_levels=5) for n in SIZES]
    assert is_linear(counts)
    assert counts[0] < 100 * SIZES[0]


@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("loss", HINGES, ids=["hinge", "squared_hinge"])
def test_hinges_grow_as_a_sort_does_even_with_as_many_levels_as_documents(loss, adjacent):
    kernel = hinge_kernel(HINGES[loss], adjacent)
    for n_levels in (lambda n: 5, lambda n: n):
        assert growth([count(kernel, n, n_levels(n)) for n in SIZES]) < 1.1


def test_the_count_tells_a_double_loop_from_both():
    counts = [count(double_loop, n, n_levels=5) for n in SIZES]
    assert not is_linear(counts)
    assert growth(counts) > 2
