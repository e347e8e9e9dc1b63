"""Running a comparison: every ranker is fitted to and scored on every split, in parallel.

Rankers that were fitted before are only scored. Finished fits can be stored. Scores from anywhere
are compared by :mod:`treerank.evaluation.given_scores`.
"""

import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from treerank.checks import MAX_SEED, check_count, has_methods, naming, quote, warn_user
from treerank.datasets.folds import Split
from treerank.documents.columns import Columns, as_frame
from treerank.documents.labels import are_judged
from treerank.documents.ranking_data import RankingData
from treerank.documents.reading import accepted_by
from treerank.documents.training_queries import (
    UNLESS_LATER,
    QueryOverlap,
    cut_or_not,
    overlap_with_training,
    partly_seen,
)
from treerank.evaluation.data_splits import (
    Clusters,
    SplitSource,
    check_cv,
    has_splits,
    make_splits,
)
from treerank.evaluation.engine_rankers import duplicate
from treerank.evaluation.fits import Fitted, Search, fit_and_predict, predict_only
from treerank.evaluation.fitted_rankers import (
    fitted_without_labels,
    is_fitted,
    learns_from_labels,
    read_models,
    scored_names,
)
from treerank.evaluation.labels import (
    HumanLabels,
    as_passed,
    check_defined,
    check_label_weights,
    highest_labels,
    judged_labels_share,
    of_queries_with,
    values_by_query,
)
from treerank.evaluation.pipelines import PipelineRanker, adapted
from treerank.evaluation.ranker_comparison import ByPeople, Comparison, Failure, Outcome
from treerank.evaluation.store import Store, configuration_of, describe, key_of
from treerank.metrics.base import Metric
from treerank.metrics.judged import depth_of, warn_of_unjudged
from treerank.metrics.registry import (
    FunctionMetric,
    Metrics,
    as_metrics,
    describe_metrics,
    refuse_equal_names,
    with_convention,
)
from treerank.parameters import Rule, check_arguments, check_parameters
from treerank.progress import current_listener, ignore_progress, listening
from treerank.rankers.column_ranker import ColumnRanker
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import check_settings
from treerank.spelling import current_options, has_spelling, spelling
from treerank.statistics.clusters import ClustersOfRows
from treerank.statistics.double_sampling import WEAK


