"""Laws of reproduction: the same data give the same model, and so does a copy of a model."""

import os
import pickle
import tempfile
from pathlib import Path

from law_tools import fit, fit_itself, require, require_same_scores, seeded
from ranking_sample import make_ranking_sample
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import treerank
from treerank.numerics.threads import kernel_threads

#: The law on threads uses larger data if there are fewer documents.
LARGE = 1500
#: Names of the parameter for the number of threads.
THREAD_PARAMETERS = ("n_jobs", "nthread", "num_threads", "thread_count")


def refit(ranker, data):
    """Two fits of equal rankers to the same data give the same scores."""
    expected = fit(ranker, data).predict(data.X)
    require_same_scores(fit(ranker, data).predict(data.X), expected, "With a second copy")


def fitting_again(ranker, data):
    """A second fit does not depend on the first one."""
    fitted = fit(ranker, data)
    expected = fitted.predict(data.X)
    fit_itself(fitted, data)
    require_same_scores(fitted.predict(data.X), expected, "After fit was called again")


def threads(ranker, data):
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


def pickling(ranker, data):
    """A pickled model gives the same scores."""
    fitted = fit(ranker, data)
    copy = pickle.loads(pickle.dumps(fitted))
    require_same_scores(copy.predict(data.X), fitted.predict(data.X), "After pickling")


def cloning(ranker, data):
    """The method fit changes no parameter, and a clone of a fitted ranker learns the same model."""
    unfitted = seeded(ranker)
    before = {name: repr(value) for name, value in unfitted.get_params().items()}
    fitted = fit_itself(unfitted, data)
    after = {name: repr(value) for name, value in fitted.get_params().items()}
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    require(not changed, f"fit changed the parameters {changed}.")
    again = fit_itself(clone(fitted), data)
    require_same_scores(again.predict(data.X), fitted.predict(data.X), "After a fit of a clone")


def saving(ranker, data):
    """A saved and loaded model gives the same scores."""
    load = getattr(ranker, "load", treerank.load)
    fitted = fit(ranker, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        fitted.save(path)
        copy = load(path)
    require_same_scores(copy.predict(data.X), fitted.predict(data.X), "After save and load")
