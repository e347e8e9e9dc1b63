"""Running: fits and scores every ranker on every split, in parallel; fits can be stored."""

import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags

from treerank.checks import MAX_SEED, check_count, has_methods, naming, quote
from treerank.datasets.folds import Split
from treerank.evaluation.data_splits import SplitSource, check_cv, make_splits
from treerank.evaluation.engine_rankers import adapted
from treerank.evaluation.fits import Fitted, Search, fit_and_predict
from treerank.evaluation.ranker_comparison import Comparison, Failure, Outcome
from treerank.evaluation.store import Store, configuration_of, key_of
from treerank.metrics.base import Metric
from treerank.metrics.judged import judged_share, warn_of_unjudged
from treerank.metrics.registry import FunctionMetric, with_convention
from treerank.parameters import Rule, check_arguments, check_parameters
from treerank.progress import current_listener, ignore_progress, listening
from treerank.rankers.ranker import Ranker


@check_arguments
def compare(
    rankers: Mapping[str, Any],
    data: Any,
    *,
    cv: Any = None,
    metrics: Iterable[str | Metric | FunctionMetric] = ("ndcg@10", "map"),
    convention: str = "treerank",
    grid: Mapping[str, Any] | None = None,
    inner_cv: Any = 3,
    n_jobs: int = 1,
    store: str | Path | None = None,
    random_state: Annotated[int, Rule(check_count, at_least=0, at_most=MAX_SEED)] = 0,
) -> Comparison:
    """Fit and score rankers on the same splits.

    :func:`treerank.show_progress` shows the number of fits that are done. A ranker that fails on a
    split is warned of, and has no result there.

    Parameters
    ----------
    rankers : dict from str to estimator
        Estimators with ``fit(X, y)`` or ``fit(X, y, qid)`` and ``predict(X)``, and those whose
        ``fit`` takes groups, such as ``LGBMRanker()``. They are cloned. A ``random_state`` of None
        is set, in the parts of a pipeline too.
    data : path, iterable of Split, RankingData or tuple (X, y, qid)
        One argument. A LETOR folder or folds have splits of their own; other data are split by
        ``cv``.
    cv : int, splitter or iterable of (train, test), default=None
        Number of shuffled folds of whole queries, 5 if None; or a splitter, such as
        ``QueryShuffleSplit(15, random_state=0)`` for 15 hold-outs; or arrays of rows.
    metrics : sequence of str or Metric, default=("ndcg@10", "map")
        Metrics to score by: names, or functions ``f(y, scores, qid) -> float`` of your own. Higher
        is better: negate a loss.
    convention : {"treerank", "letor4"}, default="treerank"
        Settings of the metrics; see :data:`treerank.metrics.CONVENTIONS`.
    grid : dict from str to (dict or list of dict), default=None
        Parameters to try on each training set, by ranker, as in scikit-learn; the best by the
        first metric are used. A ranker without a grid keeps its parameters.
    inner_cv : int or splitter, default=3
        How to split training sets for the search; a ``Split`` with a validation set uses that
        instead, and for early stopping, too.
    n_jobs : int, default=1
        Number of processes, -1 for one per core. Each fits one ranker to one split at a time, on
        its part of the cores.
    store : str or Path, default=None
        Folder for finished fits. If the call is killed, the same call continues from there.
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
    >>> from treerank.datasets.web_search import make_web_search
    >>> rankers = {"line": LinearRegression(), "stump": DecisionTreeRegressor(max_depth=1)}
    >>> data = make_web_search(60, documents_per_query=10, random_state=0)
    >>> comparison = compare(rankers, data, cv=4)
    >>> comparison.by_split("ndcg@10").shape
    (4, 2)
    """
    _check(rankers, n_jobs)
    _check_search(rankers, grid or {}, inner_cv)
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise TypeError(f"metrics must be a list, such as ['ndcg@10']; got {quote(metrics)}.")
    with naming("metrics"):
        by_name = {_name(metric): with_convention(metric, convention) for metric in metrics}
    if not by_name:
        raise ValueError(f"metrics must be at least one; got {quote(metrics)}.")
    first_metric = next(iter(by_name.values()))
    splits = make_splits(data, cv, random_state)
    _check_splits(splits)
    searches = {name: Search(g, first_metric, inner_cv) for name, g in (grid or {}).items()}
    seeded = {name: _seeded(adapted(each), random_state) for name, each in rankers.items()}
    folder = None if store is None else Store(Path(store))
    if folder is not None:
        folder.check()
    jobs = [
        Job(name, ranker, split, searches.get(name), by_name, folder)
        for split in splits
        for name, ranker in seeded.items()
    ]
    results = _run(jobs, n_jobs)
    outcomes = {(each.ranker, each.split): each for each in results if isinstance(each, Outcome)}
    failures = tuple(each for each in results if isinstance(each, Failure))
    warn_of_unjudged(min((each.judged for each in outcomes.values()), default=1.0))
    names = tuple(split.name for split in splits)
    return Comparison(tuple(rankers), names, tuple(by_name), convention, outcomes, failures)