@check_arguments
def compare(
    rankers: Mapping[str, Any],
    data: Any,
    *,
    cv: Any = None,
    metrics: Metrics = ("ndcg@10", "map"),
    convention: str = "treerank",
    label_weights: Mapping[str, float] | None = None,
    human_labels: Any = None,
    clusters: ClustersOfRows = None,
    grid: Mapping[str, Any] | None = None,
    inner_cv: Any = 3,
    n_jobs: int = 1,
    store: str | Path | None = None,
    random_state: Annotated[int, Rule(check_count, at_least=0, at_most=MAX_SEED)] = 0,
) -> Comparison:
    """Compare rankers on the same queries, with confidence intervals and significance tests.

    Unfitted rankers are fitted to the training set of each split, and scored on its test set.
    Fitted rankers and model files are only scored, on the same test sets; if all rankers are
    fitted, all of the data is the test set. A :class:`~treerank.rankers.ColumnRanker` learns from
    no labels, so it needs no training set, fitted or not. The table says which rankers were fitted
    before. If a ranker of this package was trained on test queries, a warning names it.

    :func:`treerank.show_progress` shows the number of finished fits. If a ranker fails on a split,
    it has no result there, a warning says so, and the table has the number of splits that each mean
    is over. :func:`treerank.compare_scores` compares scores from anywhere.

    Parameters
    ----------
    rankers : dict from str to estimator or path
        Estimators with ``fit(X, y)`` or ``fit(X, y, qid)`` and ``predict(X)``, or estimators whose
        ``fit`` takes groups, such as ``LGBMRanker()``. They are cloned, and a ``random_state`` of
        None is set, also in the steps of a pipeline. Fitted estimators are not changed. A path
        names a file that ``ranker.save`` wrote.
    data : path, iterable of Split, RankingData or tuple (X, y, qid)
        A LETOR folder and folds have splits of their own; other data are split by ``cv``. ``y`` may
        have several labels if all rankers take them: then a metric is the weighted mean of the
        labels' metrics, and the table also shows each label's metric.
    cv : int, splitter or iterable of (train, test), default=None
        Number of shuffled folds of whole queries, 5 if None; or a splitter, such as
        ``QueryShuffleSplit(15, random_state=0)`` for 15 hold-outs; or arrays of rows. It must be
        None if any ranker is fitted to labels; a fitted ColumnRanker is not.
    metrics : str or Metric, or sequence of them, default=("ndcg@10", "map")
        Names of metrics, or functions ``f(y, scores, qid) -> float`` of your own; higher is better,
        so negate a loss. A function is called for the documents of one query at a time; ``qid``
        repeats the id of this query. All metrics must have different names.
    convention : {"treerank", "letor4"}, default="treerank"
        Settings of the metrics; see :data:`treerank.metrics.CONVENTIONS`.
    label_weights : dict from str to float, default=None
        Weights of several labels in the metrics; labels that are not named have weight 1. The
        weights for training are a parameter of each ranker. It must be None with ``human_labels``.
    human_labels : array-like of shape (n_documents,) or str, default=None
        Human labels of some queries, where ``y`` are an LLM's labels of all; NaN where no person
        has judged. Values and differences are then estimates under human labels, see
        :func:`treerank.statistics.prediction_powered_mean`. People must have judged at least 20
        test queries, drawn at random, and the LLM must not have been tuned on them. Queries that
        the LLM has not graded are left out, with a warning if people have judged some. A str is the
        name of a column of ``X``, or of one of two labels of ``y``. You can also pass data of the
        same documents, such as the result of :func:`treerank.read_runs`; its labels are used.
        Rankers are fitted to ``y``; if it has two labels, by their own ``label_weights``.
    clusters : array-like of shape (n_documents,) or str, default=None
        Cluster of each document, such as its user, if queries of a cluster are correlated. A str is
        the name of a column of ``X``, also of one of ``qid``. Intervals and tests over queries then
        draw whole clusters. Folds keep clusters whole, except those of
        :class:`~treerank.QueryTimeSplit` and of arrays of rows. None means that queries are
        independent.
    grid : dict from str to (dict or list of dict), default=None
        Grid of hyperparameters for each ranker, as in scikit-learn. They are searched on each
        training set, and the best by the first metric are used. A ranker without a grid keeps its
        parameters.
    inner_cv : int or splitter, default=3
        How to split training sets for the search; if a ``Split`` has a validation set, that is used
        instead. Rankers of this package, LGBMRanker, XGBRanker and CatBoostRanker, and pipelines
        that end in one, stop early by the validation set. The table names rankers that do not.
    n_jobs : int, default=1
        Number of processes, -1 for one per core. Each process fits one ranker to one split at a
        time, on its share of the cores.
    store : str or Path, default=None
        Folder for finished fits. An interrupted comparison resumes there. A ranker of another
        configuration is fitted again, also if a function or a class of your own was edited; what
        these call from other modules counts by its name, see :mod:`treerank.evaluation.store`.
    random_state : int, default=0
        Seed of the splits and of rankers without one.

    Returns
    -------
    Comparison
        Values by query and split. ``print`` it, or its ``summary()``, to see the table.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from treerank.datasets.web_search import make_web_search
    >>> rankers = {"linear": LinearRegression(), "stump": DecisionTreeRegressor(max_depth=1)}
    >>> data = make_web_search(60, documents_per_query=10, random_state=0)
    >>> comparison = compare(rankers, data, cv=4)
    >>> comparison.by_split("ndcg@10").shape
    (4, 2)
    >>> fitted = {name: ranker.fit(*data[:2]) for name, ranker in rankers.items()}
    >>> new = make_web_search(20, documents_per_query=10, random_state=1)
    >>> compare(fitted, new).by_query("ndcg@10").shape
    (20, 2)
    """
    _check(rankers, n_jobs)
    rankers = read_models(rankers)
    before = scored_names(rankers, grid or {}, has_splits=cv is not None or has_splits(data))
    _refuse_for_fitted(rankers, before, cv, grid or {})
    unfitted = {name: ranker for name, ranker in rankers.items() if name not in before}
    _check_rankers({name: r for name, r in rankers.items() if not is_fitted(r)})
    seeded = {
        name: ranker if name in before else _seeded(adapted(ranker), random_state)
        for name, ranker in rankers.items()
    }
    _check_search(seeded, grid or {}, inner_cv)
    by_name = metrics_by_name(metrics, convention)
    first_metric = next(iter(by_name.values()))
    only_test = cv is None and len(before) == len(rankers)
    extra = {"human_labels": human_labels, "clusters": clusters}
    splits = make_splits(data, cv, random_state, only_test=only_test, **extra)
    _check_splits(splits)
    check_label_weights(label_weights, splits[0].labels, human_labels is not None)
    if not all(split.has_ids for split in splits):
        refuse_lost_ids(by_name)
    _check_human_labels(splits, by_name)
    _check_training_sets(splits, unfitted)
    if not isinstance(data, str | Path):
        _check_columns(splits[0], unfitted)
        _check_column_rankers(
            splits[0], {name: r for name, r in rankers.items() if name not in (grid or {})}
        )
    _check_labels(splits[0].labels, unfitted, grid)
    searches = {name: Search(g, first_metric, inner_cv) for name, g in (grid or {}).items()}
    folder = None if store is None else Store(Path(store))
    if folder is not None:
        folder.check()
        describe([[seeded[name] for name in unfitted], searches])  # raises before any fit
    scoring = Scoring(by_name, label_weights, _highest_labels(splits, by_name))
    jobs = [
        Job(name, ranker, split, searches.get(name), scoring, folder, name in before)
        for split in splits
        for name, ranker in seeded.items()
    ]
    results = _run(jobs, n_jobs)
    outcomes = {(r.ranker, r.split): r for r in results if isinstance(r, Outcome)}
    failures = tuple(result for result in results if isinstance(result, Failure))
    scoring.warn_of_unjudged([*outcomes.values()])
    names = tuple(split.name for split in splits)
    columns = next((tuple(outcome.values) for outcome in outcomes.values()), tuple(by_name))
    comparison = Comparison(
        rankers=tuple(rankers),
        splits=names,
        metrics=columns,
        convention=convention,
        outcomes=outcomes,
        failures=failures,
        scoring=describe_metrics(by_name.values(), convention),
    )
    _warn_of_seen(comparison)
    warn_of_weak_labels(comparison)
    return comparison


