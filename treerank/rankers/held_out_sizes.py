"""Sizes of trees by held-out queries: with 1,000 or more, whether smaller trees rank better.

The numbers of documents, queries and features, from which
:func:`~treerank.feature_parts.trees.auto_sizes.auto_sizes` chooses, do not tell whether labels are
noisy. Noisy labels need fewer leaves and fewer trees. With many queries, this can be measured:
trees of both sizes are fitted to some of the training queries, and rank others.
``python -m benchmarks many`` measures what this gains.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from treerank.documents.training_set import TrainingSet
from treerank.feature_parts.base import copy_of, fit_part, outputs_of, params_of, traits_of
from treerank.feature_parts.trees.auto_sizes import Sizes, auto_sizes
from treerank.feature_parts.trees.boosting import BoostedTrees
from treerank.files.checkpoint import using
from treerank.metrics.base import Metric
from treerank.objectives.base import Objective
from treerank.progress import ignore_progress, ignore_text, listening, say
from treerank.rankers.scoring import metric_of

#: Least number of queries for which sizes are compared, and of queries with two different labels.
MANY_QUERIES, _WITH_TWO_LABELS = 1000, 500
#: Largest numbers of queries that trees are fitted to, and that they rank, in each of two folds.
_MOST_TO_FIT, _MOST_TO_RANK = 1000, 2000
#: Learning rate of these trees. With fewer trees than this, the fit of all queries is short, and
#: smaller shares of the queries are used, so that the choice takes no longer.
_RATE, _FEW_TREES = 0.3, 100
#: Parameters that are chosen; all of them must be "auto".
_CHOSEN = ("n_estimators", "learning_rate", "num_leaves")


class Factors(NamedTuple):
    """Factors on the number of leaves, and on the sum of the learning rates, of the rule."""

    leaves: float = 1.0
    travel: float = 1.0


RULE, SMALLER = Factors(), Factors(leaves=0.4, travel=0.5)


class Fold(NamedTuple):
    """Queries to fit trees to, others to rank, and what is measured on the latter.

    Attributes
    ----------
    train, held_out : TrainingSet
        The documents of the queries.
    objective, loss : Objective
        The objective of the ranker on ``train``, and on ``held_out``.
    metric : Metric
        The metric of the ranker.
    """

    train: TrainingSet
    held_out: TrainingSet
    objective: Objective
    loss: Objective
    metric: Metric

    def measured(self, part: BoostedTrees, factors: Factors) -> tuple[np.ndarray, float]:
        """Return metric by query, and loss, of the held-out documents for trees of these sizes."""
        sizes = _sizes(self.train, factors)
        n_trees = max(1, round(sizes.n_estimators * sizes.learning_rate / _RATE))
        chosen = {"n_estimators": n_trees, "learning_rate": _RATE, "num_leaves": sizes.num_leaves}
        trees = copy_of(part).set_params(**chosen, random_state=0)
        with listening(ignore_progress, ignore_text), using(None):
            fit_part(trees, self.train.documents, self.objective)
        scores = outputs_of(trees, self.held_out.documents)[:, 0]
        values = self.metric.per_query(self.held_out.y, scores, self.held_out.groups)
        return values, self.loss(scores)[0]


def smaller_trees(ranker: Any, part: Any, data: TrainingSet) -> Any:
    """Return an unfitted copy of smaller trees if they rank held-out queries better.

    They do if their loss is lower and their metric is higher by more than its standard error. Else,
    and where the sizes are not to be chosen, None is returned. The same queries are held out for
    any order of rows, names of queries and ``random_state``.

    Parameters
    ----------
    ranker : DirectRanker
        Its metric and its loss are measured.
    part : feature part
        Trees whose sizes may be "auto", or another part.
    data : TrainingSet
        All training queries.
    """
    metric = metric_of(ranker)
    if not _may_choose(part, data) or not isinstance(metric, Metric):
        return None
    queries = np.flatnonzero(data.groups.with_two_labels(data.y))
    if len(queries) < _WITH_TWO_LABELS:
        return None
    leads, losses = [], {RULE: 0.0, SMALLER: 0.0}
    with warnings.catch_warnings(action="ignore"):  # the fit that follows repeats them
        for train, held_out in _folds(data, queries):
            try:
                metric.prepared(held_out.y, held_out.groups)
            except ValueError:  # labels that the metric does not know, which a fit does not need
                return None
            objective, loss = (ranker._make_objective(some, 0) for some in (train, held_out))
            fold, values = Fold(train, held_out, objective, loss, metric), {}
            for factors in (RULE, SMALLER):
                values[factors], loss = fold.measured(part, factors)
                losses[factors] += loss
            leads.append(values[SMALLER] - values[RULE])
    by_query = np.concatenate(leads)
    by_query = by_query[~np.isnan(by_query)]
    lead, error = by_query.mean(), by_query.std(ddof=1) / np.sqrt(len(by_query))
    if not (lead > error and losses[SMALLER] < losses[RULE]):
        return None
    say(f"smaller trees rank held-out queries better ({metric.name} {lead:+.4f}), and are chosen")
    sizes = _sizes(data, SMALLER)
    return copy_of(part).set_params(**{name: getattr(sizes, name) for name in _CHOSEN})


def _may_choose(part: Any, data: TrainingSet) -> bool:
    """Tell whether the sizes of a part may follow from held-out queries.

    They may not where several workers, or batches of rows, are to grow the same trees as one
    machine from rows in memory.
    """
    if not isinstance(part, BoostedTrees) or data.documents.is_shard:
        return False
    traits, params = traits_of(part), params_of(part)
    grows_elsewhere = traits.accepts_batches or traits.settings_by_workers is not None
    return not grows_elsewhere and all(params.get(name) == "auto" for name in _CHOSEN)


def _sizes(data: TrainingSet, factors: Factors = RULE) -> Sizes:
    numbers = len(data.y), data.groups.n_queries, data.documents.shape[1]
    return auto_sizes(*numbers, leaves=factors.leaves, travel=factors.travel)


def _folds(data: TrainingSet, queries: np.ndarray) -> Iterator[tuple[TrainingSet, TrainingSet]]:
    """Yield two training sets without a common query, each with other queries that are held out."""
    drawn = np.random.default_rng(0).permutation(queries)
    n_trees = _sizes(data).n_estimators
    n = min(_MOST_TO_FIT, int(0.5 * len(drawn) * min(1.0, n_trees / _FEW_TREES)))
    for start in (0, n):
        others = np.delete(drawn, slice(start, start + n))[:_MOST_TO_RANK]
        yield _of_queries(data, drawn[start : start + n]), _of_queries(data, others)


def _of_queries(data: TrainingSet, queries: np.ndarray) -> TrainingSet:
    is_taken = np.zeros(data.groups.n_queries, dtype=bool)
    is_taken[queries] = True
    return data.take_queries(is_taken)
