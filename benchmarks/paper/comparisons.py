"""Comparisons: run a comparison of rankers and reduce it to what a file of results holds."""

import itertools
import warnings

import numpy as np
from parameters import as_compared
from protocol import STORE, say
from scipy.spatial.distance import squareform

from treerank.evaluation import compare
from treerank.progress import listening
from treerank.statistics.paired import adjust_holm
from treerank.statistics.resampled import corrected_standard_error


def compared(arguments, experiment, rankers, data, **options):
    """Compare rankers, reusing the fits in the store, and return JSON values."""
    return as_result(comparison_of(arguments, experiment, rankers, data, **options))


def comparison_of(arguments, experiment, rankers, data, **options):
    """Compare rankers, reusing the fits in the store."""
    with (
        warnings.catch_warnings(),
        listening(lambda done, _, last: say(f"{experiment} {done}: {last}")),
    ):
        warnings.simplefilter("ignore")
        return compare(
            {name: as_compared(ranker) for name, ranker in rankers.items()},
            data,
            n_jobs=arguments.jobs,
            store=STORE / experiment,
            **options,
        )


def as_result(comparison):
    """Return means by split, errors, tests and costs of a comparison as JSON values."""
    metrics = {metric: _metric_result(comparison, metric) for metric in comparison.metrics}
    return {
        "rankers": list(comparison.rankers),
        "splits": list(comparison.splits),
        "convention": comparison.convention,
        "test_to_train": comparison.test_to_train,
        "metrics": metrics,
        "seconds": _seconds(comparison),
        "best_params": _best_params(comparison),
        "failures": [str(failure) for failure in comparison.failures],
    }


def _metric_result(comparison, metric):
    by_split = comparison.by_split(metric)
    complete = [name for name in comparison.rankers if name in comparison.complete]
    columns = [comparison.rankers.index(name) for name in complete]
    means = dict(zip(complete, by_split[:, columns].mean(axis=0).tolist(), strict=True))
    errors = {
        name: float(corrected_standard_error(by_split[:, c], comparison.test_to_train))
        for name, c in zip(complete, columns, strict=True)
        if len(by_split) > 1
    }
    by_name = dict(zip(complete, by_split[:, columns].T.tolist(), strict=True))
    return {"mean": means, "error": errors, "by_split": by_name} | _tests(
        comparison, metric, complete
    )


def _tests(comparison, metric, complete):
    """Return p-values over splits, as published without adjustment, and by Holm over queries."""
    results, untested = {}, []
    for test, adjust in (("corrected_t", False), ("randomization", True)):
        try:
            pairs = itertools.combinations(complete, 2)
            p_values = [comparison.test(metric, *pair, test=test).p_value for pair in pairs]
        except ValueError as error:  # a single ranker, or two that are alike
            untested.append(str(error))
            continue
        results[test] = {
            "names": complete,
            "p_values": adjust_holm(p_values).tolist() if adjust else p_values,
            "adjusted": adjust,
        }
    return results | ({"untested": untested} if untested else {})


def _seconds(comparison):
    names = ("search_seconds", "fit_seconds", "predict_seconds")
    means = {
        ranker: np.mean([outcome.seconds for outcome in outcomes_of(comparison, ranker)], axis=0)
        for ranker in comparison.complete
    }
    return {
        ranker: dict(zip(names, mean.round(4).tolist(), strict=True))
        for ranker, mean in means.items()
    }


def _best_params(comparison):
    chosen = {
        ranker: [outcome.best_params for outcome in outcomes_of(comparison, ranker)]
        for ranker in comparison.complete
    }
    return {
        ranker: {name: [params[name] for params in by_split] for name in by_split[0]}
        for ranker, by_split in chosen.items()
    }


def outcomes_of(comparison, ranker):
    """Return the results of a ranker on each split that it was fitted to."""
    return [found for (name, _), found in comparison.outcomes.items() if name == ranker]


def square(p_values):
    """Return the symmetric matrix of the p-values of all pairs, with NaN on the diagonal."""
    matrix = squareform(p_values)
    np.fill_diagonal(matrix, np.nan)
    return matrix