def metrics_by_name(metrics: Metrics, convention: str) -> dict[str, Metric | FunctionMetric]:
    """Return metrics by name, with the settings of a convention.

    Refuses two metrics of one name, and none at all.

    Examples
    --------
    >>> from treerank import NDCG
    >>> [*metrics_by_name(["ndcg@5", NDCG(5, gain="linear")], "treerank")]
    ['ndcg@5', "ndcg(gain='linear')@5"]
    >>> [*metrics_by_name(NDCG(5), "treerank")]
    ['ndcg@5']
    """
    with naming("metrics"):
        given = as_metrics(metrics)
        refuse_equal_names("metrics", [with_convention(metric) for metric in given])
        by_name = {with_convention(m).name: with_convention(m, convention) for m in given}
    if not by_name:
        raise ValueError(f"metrics must be at least one; got {quote(metrics)}.")
    return by_name


@dataclass(frozen=True)
class Scoring:
    """Metrics by name, the weights of several labels, and the highest label of all test sets."""

    metrics: Mapping[str, Metric | FunctionMetric]
    label_weights: Mapping[str, float] | None = None
    max_labels: Mapping[str, float] | None = None

    @property
    def judged_depth(self) -> int:
        """Number of the first documents of a query that should be judged."""
        return depth_of(self.metrics.values())

    def warn_of_unjudged(self, outcomes: Sequence[Outcome]) -> None:
        """Warn if many of the first documents of a ranker are not judged."""
        shares = (outcome.judged for outcome in outcomes)
        warn_of_unjudged(min(shares, default=1.0), self.judged_depth)

    def outcome(
        self,
        ranker: str,
        split: str,
        fitted: Fitted,
        test: RankingData,
        human: HumanLabels | None = None,
        clusters: Clusters | None = None,
        **further: Any,
    ) -> Outcome:
        """Return the metric values of a ranker's scores on a test set, as an :class:`Outcome`.

        ``ranker`` and ``split`` are names, and ``human`` human labels of the test set, by which
        values are computed, too. Queries that the LLM has not graded are then left out.
        ``clusters`` are those of the test set. ``further`` are other fields of the outcome.
        """
        if clusters is not None:
            further["clusters"] = clusters.by_query(test.qid)
            further["has_cut_clusters"] = clusters.in_training
        y, qid, scores, by_people = test.y, test.qid, fitted.scores, None
        judged = 1.0
        if human is not None:
            y = human.without(y)
            mask, _ = of_queries_with(are_judged(y), qid)  # others carry no information
            y, qid, scores, of_people = y[mask], qid[mask], scores[mask], human.y[mask]
            some, is_judged = of_queries_with(~np.isnan(of_people), qid)
            values = {name: np.full(len(is_judged), np.nan) for name in self.metrics}
            if some.any():  # else a split has no query of people's
                of_some = of_people[some], scores[some], qid[some]
                judged_values = values_by_query(self.metrics, *of_some, max_labels=self.max_labels)
                for name, column in judged_values.items():
                    values[name][is_judged] = column
            by_people = ByPeople(values, is_judged, fitted_to_both=human.name is not None)
            judged = self._judged(of_people[some], scores[some], qid[some])
        return Outcome(
            ranker=ranker,
            split=split,
            queries=np.unique(qid),
            values=values_by_query(
                self.metrics, y, scores, qid, self.label_weights, self.max_labels
            ),
            best_params=fitted.best_params,
            seconds=fitted.seconds,
            judged=min(judged, self._judged(y, scores, qid)),
            watched=fitted.watched,
            by_people=by_people,
            has_labels=of_queries_with(are_judged(as_passed(y)), qid)[1],
            **further,
        )

    def _judged(self, y: np.ndarray, scores: np.ndarray, qid: np.ndarray) -> float:
        """Return the share of the first documents that are judged."""
        return judged_labels_share(y, scores, qid, self.judged_depth)