@dataclass(frozen=True, eq=False)
class Job:
    """A ranker to fit to a split, and what to do with the result."""

    name: str
    ranker: Any
    split: SplitSource
    search: Search | None
    metrics: Mapping[str, Metric | FunctionMetric]
    store: Store | None


def run_job(job: Job) -> Outcome | Failure:
    """Return the results of a job, from its store if they are there, or its failure."""
    split = job.split.split()
    fitted = _load_or_fit(job, split)
    if isinstance(fitted, Failure):
        return fitted
    _, y, qid = split.test
    values = {name: metric.per_query(y, fitted.scores, qid) for name, metric in job.metrics.items()}
    return Outcome(
        ranker=job.name,
        split=split.name,
        queries=np.unique(qid),
        values=values,
        test_to_train=split.test_to_train,
        best_params=fitted.best_params,
        seconds=fitted.seconds,
        judged=judged_share(y, fitted.scores, qid),
    )


def _load_or_fit(job: Job, split: Split) -> Fitted | Failure:
    """Return the stored fit of a job, or fit and store it. An error of the store is raised."""
    if job.store is None:
        return _fit(job, split)
    configuration = configuration_of(job.ranker, job.search, split)
    key = key_of(configuration)
    stored = job.store.read(job, key)
    if stored is not None and len(stored.scores) == len(split.test):
        return stored
    fitted = _fit(job, split)
    if isinstance(fitted, Fitted):
        job.store.write(job, key, fitted, configuration)
    return fitted


def _fit(job: Job, split: Split) -> Fitted | Failure:
    """Return the fit of a job, or its failure."""
    try:
        return fit_and_predict(job.ranker, split, job.search)
    except Exception as error:
        trace = traceback.format_exc()
        return Failure(job.name, split.name, f"{type(error).__name__}: {error}", trace)


def _run(jobs: Sequence[Job], n_jobs: int) -> list[Outcome | Failure]:
    """Run jobs in parallel and return their results in the order of the jobs."""
    parallel = joblib.Parallel(n_jobs=min(n_jobs, len(jobs)), return_as="generator_unordered")
    outcomes: list[Outcome | Failure] = []
    tell = current_listener()
    with listening(ignore_progress):  # whole fits are counted here, not the iterations of each
        for outcome in parallel(joblib.delayed(run_job)(job) for job in jobs):
            outcomes.append(outcome)
            if isinstance(outcome, Failure):
                warnings.warn(str(outcome), UserWarning, stacklevel=3)
            tell(len(outcomes), len(jobs), f"{outcome.ranker} on {outcome.split}")
    place = {(job.name, job.split.name): i for i, job in enumerate(jobs)}
    return sorted(outcomes, key=lambda outcome: place[outcome.ranker, outcome.split])


def _check(rankers, n_jobs):
    """Refuse wrong arguments before the work begins."""
    if not rankers:
        raise TypeError("rankers must name some, such as {'ours': TreeDirectRanker()}; got none.")
    for name, ranker in rankers.items():
        missing = [verb for verb in ("fit", "predict", "get_params") if not hasattr(ranker, verb)]
        if missing:
            raise TypeError(f"rankers must have {missing[0]}; {name!r} is {quote(ranker)}.")
        if isinstance(ranker, type) or not isinstance(name, str):
            raise TypeError(f"rankers must be objects by name; got {name!r}: {quote(ranker)}.")
        _check_settings(name, ranker)
    if n_jobs != -1:
        check_count("n_jobs", n_jobs)


def _check_search(rankers, grid, inner_cv):
    """Refuse a grid that names no ranker, or settings that its ranker does not take."""
    unknown = set(grid) - set(rankers)
    if unknown or not isinstance(grid, Mapping):
        raise ValueError(
            f"grid must be by name of ranker, {list(rankers)}; got {sorted(unknown)!r}."
        )
    check_cv("inner_cv", inner_cv)
    for name, parameters in grid.items():
        for candidate in ParameterGrid(parameters):
            _check_settings(name, clone(rankers[name]).set_params(**candidate))


def _check_settings(name, ranker):
    """Refuse settings of a ranker of this package, and one whose packages are not installed."""
    if isinstance(ranker, Ranker):
        try:
            get_tags(ranker)  # imports the feature part
            ranker.check_settings()
            for part in ranker.get_params(deep=False).values():
                if has_methods(part, "get_params"):
                    check_parameters(part)
        except (ValueError, TypeError) as error:
            raise type(error)(f"rankers[{name!r}]: {error}") from error


def _check_splits(splits):
    """Refuse no splits, and splits of the same name."""
    names = [split.name for split in splits]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"data and cv must give at least one split, each with its own name; got {names!r}."
        )


def _name(metric):
    """Return the name of a metric as the user wrote it."""
    return metric if isinstance(metric, str) else with_convention(metric).name


def _seeded(ranker, random_state):
    """Return a clone with a seed; its parts get it if it has no ``random_state``, as a pipeline."""
    ranker = clone(ranker)
    own = ranker.get_params(deep=False)
    params = own if "random_state" in own else ranker.get_params()
    unset = [n for n, v in params.items() if n.split("__")[-1] == "random_state" and v is None]
    return ranker.set_params(**dict.fromkeys(unset, random_state))
