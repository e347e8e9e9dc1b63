"""Comparisons: run a comparison of rankers and reduce it to what a file of results holds."""

import ast
import warnings

import numpy as np
from parameters import as_compared
from protocol import STORE, say
from scipy.spatial.distance import squareform

from treerank.evaluation import compare
from treerank.progress import listening
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
            result = comparison.test(metric, test, rankers=complete, adjust=adjust)
        except ValueError as error:  # a single ranker, or two that are alike
            untested.append(str(error))
            continue
        results[test] = {
            "names": list(result.names),
            "p_values": result.p_values[np.triu_indices(len(result.names), 1)].tolist(),
            "adjusted": result.adjusted,
        }
    return results | ({"untested": untested} if untested else {})


def _seconds(comparison):
    fits = comparison.fits
    names = ("search_seconds", "fit_seconds", "predict_seconds")
    return {
        ranker: {name: round(float(fits.where(ranker=ranker)[name].mean()), 4) for name in names}
        for ranker in comparison.complete
    }


def _best_params(comparison):
    fits = comparison.fits
    return {
        ranker: by_parameter(fits.where(ranker=ranker)["best_params"].tolist())
        for ranker in comparison.complete
    }


def by_parameter(texts):
    """Return a list over splits for each parameter, from one printed dictionary per split."""
    by_split = [ast.literal_eval(text) for text in texts]
    return {name: [chosen[name] for chosen in by_split] for name in by_split[0]}


def square(p_values):
    """Return the symmetric matrix of the p-values of all pairs, with NaN on the diagonal."""
    matrix = squareform(p_values)
    np.fill_diagonal(matrix, np.nan)
    return matrix