@dataclass(frozen=True, eq=False)
class Job:
    """A ranker to fit to a split and score there, or only to score.

    Attributes
    ----------
    name : str
        Name of the ranker.
    ranker : estimator
        The ranker, with a seed.
    split : SplitSource
        The split.
    search : Search or None
        Search of hyperparameters before the fit.
    scoring : Scoring
        The metrics.
    store : Store or None
        Folder of finished fits.
    is_fitted : bool
        Whether the ranker was fitted before, or learns from no labels, and is only scored.
    """

    name: str
    ranker: Any
    split: SplitSource
    search: Search | None
    scoring: Scoring
    store: Store | None
    is_fitted: bool

    @property
    def learns(self) -> bool:
        """Whether fits of the ranker depend on labels."""
        return learns_from_labels(self.ranker)


def run_job(job: Job) -> Outcome | Failure:
    """Return the outcome of a job, from its store if it was finished before, or its failure."""
    split = job.split.split()
    fitted = _load_or_fit(job, split)
    if isinstance(fitted, Failure):
        return fitted
    further: dict[str, Any] = {"test_to_train": split.test_to_train}
    if job.is_fitted:
        further |= {
            "fitted_before": True,
            "seen": _seen(job, split.test),
            "learns": job.learns or is_fitted(job.ranker),
        }
    beside: dict[str, Any] = {"human": job.split.human, "clusters": job.split.clusters}
    return job.scoring.outcome(job.name, split.name, fitted, split.test, **beside, **further)


