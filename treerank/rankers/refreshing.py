"""Refreshing: a fitted ranker learns from new data, and is replaced only if it gets no worse."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from treerank.checks import naming, quote
from treerank.display.results import Shown
from treerank.documents.columns import warn_of_new_categories
from treerank.documents.eval_set import read_eval_set
from treerank.documents.ids import id_hashes
from treerank.documents.labels import check_labels
from treerank.documents.queries import QueryGroups, refuse_one_query
from treerank.documents.reading import read_documents
from treerank.documents.rows import Rows
from treerank.documents.training_set import training_set
from treerank.feature_parts.part_list import PartList
from treerank.feature_parts.refit import RefitTrees
from treerank.feature_parts.registry import feature_part_class, make_feature_part
from treerank.feature_parts.stages import Stages
from treerank.feature_parts.trees.arguments import constraints_of
from treerank.feature_parts.trees.boosting import BoostedTrees
from treerank.model_selection import QueryKFold
from treerank.objectives.pairs.settings import PairSettings
from treerank.parameters import Level, Rule, Several, Whole, check_arguments
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.ranker import Ranker
from treerank.rankers.scoring import metric_of, scores_of
from treerank.rankers.streaming_ranker import StreamingRanker
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.statistics.randomization import mean_interval
from treerank.statistics.resampled import Interval

#: What may change: the values of leaves, or new trees on top.
WAYS = ("leaves", "trees")


@dataclass(frozen=True, repr=False)
class Refreshed(Shown):
    """Result of :func:`refresh`.

    Attributes
    ----------
    ranker : Ranker
        The ranker to use: the candidate if it is accepted, else the old ranker.
    candidate : Ranker
        The ranker that has learned from the new data.
    accepted : bool
        Whether the candidate is no worse.
    differences : dict from str to Interval
        Gain of the candidate on the left-out queries, "new" and "old".
    metric : str
        Name of the metric of the gains.

    Examples
    --------
    >>> gains = {"new": Interval(0.01, -0.01, 0.03, 0.95)}
    >>> print(Refreshed("new ranker", "new ranker", True, gains, "ndcg@10"))
    The refreshed ranker gains in ndcg@10 0.0100 (95 %: -0.0100 to 0.0300) on new queries.
    """

    ranker: Ranker
    candidate: Ranker
    accepted: bool
    differences: dict[str, Interval]
    metric: str

    def __str__(self) -> str:
        """Return the decision, and the gains on new and old queries."""
        gains = [f"{gain} on {name} queries" for name, gain in self.differences.items()]
        decision = "The refreshed ranker" if self.accepted else "The old ranker stays: the new one"
        return f"{decision} gains in {self.metric} {', '.join(gains)}."

    _shown = __str__


@check_arguments
def refresh(
    ranker: Ranker,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    old: Any = None,
    learn: Annotated[str, Rule.one_of(WAYS)] = "leaves",
    n_splits: Several = 5,
    level: Level = 0.95,
    random_state: Whole = 0,
) -> Refreshed:
    """Update a fitted ranker of trees with new data, and keep the old ranker if it is better.

    A copy, the candidate, learns from all new queries. Its gain is estimated by cross-validation:
    further copies learn from all folds of the new queries but one, and are measured on the
    remaining fold. The candidate is accepted if its mean gain is not negative and it is not
    significantly worse on ``old`` queries. Pass a hundred new queries or more: with few, chance
    decides, and the bounds of the gain on a single query are NaN.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker that is a sum of trees, such as :class:`~treerank.TreeDirectRanker`, or
        :class:`~treerank.rankers.ForestRanker` for the trees of another program.
    X, y, qid : array-like
        New documents, their labels and queries, as in ``ranker.fit``.
    old : tuple (X, y, qid), default=None
        Documents of earlier queries on which the ranker must not become worse. Best are queries
        that the ranker was not trained on.
    learn : {"leaves", "trees"}, default="leaves"
        Refit the values of the leaves and keep the splits, or add new trees; see
        :class:`~treerank.feature_parts.refit.RefitTrees`. New trees keep the monotone and
        interaction constraints of the ranker's trees. Refitted leaves cannot keep monotone
        constraints, so "leaves" refuses them. Interaction constraints hold for the splits that are
        kept, but later trees on top of refitted leaves do not know them. Of models that
        :func:`treerank.read_forest` has read, only the monotone constraints of LightGBM are known.
    n_splits : int, default=5
        Number of folds of the new queries.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Refreshed
        The ranker to use, and the gains on held-out queries. A candidate is not calibrated. It is a
        :class:`~treerank.TreeDirectRanker` with the settings of ``ranker`` where that takes no such
        feature part: for a ``StreamingRanker`` or a ``LambdaMART``, for instance.

    Examples
    --------
    >>> from treerank import TreeDirectRanker, make_web_search
    >>> X, y, qid = make_web_search(300, documents_per_query=20, n_features=20, random_state=0)
    >>> before, after = qid < 100, qid >= 100
    >>> ranker = TreeDirectRanker("histogram", random_state=0)
    >>> ranker = ranker.fit(X[before], y[before], qid[before])
    >>> refreshed = refresh(ranker, X[after], y[after], qid[after])
    >>> refreshed.accepted, refreshed.ranker is refreshed.candidate
    (True, True)
    """
    check_is_fitted(ranker)
    _refuse_others(ranker, learn)
    table = X
    X, y, qid = read_documents(ranker, X, y, qid)
    warn_of_new_categories(ranker.columns_, table)
    y = check_labels(y, X.shape[0])
    folds = QueryKFold(n_splits, shuffle=True, random_state=random_state)
    sets = list(folds.split(X, y, qid))
    hashes, metric, gaps = id_hashes(qid, len(y)), metric_of(ranker), []
    groups = QueryGroups.from_qid(qid, len(y))
    _refuse_equal_labels("y", y, groups)
    qid = groups.codes
    for train, test in sets:
        some = X[train], y[train], qid[train], hashes[train]
        learned = _learned(ranker, learn, *some, random_state)
        gaps.append(_gaps(ranker, learned, X[test], y[test], groups.take(test), metric))
    candidate = _learned(ranker, learn, X, y, qid, hashes, random_state)
    gains = {"new": _mean_gain("y", np.concatenate(gaps), metric, level)}
    if old is not None:
        with naming("old"):
            X, y, qid = read_documents(ranker, *read_eval_set(ranker, old, "old"))
            if ranker._had_queries:
                refuse_one_query("old", qid, X.shape[0])
            y = check_labels(y, X.shape[0])
            _refuse_equal_labels("old", y, QueryGroups.from_qid(qid, len(y)))
            of_old = _gaps(ranker, candidate, X, y, qid, metric)
            gains["old"] = _mean_gain("old", of_old, metric, level)
    is_worse = any(gain.high < 0 for gain in gains.values())  # a single query cannot tell
    accepted = gains["new"].estimate >= 0 and not is_worse
    return Refreshed(candidate if accepted else ranker, candidate, accepted, gains, metric.name)


def _refuse_others(ranker: Ranker, learn: str) -> None:
    """Refuse a ranker that is no sum of trees, or whose constraints would be lost.

    Trees and a linear model together are no sum of trees.
    """
    try:
        ranker.forest()
    except ValueError as error:
        raise ValueError(
            f"{error} Fit others anew to old and new queries: clone(ranker).fit(X, y, qid)."
        ) from error
    if learn == "leaves" and "monotone_constraints" in _constraints_of(ranker):
        raise ValueError(
            "learn must be 'trees' for a ranker with monotone_constraints, since the new values of "
            f"leaves would not keep them; got {quote(learn)}. Write refresh(..., learn='trees')."
        )


def _refuse_equal_labels(name: str, y: np.ndarray, groups: QueryGroups) -> None:
    """Refuse labels that no query has two of: they order nothing, so all rankers are equal."""
    if not groups.with_two_labels(y).any():
        raise ValueError(
            f"{name} must hold a query with two different labels; got none among {len(y)} "
            "documents."
        )


def _constraints_of(ranker: Ranker) -> dict[str, Any]:
    """Return the constraints of the boosted trees of a fitted ranker, as parameters of new trees.

    Refuses trees with different constraints, whose sum keeps none of them.
    """
    if not isinstance(ranker, DirectRanker):
        signs = ranker.forest().monotone_constraints
        return {} if signs is None else {"monotone_constraints": signs}
    n_features, names = ranker.n_features_in_, ranker.columns_.names
    found = [constraints_of(t, n_features, names) for t in _boosted_trees(ranker.feature_part_)]
    for constraints in found:  # without a sign there is no monotone constraint
        if not any(constraints.get("monotone_constraints", ())):
            constraints.pop("monotone_constraints", None)
    if any(constraints != found[0] for constraints in found):
        raise ValueError(
            "ranker must have the same constraints in all of its trees; got "
            f"{', '.join(quote(constraints) for constraints in found)}. Fit others anew to old and "
            "new queries: clone(ranker).fit(X, y, qid)."
        )
    return found[0] if found else {}


def _boosted_trees(part: Any) -> list[BoostedTrees]:
    """Return the boosted trees that a feature part consists of, also within lists of parts."""
    if isinstance(part, PartList):
        return [t for one in part.parts for t in _boosted_trees(make_feature_part(one))]
    return [part] if isinstance(part, BoostedTrees) else []


def _learned(ranker, learn, X, y, qid, hashes, seed):
    """Return a copy of ``ranker`` that has learned from new documents.

    ``learn`` is "leaves" or "trees", as in :func:`refresh`; ``hashes`` hash the query ids.
    """
    candidate = _unfitted(ranker, learn)
    data = training_set(Rows(X, columns=ranker.columns_), y, qid, id_hashes=hashes)
    earlier = ranker.training_queries_
    candidate._fit_training_set(data, eval_set=None, seed=seed, earlier=earlier)
    return candidate


def _unfitted(ranker: Ranker, learn: str) -> Ranker:
    """Return an unfitted ranker with the settings of ``ranker``, which starts from its trees.

    With ``learn="leaves"`` it refits their leaves; with "trees" it adds 100 trees with a learning
    rate of 0.01 and with the constraints of the ranker's trees. A ranker that does not take this
    feature part becomes a ``TreeDirectRanker`` with the same settings; one that is no
    ``DirectRanker`` has no objective, so only its metric is kept.
    """
    part: Any = RefitTrees(ranker.forest())
    if learn == "trees":  # few and small steps: what is new is little
        constraints = _constraints_of(ranker)
        on_top = feature_part_class("histogram")(100, learning_rate=0.01, **constraints)
        part = Stages([part.set_params(learning_rate=0.0), on_top])
    if not isinstance(ranker, DirectRanker):
        return TreeDirectRanker(part, metric=ranker.metric)
    takes_parts = "feature_part" in ranker.get_params(deep=False)
    if takes_parts and not isinstance(ranker, StreamingRanker):
        return clone(ranker).set_params(feature_part=part, warm_start=False)
    return TreeDirectRanker(part, **_settings_of(ranker))


def _settings_of(ranker: DirectRanker) -> dict[str, Any]:
    """Return the settings of a ranker, also those that its class fixes, but its feature part.

    Settings of pairs that its class does not have are the defaults of the objective.
    """
    defaults = {setting.name: setting.default for setting in fields(PairSettings)}
    names = TreeDirectRanker().get_params(deep=False).keys() - {"feature_part", "warm_start"}
    return {name: getattr(ranker, name, defaults.get(name)) for name in names}


def _gaps(ranker, candidate, X, y, qid, metric):
    """Return the metric of ``candidate`` minus that of ``ranker``, by query, without NaN."""
    values = [metric.per_query(y, scores_of(model, X), qid) for model in (candidate, ranker)]
    gaps = values[0] - values[1]
    return gaps[~np.isnan(gaps)]


def _mean_gain(name: str, gaps: np.ndarray, metric: Any, level: float) -> Interval:
    """Return the mean of gains by query; ``name`` is the argument that a refusal of none names."""
    if len(gaps) == 0:
        raise ValueError(
            f"{name} must define {metric.name} for at least one query; got NaN for all."
        )
    return mean_interval(gaps, level=level)
