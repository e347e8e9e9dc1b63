"""Laws of reproduction: the same data give the same model, and so does a copy of a model."""

import inspect
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import SkipTest

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
from treerank.testing.sample import RankingSample, make_ranking_sample

#: The law on threads uses larger data if there are fewer documents.
LARGE = 1500
#: Names of the parameter for the number of threads.
THREAD_PARAMETERS = ("n_jobs", "nthread", "num_threads", "thread_count")


def refit(ranker: Any, data: RankingSample) -> None:
    """Two fits of equal rankers to the same data give the same scores."""
    expected = fit(ranker, data).predict(data.X)
    require_same_scores(fit(ranker, data).predict(data.X), expected, "With a second copy")


def fitting_again(ranker: Any, data: RankingSample) -> None:
    """A second fit does not depend on the first one."""
    if ranker.get_params().get("warm_start"):
        raise SkipTest("it has warm_start=True")
    fitted = fit(ranker, data)
    expected = fitted.predict(data.X)
    fit_itself(fitted, data)
    require_same_scores(fitted.predict(data.X), expected, "After fit was called again")


def threads(ranker: Any, data: RankingSample) -> None:
    """The number of threads changes no score."""
    if len(data.y) < LARGE:  # engines divide only large data among threads
        data = make_ranking_sample(n_queries=150)
    names = [name for name in ranker.get_params() if name.split("__")[-1] in THREAD_PARAMETERS]
    with kernel_threads(1), threadpool_limits(1):
        alone = fit(ranker, data, **dict.fromkeys(names, 1)).predict(data.X)
    n_threads = max(2, os.cpu_count() or 1)
    with kernel_threads(n_threads, few_documents=0):  # otherwise kernels get one thread
        together = fit(ranker, data, **dict.fromkeys(names, n_threads)).predict(data.X)
    how = f"With {', '.join(names)}={n_threads}" if names else "With all threads"
    require_same_scores(together, alone, f"{how} instead of one thread")


def pickling(ranker: Any, data: RankingSample) -> None:
    """A pickled model gives the same scores."""
    fitted = fit(ranker, data)
    copy = pickle.loads(pickle.dumps(fitted))
    require_same_scores(copy.predict(data.X), fitted.predict(data.X), "After pickling")


def cloning(ranker: Any, data: RankingSample) -> None:
    """The method fit changes no parameter, and a clone of a fitted ranker learns the same model."""
    unfitted = seeded(ranker)
    before = {name: repr(value) for name, value in unfitted.get_params().items()}
    fitted = fit_itself(unfitted, data)
    after = {name: repr(value) for name, value in fitted.get_params().items()}
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    require(not changed, f"fit changed the parameters {changed}.")
    again = fit_itself(clone(fitted), data)
    require_same_scores(again.predict(data.X), fitted.predict(data.X), "After a fit of a clone")


def saving(ranker: Any, data: RankingSample) -> None:
    """A saved and loaded model gives the same scores."""
    need_methods(ranker, "save")
    load = _loader_of(ranker)
    fitted = fit(ranker, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        fitted.save(path)
        copy = load(path)
    require_same_scores(copy.predict(data.X), fitted.predict(data.X), "After save and load")


def _loader_of(ranker):
    """Return ``load`` of the class, or of the module or package of the class or a base class."""
    modules = [base.__module__ for base in type(ranker).__mro__]
    packages = [module.partition(".")[0] for module in modules]
    for owner in (ranker, *(sys.modules[name] for name in modules + packages)):
        load = getattr(owner, "load", None)
        if inspect.isroutine(load):
            return load
    raise SkipTest("it has save, but there is no load in its class, module or package")