def _seen(job: Job, test: RankingData) -> QueryOverlap | None:
    """Return how many test queries the fitted ranker of a job was trained on; None is unknown.

    Where people have judged some of the documents that an LLM has graded, the ranker may have been
    fitted to the labels of either: those by which more queries are the very same ones decide.
    """
    if not job.learns and getattr(job.ranker, "training_queries_", None) is None:
        return QueryOverlap(0, 0, 0)
    human = job.split.human
    labels = [as_passed(test.y)] + ([] if human is None else [human.y])
    by_labels = [overlap_with_training(job.ranker, test.X, y, test.qid) for y in labels]
    overlaps = [overlap for overlap in by_labels if overlap is not None]
    return max(overlaps, key=lambda of: (of.n_same, of.n_shared, of.n_queries), default=None)


def _load_or_fit(job: Job, split: Split) -> Fitted | Failure:
    """Return the stored fit of a job, or fit and store it; fitted rankers are not stored."""
    if job.store is None or job.is_fitted:
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
    """Return the fit of a job, or the scores of a fitted ranker.

    An exception becomes a ``Failure``.
    """
    try:
        if job.is_fitted:
            return predict_only(fitted_without_labels(job.ranker, split.test), split)
        return fit_and_predict(job.ranker, split, job.search)
    except Exception as error:
        trace = traceback.format_exc()
        return Failure(job.name, split.name, f"{type(error).__name__}: {error}", trace)


def _run_recorded(
    job: Job, options: Mapping[str, str] | None
) -> tuple[Outcome | Failure, list[tuple[str, type[Warning]]]]:
    """Return the outcome of a job and its warnings, for the process that runs the comparison.

    Messages name arguments by these ``options``, as in that process.
    """
    with spelling(options), warnings.catch_warnings(record=True) as caught:
        outcome = run_job(job)
    return outcome, [(str(warning.message), warning.category) for warning in caught]


def _run(jobs: Sequence[Job], n_jobs: int) -> list[Outcome | Failure]:
    """Run jobs in parallel and return their results in the order of the jobs.

    A warning of several fits is given once, and so is the same error of a ranker.
    """
    parallel = joblib.Parallel(n_jobs=min(n_jobs, len(jobs)), return_as="generator_unordered")
    outcomes: list[Outcome | Failure] = []
    failed = set[tuple[str, str]]()
    listener = current_listener()
    has_splits = len({job.split.name for job in jobs}) > 1
    warned_of: set[tuple[str, type[Warning]]] = set()
    options = current_options()  # not within the generator, which joblib's threads continue
    calls = (joblib.delayed(_run_recorded)(job, options) for job in jobs)
    with listening(ignore_progress):  # whole fits are counted here, not the iterations of each
        for outcome, caught in parallel(calls):
            outcomes.append(outcome)
            for warning in caught:
                if warning not in warned_of:
                    warned_of.add(warning)
                    warn_user(*warning)
            if isinstance(outcome, Failure) and (outcome.ranker, outcome.error) not in failed:
                failed.add((outcome.ranker, outcome.error))
                warn_user(str(outcome))
            where = f" on split {outcome.split}" if has_splits else ""
            listener(len(outcomes), len(jobs), f"{outcome.ranker}{where}")
    number = {(job.name, job.split.name): i for i, job in enumerate(jobs)}
    return sorted(outcomes, key=lambda outcome: number[outcome.ranker, outcome.split])


def _check(rankers, n_jobs):
    """Refuse rankers that are no objects with ``predict``, by name, and a wrong ``n_jobs``."""
    if not rankers:
        raise TypeError("rankers must name some, such as {'ours': TreeDirectRanker()}; got none.")
    for name, ranker in rankers.items():
        if isinstance(ranker, type) or not isinstance(name, str):
            raise TypeError(f"rankers must be objects by name; got {quote(name)}: {quote(ranker)}.")
        if not isinstance(ranker, str | Path) and not hasattr(ranker, "predict"):
            raise TypeError(
                f"rankers must have predict; {quote(name)} is {quote(ranker)}. compare_scores "
                "takes scores."
            )
    if n_jobs != -1:
        check_count("n_jobs", n_jobs)


