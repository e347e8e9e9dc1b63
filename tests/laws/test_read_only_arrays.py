"""No kernel is compiled again for arrays that must not be written.

Such are the arrays of files in memory, of data frames of pandas and of the workers of joblib.
"""

import gc

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher
from numba.core.types import Array, BaseTuple
from small_rankers import DATA, NAMES, PART_SETTINGS, made

from treerank import HistogramTrees, LightGBMTrees, TreeDirectRanker, load, make_objective
from treerank.feature_parts.registry import FEATURE_PARTS, feature_part_class
from treerank.metrics import METRICS
from treerank.objectives.factory import LOSSES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore"),
]


def is_read_only(kind):
    """Return whether a type of numba is an array that must not be written, or holds one."""
    if isinstance(kind, BaseTuple):
        return any(map(is_read_only, kind))
    return isinstance(kind, Array) and not kind.mutable


def kernels_of_read_only_arrays():
    """Return the name of each kernel of the package with such an argument, and the signature."""
    kernels = [kernel for kernel in gc.get_objects() if type(kernel) is CPUDispatcher]
    return {
        (kernel.py_func.__qualname__, signature)
        for kernel in kernels
        if kernel.py_func.__module__.startswith("treerank.")
        for signature in kernel.signatures
        if any(map(is_read_only, signature))
    }


def read_only(values, order="C"):
    values = np.array(values, order=order)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", NAMES)
def test_fits_and_scores_take_the_kernels_of_other_arrays(name, order, tmp_path):
    before = kernels_of_read_only_arrays()
    X, y, qid = read_only(DATA.X, order), read_only(DATA.y), read_only(DATA.qid)
    ranker = made(name).fit(X, y, qid)
    scores = ranker.predict(X)
    assert np.array_equal(scores, ranker.predict(DATA.X.copy()))
    ranker.score(X, y, qid)
    ranker.save(tmp_path / "ranker")
    assert np.array_equal(load(tmp_path / "ranker").predict(X), scores)
    if name in ("lightgbm", "linear"):
        ranker.scorer()(X)
    if isinstance(ranker, TreeDirectRanker):
        ranker.fit(X, y, qid, sample_weight=read_only(np.ones(len(y))))
    assert kernels_of_read_only_arrays() == before


@pytest.mark.parametrize("name", FEATURE_PARTS)
def test_feature_parts_take_the_kernels_of_other_arrays(name):
    before = kernels_of_read_only_arrays()
    X, objective = read_only(DATA.X), make_objective(DATA.y, DATA.qid)
    feature_part_class(name)(**PART_SETTINGS.get(name, {})).fit(X, objective).transform(X)
    assert kernels_of_read_only_arrays() == before


@pytest.mark.parametrize("loss", LOSSES)
def test_objectives_take_the_kernels_of_other_arrays(loss):
    before = kernels_of_read_only_arrays()
    objective = make_objective(read_only(DATA.y), read_only(DATA.qid), loss=loss)
    objective.derivatives(read_only(DATA.X[:, 0]))
    objective(read_only(DATA.X[:, 0]))
    assert kernels_of_read_only_arrays() == before


class ReadOnlyDerivatives:
    """An objective of a user, whose arrays must not be written, as those of JAX."""

    n_outputs = 1

    def derivatives(self, scores, *, iteration=0):
        return read_only(scores - DATA.y), read_only(np.ones_like(scores))


@pytest.mark.parametrize("trees", [HistogramTrees, LightGBMTrees])
def test_derivatives_of_a_user_take_the_kernels_of_other_arrays(trees):
    before = kernels_of_read_only_arrays()
    trees(2).fit(DATA.X, ReadOnlyDerivatives())
    assert kernels_of_read_only_arrays() == before


def test_metrics_take_the_kernels_of_other_arrays():
    before = kernels_of_read_only_arrays()
    scores, y, qid = read_only(DATA.X[:, 0]), read_only(DATA.y), read_only(DATA.qid)
    for metric in METRICS.values():
        metric(y, scores, qid)
    assert kernels_of_read_only_arrays() == before
