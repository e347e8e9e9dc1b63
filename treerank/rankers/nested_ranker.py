"""Nested ranker: the top of each list ranked again, by a ranker trained on tops alone."""

from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from treerank.inputs.documents import check_features
from treerank.inputs.grouping import QueryGroups
from treerank.rankers.ranker import Ranker


class NestedRanker(Ranker):
    """Rank again and again the top of what the ranker before left on top.

    The first ranker learns from all documents, each of the others from those that the one
    before has ranked among the first ``sizes`` of their query: it spends all it has on the
    differences that are left. The order of a list is that of the last ranker for its top, of the
    one before for what follows, and so on.

    An ``eval_set`` is handed on to rankers whose ``fit`` takes one, cut down to the tops likewise,
    so that each may stop early.

    What is on top depends on the list, so ``predict`` takes ``qid`` too, and the score of a
    document depends on which others are scored with it.

    Parameters
    ----------
    ranker : estimator
        Any ranker with ``fit(X, y, qid)`` and ``predict(X)``; cloned for each stage.
    sizes : sequence of int, default=(20,)
        How many documents of each query go on to the second stage, the third and so on; falling.
    calibration : {"eval_set", None} or float, default="eval_set"
        What pair probabilities are calibrated on; a float sets a share of the queries aside.
    random_state : int, RandomState instance or None, default=None
        Seed of rankers that have none of their own.

    Attributes
    ----------
    rankers_ : list of estimators
        The ranker of each stage. There are fewer if nothing is left to learn on top.

    Examples
    --------
    >>> from treerank.feature_parts.engines.lightgbm import LightGBMTrees
    >>> from treerank.rankers.tree_direct_ranker import TreeDirectRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(300, 2)), np.repeat(np.arange(10), 30)
    >>> y = np.digitize(X[:, 0], [0.0, 1.0])
    >>> ranker = NestedRanker(TreeDirectRanker(LightGBMTrees(n_estimators=5)), sizes=(10,))
    >>> len(ranker.fit(X, y, qid).rankers_), ranker.rank(X, qid).max()
    (2, np.int64(30))
    """

    _learned: ClassVar = ("rankers_",)

    def __init__(self, ranker, *, sizes=(20,), calibration="eval_set", random_state=None):
        self.ranker = ranker
        self.sizes = sizes
        self.calibration = calibration
        self.random_state = random_state

    def predict(self, X, qid=None):
        """Score documents, those that go further above all others of their query."""
        check_is_fitted(self)
        X = check_features(self, X)
        groups = qid if isinstance(qid, QueryGroups) else QueryGroups.from_qid(qid, len(X))
        return self._nested_scores(X, groups)

    def score(self, X, y, qid=None, *, sample_weight=None):
        """Return the mean NDCG@10 over the queries that have something to find."""
        if sample_weight is not None:
            raise ValueError("sample_weight must be None for NestedRanker.")
        scores = self.predict(X, qid)
        self._warn_of_one_query(qid, len(scores))
        return self._measured(scores, y, qid, None)

    def _learn(self, data, held_out, seed):
        self.rankers_: list[Any] = []
        for size in (*self.sizes, None):
            if self.rankers_ and not data.groups.with_two_labels(data.y).any():
                break
            ranker = self._fitted(self._make_ranker(seed), data, held_out)
            self.rankers_.append(ranker)
            if size is not None:
                data = data.taking(_on_top(ranker.predict(data.features), data.groups, size))
                held_out = _top_of(held_out, ranker, size)

    def _fitted(self, ranker, data, held_out):
        """Fit the ranker of one stage."""
        given = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
        if data.pairs is not None:
            given["given_pairs"] = data.pairs.table()
        if held_out is not None and "eval_set" in signature(ranker.fit).parameters:
            given["eval_set"] = (held_out.X, held_out.y, held_out.groups.codes)
        given = {name: value for name, value in given.items() if value is not None}
        return ranker.fit(data.features, data.y, data.groups.codes, **given)

    def _scores(self, X):
        return self._nested_scores(X, QueryGroups.from_qid(None, len(X)))

    def _nested_scores(self, X, groups):
        """Add up, over the stages a document reaches, what puts it above those left behind."""
        result, kept = np.zeros(len(X)), np.arange(len(X))
        for stage, ranker in enumerate(self.rankers_):
            scores = ranker.predict(X[kept])
            # Squashed into (0, 1): a further stage then adds more than any score could.
            result[kept] = stage + 0.5 + scores / (2 * (1 + np.abs(scores)))
            if stage < len(self.sizes):
                own = QueryGroups.from_qid(groups.codes[kept])
                kept = kept[_on_top(scores, own, self.sizes[stage])]
        return result

    def _best_first(self, X, qid):
        groups = QueryGroups.from_qid(qid, len(X))
        scores = self.predict(X, groups)
        return groups, np.lexsort((-scores, groups.codes))

    def _make_ranker(self, seed):
        ranker = clone(self.ranker)
        seeds: dict[str, Any] = {
            name: seed
            for name, value in ranker.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        }
        return ranker.set_params(**seeds)

    def _check_settings(self):
        super()._check_settings()
        sizes: list[Any] = list(self.sizes) if np.iterable(self.sizes) else [None]
        whole = all(isinstance(n, int | np.integer) and n >= 2 for n in sizes)
        if not whole or sizes != sorted(set(sizes), reverse=True):
            raise ValueError(f"sizes must be falling integers of at least 2; got {self.sizes!r}.")


def _on_top(scores, groups, size):
    """Return the positions of the first ``size`` documents of each query, and of those that tie."""
    order = np.lexsort((-scores, groups.codes))
    start = groups.indptr[:-1]
    last = scores[order][start + np.minimum(size, groups.sizes) - 1]
    return np.flatnonzero(scores >= last[groups.codes])


def _top_of(held_out, ranker, size):
    """Return the tops of held-out lists, or ``None`` once they hold no pair any more."""
    if held_out is None:
        return None
    top = held_out.taking(_on_top(ranker.predict(held_out.X), held_out.groups, size))
    return top if top.has_pairs else None