def _check_rankers(rankers):
    """Refuse unfitted rankers, by name, without ``get_params`` or with wrong settings."""
    for name, ranker in rankers.items():
        if not hasattr(ranker, "get_params"):
            raise TypeError(
                f"rankers must have get_params to be fitted; {quote(name)} is {quote(ranker)}. "
                "Derive its class from sklearn.base.BaseEstimator, or pass a fitted ranker."
            )
        _check_settings(name, ranker)


def _refuse_for_fitted(rankers, before, cv, grid):
    """Refuse ``cv`` and grids for rankers that were fitted before.

    ``before`` are their names. ``cv`` is allowed if none of them learned from labels.
    """
    if not before:
        return
    unfitted = [name for name in rankers if name not in before]
    learned = [name for name in before if learns_from_labels(rankers[name])]
    advice = "clone(ranker) of sklearn.base, an unfitted copy of {}"
    if cv is not None and learned:
        instead = "Leave cv out" + (", or pass folds as a list of Split" if unfitted else "")
        raise ValueError(
            f"cv must be None if a ranker is fitted, and so is only scored, as {quote(learned[0])}"
            f"; got {quote(cv)}. {instead}; or pass {advice.format(quote(learned[0]))}."
        )
    wrong = sorted(set(grid) & set(before))
    if wrong:
        raise ValueError(
            f"grid must be for unfitted rankers; got one for {quote(wrong[0])}. Pass "
            f"{advice.format(quote(wrong[0]))}."
        )


def _check_training_sets(splits, rankers):
    """Refuse splits without a training set, if there are unfitted rankers, by name."""
    for split in splits:
        if rankers and not split.has_training:
            raise ValueError(
                f"train must not be None if a ranker is unfitted, as {quote(next(iter(rankers)))}; "
                f"split {quote(split.name)} has no training set."
            )


def refuse_lost_ids(metrics: Mapping[str, Any]) -> None:
    """Refuse a metric that looks queries up by their ids, where these could not be kept."""
    for name, metric in metrics.items():
        if getattr(metric, "n_relevant", None) is not None:
            raise TypeError(
                f"qid must be all text, all numbers or all tuples for {quote(name)}, which looks "
                "up the number of relevant documents by it; got ids of several types, or others."
            )


def _check_columns(split, rankers):
    """Refuse a data frame with columns that no ranker of this package reads, such as ids."""
    if any(isinstance(ranker, Ranker) for ranker in rankers.values()):
        X = split.split().train.X
        if as_frame(X) is not None:
            with warnings.catch_warnings(action="ignore"):  # each fit will warn
                Columns.of(X)


def _check_column_rankers(split, rankers):
    """Refuse a ranker by a column that the data frame lacks: no split would have it."""
    for name, ranker in rankers.items():
        if isinstance(ranker, ColumnRanker):
            try:
                ranker.own_column(split.split().test.X)
            except ValueError as error:
                raise ValueError(f"rankers[{quote(name)}]: {error}") from error


def _check_human_labels(splits, metrics):
    """Refuse metrics that human labels define for too few tested queries."""
    tested = [(split.human, split.split().test) for split in splits if split.human is not None]
    if tested:
        check_defined(metrics, tested)


def _highest_labels(splits, metrics):
    """Return the highest label of all test sets by name; None if no metric depends on it."""
    if all(metric.on_scale(0.0) is metric for metric in metrics.values()):
        return None  # folds of files need not be read for it
    return highest_labels((split.human, split.split().test.y) for split in splits)


def _check_labels(names, rankers, grid):
    """Refuse rankers that take a single label, and grids, if there are several labels.

    ``names`` are the names of the labels, None for a single one; ``rankers`` those to be fitted.
    """
    if names is None:
        return
    for name, ranker in rankers.items():
        last = ranker.steps[-1][1] if isinstance(ranker, Pipeline) else ranker
        if not accepted_by(last).several_labels:
            raise ValueError(
                f"y must be a single label for {quote(name)}, {type(last).__name__}; got "
                f"{quote([*names])}. Fit it to one of them, and pass it fitted."
            )
    if grid:
        raise ValueError(f"grid must be None where y has several labels; got {quote([*names])}.")


