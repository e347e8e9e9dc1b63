"""Training objective: the objective of a training set, which all workers of a fit share.

Documents know no losses, and objectives know no features: here the two meet.
"""

from typing import Any

import numpy as np

from treerank.documents.training_set import TrainingSet
from treerank.objectives.base import NoDocuments, Objective
from treerank.objectives.factory import bind_loss
from treerank.objectives.judgments import Judgments, Totals
from treerank.objectives.pairs.rules import rule_or_given
from treerank.objectives.pairs.settings import PairSettings


def objective_of(data: TrainingSet, seed: int, *, loss: Any, **settings: Any) -> Objective:
    """Return the objective of a loss for the labels, queries and weights of a training set.

    ``seed`` seeds the random numbers of the objective. ``settings`` are fields of
    :class:`~treerank.objectives.PairSettings`. The user's own pairs replace the setting ``pairs``.
    """
    pairs: Any = data.pairs
    settings["pairs"] = rule_or_given(settings.get("pairs"), pairs)
    weights = data.sample_weight, data.weight_of_queries
    totals = totals_of(data)  # also without documents: all workers are asked
    judgments = Judgments.of(
        data.y, data.groups, *weights, seed, data.documents.global_indices, totals
    )
    if len(data.y) == 0:
        return NoDocuments()
    return bind_loss(loss, judgments, PairSettings(**settings))


def totals_of(data: TrainingSet) -> Totals:
    """Return the numbers and sizes of the queries of all workers, and the largest label."""
    shard, rows = Totals.of(data.y, data.groups), data.documents
    documents, queries = rows.total(np.array([shard.n_documents, shard.n_queries])).tolist()
    squared = float(rows.total(np.array([shard.n_squared]))[0])  # of whole numbers: exact
    longest, largest = rows.largest(np.array([shard.longest, shard.largest_label])).tolist()
    return Totals(documents, queries, squared, int(longest), largest)
