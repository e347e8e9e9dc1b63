"""Running: every ranker on every split, in parallel, picking up where a kill left off."""

import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from treerank.evaluation.comparison import Comparison, Failure, Outcome
from treerank.evaluation.fitting import Search, fit_and_predict
from treerank.evaluation.splits import make_splits
from treerank.evaluation.store import Store, configuration_of, key_of
from treerank.metrics.conventions import with_convention
from treerank.progress import current_listener, ignore_progress, listening

ON_ERROR = ("record", "raise")


def compare(
    rankers,
    data,
    *,
    cv=None,
    metrics=("ndcg@10", "map"),
    convention="treerank",
    grid=None,
    inner_cv=3,
    validation_size=None,
    n_jobs=1,
    store=None,
    on_error="record",
    random_state=0,
):
    """Fit and score rankers on the same splits.

    Within :func:`treerank.show_progress` the fits done are counted.

    Parameters
    ----------
    rankers : dict from str to estimator
        Any with ``fit(X, y)`` or ``fit(X, y, qid)`` and ``predict(X)``; see
        :mod:`treerank.evaluation.fitting` for engines that want more. They are cloned, and a
        ``random_state`` of None is set, that of the parts of a pipeline too.
    data : path, iterable of Fold or Split, RankingData or tuple (X, y, qid)
        A LETOR folder or folds bring their splits along; others are split by ``cv``.
    cv : int, splitter or iterable of (train, test), default=None
        Number of shuffled folds by query, 5 if None; or a splitter, such as
        ``QueryShuffleSplit(15, random_state=0)`` for 15 hold-outs; or arrays of rows.
    metrics : sequence of str or Metric, default=("ndcg@10", "map")
        What to score by.
    convention : {"treerank", "letor4"}, default="treerank"
        How; see :data:`treerank.metrics.CONVENTIONS`.
    grid : dict from str to (dict or list of dict), default=None
        By ranker, parameters to try on each training set, as in scikit-learn; the best by the
        first metric are used. A ranker without a grid is taken as it is.
    inner_cv : int or splitter, default=3
        How to split training sets for the search; splits that have a validation set use that.
    validation_size : float or int, default=None
        Share or number of training queries to set aside as validation set, for the search and
        for early stopping, where the data bring none.
    n_jobs : int, default=1
        Processes; each fits one ranker to one split at a time, on its share of the cores.
    store : path, default=None
        Folder that keeps what is finished: the same call after a kill goes on from there.
    on_error : {"record", "raise"}, default="record"
        What to do about a ranker that fails on a split: warn and go on without it, or stop.
    random_state : int, default=0
        Seed of the splits and of rankers without one.

    Returns
    -------
    Comparison
        Print its ``summary()``.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from treerank.datasets.synthetic import make_web_search
    >>> rankers = {"line": LinearRegression(), "stump": DecisionTreeRegressor(max_depth=1)}
    >>> data = make_web_search(60, documents_per_query=10, random_state=0)
    >>> comparison = compare(rankers, data, cv=4)
    >>> comparison.by_split("ndcg@10").shape
    (4, 2)
    """
    _check(rankers, grid, on_error, random_state)
    scored = {_name(metric): with_convention(metric, convention) for metric in metrics}
    if not scored:
        raise ValueError(f"metrics must be at least one; got {metrics!r}.")
    chosen_by = next(iter(scored.values()))
    splits = make_splits(data, cv, validation_size=validation_size, random_state=random_state)
    _check_splits(splits)
    searches = {name: Search(g, chosen_by, inner_cv) for name, g in (grid or {}).items()}
    seeded = {name: _seeded(ranker, random_state) for name, ranker in rankers.items()}
    jobs = [
        Job(name, ranker, split, searches.get(name), scored, _store(store), on_error)
        for split in splits
        for name, ranker in seeded.items()
    ]
    outcomes = _run(jobs, n_jobs)
    return Comparison.of(tuple(rankers), tuple(scored), convention, outcomes)


@dataclass(frozen=True, eq=False)
class Job:
    """One ranker on one split."""

    name: str
    ranker: Any
    split: Any
    search: Search | None
    metrics: Mapping[str, Any]
    store: Store | None
    on_error: str


def run_job(job):
    """Return an Outcome, from the store if it is there, or a Failure."""
    split = job.split.split()
    try:
        fitted = _stored_or_fitted(job, split)
    except Exception as error:
        if job.on_error == "raise":
            raise
        trace = traceback.format_exc()
        return Failure(job.name, split.name, f"{type(error).__name__}: {error}", trace)
    _, y, qid = split.test
    values = {name: metric.per_query(y, fitted.scores, qid) for name, metric in job.metrics.items()}
    return Outcome(
        ranker=job.name,
        split=split.name,
        queries=np.unique(qid),
        values=values,
        fingerprint=split.fingerprint,
        test_to_train=split.test_to_train,
        best_params=fitted.best_params,
        seconds=(fitted.search_seconds, fitted.fit_seconds, fitted.predict_seconds),
    )


def _stored_or_fitted(job, split):
    if job.store is None:
        return fit_and_predict(job.ranker, split, job.search)
    configuration = configuration_of(job.ranker, job.search, split)
    key = key_of(configuration)
    stored = job.store.read(job, key)
    if stored is not None and len(stored.scores) == len(split.test):
        return stored
    fitted = fit_and_predict(job.ranker, split, job.search)
    job.store.write(job, key, fitted, configuration)
    return fitted


def _run(jobs, n_jobs):
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    outcomes, tell = [], current_listener()
    with listening(ignore_progress):  # whole fits are counted here, not the iterations of each
        for outcome in parallel(joblib.delayed(run_job)(job) for job in jobs):
            outcomes.append(outcome)
            if isinstance(outcome, Failure):
                warnings.warn(str(outcome), UserWarning, stacklevel=3)
            tell(len(outcomes), len(jobs), f"{outcome.ranker} on {outcome.split}")
    place = {(job.name, job.split.name): i for i, job in enumerate(jobs)}
    return sorted(outcomes, key=lambda outcome: place[outcome.ranker, outcome.split])


def _check(rankers, grid, on_error, random_state):
    if not isinstance(rankers, Mapping) or not rankers:
        raise TypeError(f"rankers must be a dict from name to estimator; got {rankers!r}.")
    for name, ranker in rankers.items():
        missing = [verb for verb in ("fit", "predict", "get_params") if not hasattr(ranker, verb)]
        if missing:
            raise TypeError(f"rankers must have {missing[0]}; {name!r} is {ranker!r}.")
    unknown = set(grid or {}) - set(rankers)
    if unknown:
        raise ValueError(
            f"grid must be by name of ranker, {list(rankers)}; got {sorted(unknown)!r}."
        )
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error must be one of {list(ON_ERROR)}; got {on_error!r}.")
    if not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be an integer; got {random_state!r}.")


def _check_splits(splits):
    names = [split.name for split in splits]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"data must have at least one split, each of a name; got {names!r}.")


def _name(metric):
    return metric if isinstance(metric, str) else with_convention(metric).name


def _store(store):
    return None if store is None else Store(Path(store))


def _seeded(ranker, random_state):
    """Return a copy with a seed: its own, or else, as of a pipeline, those of its parts."""
    ranker = clone(ranker)
    own = ranker.get_params(deep=False)
    params = own if "random_state" in own else ranker.get_params()
    unset = [n for n, v in params.items() if n.split("__")[-1] == "random_state" and v is None]
    return ranker.set_params(**dict.fromkeys(unset, random_state))