def _warn_of_seen(comparison):
    """Warn of rankers, fitted before the comparison, whose training queries are also test queries.

    ``comparison`` is a ``Comparison``. Same queries with other documents get a warning of their
    own.
    """
    in_python = has_spelling("rankers")
    anew = ", or pass clone(ranker) of sklearn.base to fit it anew" if in_python else ""
    for name in comparison.fitted_before:
        seen = comparison.seen(name)
        total = sum(len(o.queries) for o in comparison.outcomes.values() if o.ranker == name)
        if seen.n_same:
            warn_user(
                f"rankers[{quote(name)}] was fitted to {seen.n_same} of the {total} test queries, "
                f"so its values are too high. Compare on queries that no ranker has seen{anew}."
            )
        if seen.n_shared:
            warn_user(
                f"rankers[{quote(name)}] was fitted to {partly_seen(seen.n_shared, total)}, so its "
                f"values are too high, {UNLESS_LATER}. Compare on queries that no ranker has "
                f"seen{anew}."
            )
        if seen.n_with_others:
            warn_user(
                f"rankers[{quote(name)}] was fitted to {seen.n_with_others} of the {total} test "
                f"queries with other documents. {cut_or_not('its values are too high')}"
            )


def warn_of_weak_labels(comparison: Comparison) -> None:
    """Warn of few labels by people, and of an LLM whose labels correlate weakly with them."""
    if not comparison.has_human_labels:
        return
    estimates = [
        (f"{metric} of {ranker}", comparison.prediction_powered(metric, ranker))
        for metric in comparison.metrics
        for ranker in comparison.complete
    ]
    weak = [
        f"{name} ({estimate.correlation:.2f})" for name, estimate in estimates if estimate.is_weak
    ]
    if weak:
        warn_user(
            "The LLM's labels add almost nothing where their correlation with human labels is "
            f"below {WEAK}: {', '.join(weak)}. Let people judge more, or improve the LLM judge."
        )
    fewest = min(
        (estimate for _, estimate in estimates), key=lambda estimate: estimate.n_human, default=None
    )
    if fewest is not None and fewest.is_small:
        warn_user(fewest.smallness)


def _check_search(rankers, grid, inner_cv):
    """Refuse grids of unknown rankers, and settings in them that a ranker refuses."""
    unknown = set(grid) - set(rankers)
    if unknown or not isinstance(grid, Mapping):
        raise ValueError(
            f"grid must be by name of ranker, {quote(list(rankers))}; got {quote(sorted(unknown))}."
        )
    check_cv("inner_cv", inner_cv)
    for name, parameters in grid.items():
        for candidate in ParameterGrid(parameters):
            tried = duplicate(rankers[name]).set_params(**candidate)
            _check_settings(name, tried.pipeline if isinstance(tried, PipelineRanker) else tried)


def _check_settings(name, ranker):
    """Refuse wrong settings of a ranker of this package, and missing extras."""
    if isinstance(ranker, Ranker):
        try:
            get_tags(ranker)  # imports the feature part
            check_settings(ranker)
            for part in ranker.get_params(deep=False).values():
                if has_methods(part, "get_params"):
                    check_parameters(part)
        except (ValueError, TypeError) as error:
            raise type(error)(f"rankers[{quote(name)}]: {error}") from error


def _check_splits(splits):
    """Refuse data without splits, or with two splits of one name."""
    names = [split.name for split in splits]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"data and cv must give at least one split, each with its own name; got {quote(names)}."
        )


def _seeded(ranker, random_state):
    """Return an unfitted copy, in which each ``random_state`` of None is set.

    The seeds of its steps or parts are set only if the ranker itself has no ``random_state``.
    """
    ranker = duplicate(ranker)
    top = ranker.get_params(deep=False)
    params = top if "random_state" in top else ranker.get_params()
    unset = [n for n, v in params.items() if n.split("__")[-1] == "random_state" and v is None]
    return ranker.set_params(**dict.fromkeys(unset, random_state))
