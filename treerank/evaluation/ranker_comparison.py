"""Comparison: values per query of several rankers on the same splits, and tests on them.

What is random differs: where a data set is split several times, the splits (and the training
sets with them); where each query is tested once, the queries, given the models. So the
corrected t-test goes over splits, and the others over queries, each by its mean over the splits
that test it.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from treerank.evaluation.result_table import ResultTable
from treerank.evaluation.summary import make_summary
from treerank.statistics.mean_ranks import nemenyi_test
from treerank.statistics.pairwise_tests import find_test, pairwise_tests
from treerank.statistics.resampled import corrected_resampled_t_test


@dataclass(frozen=True, eq=False)
class Outcome:
    """One ranker on one split.

    Attributes
    ----------
    ranker, split : str
        Names.
    queries : ndarray of shape (n_queries,)
        Ids, rising.
    values : dict from str to ndarray of shape (n_queries,)
        By metric; NaN where there is nothing to find.
    fingerprint : str
        Of the data.
    test_to_train : float
        Ratio of the numbers of queries.
    best_params : dict
        What the search chose.
    seconds : tuple of three floats
        Of search, fit and predict.
    """

    ranker: str
    split: str
    queries: np.ndarray
    values: dict[str, np.ndarray]
    fingerprint: str
    test_to_train: float
    best_params: dict[str, Any]
    seconds: tuple[float, float, float]


@dataclass(frozen=True)
class Failure:
    """A ranker that failed on a split.

    Attributes
    ----------
    ranker, split : str
        Names.
    error : str
        Type and message.
    trace : str
        Where it was raised.
    """

    ranker: str
    split: str
    error: str
    trace: str = field(default="", repr=False)

    def __str__(self):
        """Say it in one line."""
        return f"{self.ranker} failed on split {self.split}: {self.error}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rankers on the same splits.

    Attributes
    ----------
    rankers, splits, metrics : tuple of str
        Names.
    convention : str
        How the metrics are meant.
    outcomes : dict from (str, str) to Outcome
        By ranker and split.
    failures : tuple of Failure
        What is missing there.
    """

    rankers: tuple[str, ...]
    splits: tuple[str, ...]
    metrics: tuple[str, ...]
    convention: str
    outcomes: dict[tuple[str, str], Outcome]
    failures: tuple[Failure, ...] = ()

    @classmethod
    def of(cls, rankers, metrics, convention, results):
        """Gather outcomes and failures."""
        splits = tuple(dict.fromkeys(result.split for result in results))
        failures = tuple(result for result in results if isinstance(result, Failure))
        outcomes = {(r.ranker, r.split): r for r in results if not isinstance(r, Failure)}
        return cls(rankers, splits, metrics, convention, outcomes, failures)

    @cached_property
    def values(self):
        """One row per ranker, split, query and metric."""
        cells = [(o, metric) for o in self.outcomes.values() for metric in self.metrics]
        sizes = [len(o.queries) for o, _ in cells]

        def column(entries):
            return np.repeat(np.array(entries), sizes)

        empty = np.empty(0)
        return ResultTable(
            {
                "ranker": column([o.ranker for o, _ in cells]),
                "split": column([o.split for o, _ in cells]),
                "query": np.concatenate([o.queries for o, _ in cells] or [empty]),
                "metric": column([metric for _, metric in cells]),
                "value": np.concatenate([o.values[metric] for o, metric in cells] or [empty]),
            }
        )

    @cached_property
    def fits(self):
        """One row per ranker and split: seconds, and the parameters chosen, as text."""
        outcomes = list(self.outcomes.values())
        names = ("search_seconds", "fit_seconds", "predict_seconds")
        seconds = np.array([o.seconds for o in outcomes]).reshape(-1, 3)
        return ResultTable(
            {
                "ranker": np.array([o.ranker for o in outcomes]),
                "split": np.array([o.split for o in outcomes]),
                **dict(zip(names, seconds.T, strict=True)),
                "best_params": np.array([str(o.best_params) for o in outcomes]),
            }
        )

    @property
    def complete(self):
        """Rankers that have a result for every split."""
        return tuple(r for r in self.rankers if all((r, s) in self.outcomes for s in self.splits))

    @property
    def test_to_train(self):
        """Number of queries tested on over number trained on, the mean over splits."""
        by_split = {o.split: o.test_to_train for o in self.outcomes.values()}
        return float(np.mean(list(by_split.values())))

    def by_split(self, metric):
        """Return the mean over queries, of shape (n_splits, n_rankers); NaN if it failed."""
        self._check_metric(metric)
        means = np.full((len(self.splits), len(self.rankers)), np.nan)
        for (ranker, split), outcome in self.outcomes.items():
            values = outcome.values[metric]
            if not np.isnan(values).all():
                place = self.splits.index(split), self.rankers.index(ranker)
                means[place] = np.nanmean(values)
        return means

    def by_query(self, metric):
        """Return values by query, of shape (n_queries, n_rankers), NaN if it failed.

        Queries are in rising order of ids; one that several splits test has its mean.
        """
        self._check_metric(metric)
        found = [self._queries_of(ranker, metric) for ranker in self.rankers]
        ids = np.unique(np.concatenate([queries for queries, _ in found]))
        values = np.full((len(ids), len(self.rankers)), np.nan)
        for column, (queries, means) in enumerate(found):
            values[np.searchsorted(ids, queries), column] = means
        return values

    def _queries_of(self, ranker, metric):
        outcomes = [o for o in self.outcomes.values() if o.ranker == ranker]
        if not outcomes:
            return np.empty(0, dtype=next(iter(self.outcomes.values())).queries.dtype), []
        queries, codes = np.unique(
            np.concatenate([o.queries for o in outcomes]), return_inverse=True
        )
        values = np.concatenate([o.values[metric] for o in outcomes])
        return queries, np.bincount(codes, values) / np.bincount(codes)

    def test(self, metric, test=None, *, rankers=None, adjust=True, **settings):
        """Test every ranker against every other.

        Parameters
        ----------
        metric : str
            One of ``metrics``.
        test : {"corrected_t", "randomization", "wilcoxon"} or callable, default=None
            The first goes over splits, the others over queries; None takes the first if there
            are at least two splits, else the second.
        rankers : sequence of str, default=None
            Which ones; None is all.
        adjust : bool, default=True
            Whether to adjust for the number of pairs, by Holm.
        **settings
            Settings of the test.

        Returns
        -------
        PairwiseResult

        Raises
        ------
        ValueError
            A ranker failed on a split, so that results are not paired; or two do not differ; or
            there is one split only for a test over splits.
        """
        rankers = self.rankers if rankers is None else tuple(rankers)
        table, test, settings = self._prepared(metric, test, rankers, settings)
        return pairwise_tests(table, rankers, test=test, adjust=adjust, **settings)

    def nemenyi(self, metric, *, alpha=0.05):
        """Compare mean ranks over queries; see :func:`~treerank.statistics.nemenyi_test`."""
        self._check_paired(self.rankers)
        return nemenyi_test(self.by_query(metric), alpha=alpha)

    def summary(self, *, reference="best", test=None, alpha=0.05, **settings):
        """Return a table of means with marks of what differs from a reference.

        Parameters
        ----------
        reference : str, default="best"
            A ranker's name, or ``"best"`` for the best of each metric.
        test, **settings
            As in :meth:`test`.
        alpha : float, default=0.05
            Level for each metric, adjusted by Holm: for the pairs with a ranker named, for all
            pairs with ``"best"``, which the same values have chosen.

        Returns
        -------
        Summary
            Print it, or export it by ``to_markdown()``, ``to_latex()``, ``to_html()``.
        """
        return make_summary(self, reference, self.default_test(test), alpha, settings)

    def default_test(self, test=None):
        """Return the test to use where none is named."""
        return test or ("corrected_t" if len(self.splits) > 1 else "randomization")

    def _prepared(self, metric, test, rankers, settings):
        self._check_metric(metric)
        self._check_paired(rankers)
        test = find_test(self.default_test(test))
        over_splits = test is corrected_resampled_t_test
        if over_splits and len(self.splits) < 2:
            raise ValueError(
                f"test must be over queries where there is one split only, {self.splits[0]!r}; "
                "got 'corrected_t'."
            )
        if over_splits:
            settings = {"test_to_train": self.test_to_train} | settings
        table = self.by_split(metric) if over_splits else self.by_query(metric)
        return table[:, [self.rankers.index(name) for name in rankers]], test, settings

    def _check_metric(self, metric):
        if metric not in self.metrics:
            raise ValueError(f"metric must be one of {list(self.metrics)}; got {metric!r}.")

    def _check_paired(self, rankers):
        for name in rankers:
            if name not in self.rankers:
                raise ValueError(f"rankers must be among {list(self.rankers)}; got {name!r}.")
            if name not in self.complete:
                missing = [s for s in self.splits if (name, s) not in self.outcomes]
                raise ValueError(
                    f"rankers must have results for all splits to be paired; {name!r} has none "
                    f"for {', '.join(missing)}."
                )


def join(*comparisons):
    """Put comparisons of different rankers on the same splits together.

    Parameters
    ----------
    *comparisons : Comparison
        Of the same data, splits, metrics and convention.

    Returns
    -------
    Comparison
    """
    first = comparisons[0]
    for other in comparisons[1:]:
        for name in ("splits", "metrics", "convention"):
            mine, theirs = getattr(first, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"comparisons must have the same {name}; got {mine} and {theirs}.")
        shared = set(first.rankers) & set(other.rankers)
        if shared:
            raise ValueError(f"comparisons must be of different rankers; got {shared} twice.")
        mine, theirs = _folds_of(first), _folds_of(other)
        if any(mine[split] != theirs[split] for split in mine.keys() & theirs.keys()):
            raise ValueError("comparisons must be on the same folds; got different data in them.")
        first = Comparison(
            first.rankers + other.rankers,
            first.splits,
            first.metrics,
            first.convention,
            first.outcomes | other.outcomes,
            first.failures + other.failures,
        )
    return first


def _folds_of(comparison):
    return {outcome.split: outcome.fingerprint for outcome in comparison.outcomes.values()}
