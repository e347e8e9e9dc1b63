"""Nested ranker: the top of each list is ranked again, by a ranker trained on tops alone."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from treerank.inputs.documents import check_features
from treerank.inputs.grouping import QueryGroups
from treerank.rankers.ranker import Ranker


def _check_rankers(name: str, rankers: Any, sizes: dict[str, int]) -> None:
    """Refuse what is not a list of fitted rankers of the same features."""
    if not isinstance(rankers, list) or not rankers:
        raise ValueError(f"{name} must be a list of rankers.")
    for ranker in rankers:
        if getattr(ranker, "n_features_in_", None) != sizes["n_features"]:
            raise ValueError(f"{name} must be fitted to {sizes['n_features']} features.")


@dataclass(eq=False, repr=False)
class NestedRanker(Ranker):
    """Rank in stages: each stage ranks the top of the list of the stage before again.

    The first ranker learns from all documents. Each further one learns from the documents that
    the ranker before it has put among the first ``sizes`` of their query, so it learns only the
    differences between these. The last ranker orders the top of a list, the one before it orders
    the documents that follow, and so on.

    An ``eval_set`` is given to rankers whose ``fit`` takes one, so that each may stop early.
    Further stages get the tops of its lists.

    The top depends on the list, so ``predict`` takes ``qid``, too, and the score of a document
    depends on the other documents of its query.

    Parameters
    ----------
    ranker : estimator
        A ranker with ``fit(X, y, qid)`` and ``predict(X)``; each stage fits a copy.
    sizes : sequence of int, default=(20,)
        Number of documents of each query that the second stage ranks, the third and so on;
        falling.
    calibration : {"eval_set", None} or float, default="eval_set"
        Documents that pair probabilities are calibrated on; a float sets aside that share of the
        queries.
    random_state : int, RandomState instance or None, default=None
        Seed of the rankers that have no seed of their own.

    Attributes
    ----------
    rankers_ : list of estimators
        The fitted ranker of each stage. There are fewer stages if no top holds two different
        labels.

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

    _learned: ClassVar = {"rankers_": _check_rankers}

    ranker: Any
    _: KW_ONLY
    sizes: Sequence[int] = (20,)
    calibration: str | float | None = "eval_set"
    random_state: int | np.random.RandomState | None = None

    def predict(self, X: Any, qid: ArrayLike | None = None) -> np.ndarray:
        """Return scores, higher in a query for documents that reach a further stage."""
        check_is_fitted(self)
        X = check_features(self, X)
        return self._nested_scores(X, QueryGroups.from_qid(qid, len(X)))

    def _learn(self, data, held_out, seed):
        self.rankers_: list[Any] = []
        for size in (*self.sizes, None):
            if self.rankers_ and not data.groups.with_two_labels(data.y).any():
                break
            ranker = _fitted(self._make_ranker(seed), data, held_out)
            self.rankers_.append(ranker)
            if size is not None:
                data = data.taking(_on_top(ranker.predict(data.features), data.groups, size))
                held_out = _top_of(held_out, ranker, size)

    def _scores(self, X: Any) -> np.ndarray:
        return self._nested_scores(X, QueryGroups.from_qid(None, len(X)))

    def _scores_in_lists(self, X: Any, qid: Any) -> np.ndarray:
        return self.predict(X, qid)

    def _nested_scores(self, X: Any, groups: QueryGroups) -> np.ndarray:
        """Return the number of the last stage that a document reaches, plus its squashed score."""
        result, kept = np.zeros(len(X)), np.arange(len(X))
        for stage, ranker in enumerate(self.rankers_):
            scores = ranker.predict(X[kept])
            # Squashed into (0, 1): a further stage then adds more than any score could.
            result[kept] = stage + 0.5 + scores / (2 * (1 + np.abs(scores)))
            if stage < len(self.sizes):
                own = QueryGroups.from_qid(groups.codes[kept])
                kept = kept[_on_top(scores, own, self.sizes[stage])]
        return result

    def _make_ranker(self, seed: int) -> Any:
        """Return a new ranker, with a seed wherever it has a parameter for one and no seed."""
        ranker = clone(self.ranker)
        unset = [name for name, value in ranker.get_params().items() if value is None]
        seeded = [name for name in unset if name.split("__")[-1] == "random_state"]
        return ranker.set_params(**dict.fromkeys(seeded, seed))

    def _check_settings(self) -> None:
        super()._check_settings()
        sizes: list[Any] = list(self.sizes) if np.iterable(self.sizes) else [None]
        whole = all(isinstance(n, int | np.integer) and n >= 2 for n in sizes)
        if not whole or sizes != sorted(set(sizes), reverse=True):
            raise ValueError(f"sizes must be falling integers of at least 2; got {self.sizes!r}.")


def _fitted(ranker, data, held_out):
    """Fit the ranker of one stage to documents and return it."""
    given = {"sample_weight": data.sample_weight, "query_weight": data.query_weight}
    given["given_pairs"] = data.pairs and data.pairs.table()
    if held_out is not None and "eval_set" in signature(ranker.fit).parameters:
        given["eval_set"] = (held_out.X, held_out.y, held_out.groups.codes)
    given = {name: value for name, value in given.items() if value is not None}
    return ranker.fit(data.features, data.y, data.groups.codes, **given)


def _on_top(scores: np.ndarray, groups: QueryGroups, size: int) -> np.ndarray:
    """Return the positions of the first ``size`` documents of each query, and of those that tie."""
    order = np.lexsort((-scores, groups.codes))
    start = groups.indptr[:-1]
    last = scores[order][start + np.minimum(size, groups.sizes) - 1]
    return np.flatnonzero(scores >= last[groups.codes])


def _top_of(held_out, ranker, size):
    """Return the tops of held-out lists, or ``None`` if they hold no pair."""
    if held_out is None:
        return None
    top = held_out.taking(_on_top(ranker.predict(held_out.X), held_out.groups, size))
    return top if top.has_pairs else None
