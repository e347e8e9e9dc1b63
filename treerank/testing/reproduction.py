"""Laws of reproduction: the same data give the same model, and a copy is worth the original."""

import inspect
import os
import pickle
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from unittest import SkipTest

import numba
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from treerank.numerics.threads import kernel_threads
from treerank.testing.requirements import (
    fit,
    fit_itself,
    need_methods,
    require,
    require_same_scores,
    seeded,
)
from treerank.testing.sample import make_ranking_sample

#: Documents from which on the data at hand will do to tell thread from thread.
LARGE = 1500
#: What rankers call their number of threads.
THREAD_PARAMETERS = ("n_jobs", "nthread", "num_threads", "thread_count")


def refit(ranker, data):
    """A second copy, fitted to the same data, gives the same scores."""
    expected = fit(ranker, data).predict(data.X)
    require_same_scores(fit(ranker, data).predict(data.X), expected, "In a second copy")


def fitting_again(ranker, data):
    """Fitting again forgets the first fit."""
    if ranker.get_params().get("warm_start"):
        raise SkipTest("it has warm_start=True")
    fitted = fit(ranker, data)
    expected = fitted.predict(data.X)
    fit_itself(fitted, data)
    require_same_scores(fitted.predict(data.X), expected, "After fit was called again")


def threads(ranker, data):
    """The number of threads changes no score."""
    if len(data.y) < LARGE:  # engines share out large data only
        data = make_ranking_sample(n_queries=150)
    names = [name for name in ranker.get_params() if name.split("__")[-1] in THREAD_PARAMETERS]
    with _at_most_one_thread(unless=names):
        alone = fit(ranker, data, **dict.fromkeys(names, 1)).predict(data.X)
    n_threads = max(2, os.cpu_count() or 1)
    with kernel_threads(n_threads, few_documents=0):  # so few documents would get but one
        together = fit(ranker, data, **dict.fromkeys(names, n_threads)).predict(data.X)
    how = f"With {', '.join(names)}={n_threads}" if names else "With as many threads as there are"
    require_same_scores(together, alone, f"{how} instead of one thread")


def pickling(ranker, data):
    """A pickled model predicts as before."""
    fitted = fit(ranker, data)
    copy = pickle.loads(pickle.dumps(fitted))
    require_same_scores(copy.predict(data.X), fitted.predict(data.X), "After pickling")


def cloning(ranker, data):
    """Fitting changes no parameter, so a clone of a fitted ranker learns the same model."""
    unfitted = seeded(ranker)
    before = {name: repr(value) for name, value in unfitted.get_params().items()}
    fitted = fit_itself(unfitted, data)
    after = {name: repr(value) for name, value in fitted.get_params().items()}
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    require(not changed, f"fit changed the parameters {changed}.")
    again = fit_itself(clone(fitted), data)
    require_same_scores(again.predict(data.X), fitted.predict(data.X), "After a fit of a clone")


def saving(ranker, data):
    """A saved and loaded model predicts as before."""
    need_methods(ranker, "save")
    load = _loader_of(ranker)
    fitted = fit(ranker, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        fitted.save(path)
        copy = load(path)
    require_same_scores(copy.predict(data.X), fitted.predict(data.X), "After save and load")


def _loader_of(ranker):
    """Find ``load`` on the class, or in the module or package of one that it derives from."""
    modules = [base.__module__ for base in type(ranker).__mro__]
    packages = [module.partition(".")[0] for module in modules]
    for owner in (ranker, *(sys.modules[name] for name in modules + packages)):
        load = getattr(owner, "load", None)
        if inspect.isroutine(load):
            return load
    raise SkipTest("it has save, but neither its class nor its module or package has load")


@contextmanager
def _at_most_one_thread(unless):
    """Limit the thread pools of a ranker that has no parameter for it."""
    if unless:
        yield
        return
    before = numba.get_num_threads()
    if before == 1 and os.cpu_count() == 1:
        raise SkipTest("there is but one processor, and no parameter for the number of threads")
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(before)
