"""Fitting: what the loops of many rankers ask before and while they learn.

Which weights have a meaning, whether there is anything to learn, and when to stop.
"""

import warnings

import numpy as np

from treerank.checks import check_count
from treerank.progress import Progress

#: Why a weight may have no meaning to a ranker that measures whole queries.
WHOLE_QUERIES = {
    "sample_weight": "a metric of whole queries is optimized; query_weight weighs those",
    "given_pairs": "a metric of whole queries is optimized, no pairs are compared",
}


def refuse_weights(ranker, data, reasons):
    """Refuse the weights that an algorithm has no meaning for.

    Parameters
    ----------
    ranker : Ranker
        Who refuses.
    data : TrainingSet
        What was given; weights that are all the same count as none.
    reasons : dict from str to str
        The names of the arguments, and why they have no meaning.
    """
    given = {
        "sample_weight": data.sample_weight,
        "query_weight": data.query_weight,
        "given_pairs": data.pairs,
    }
    for name, reason in reasons.items():
        if given[name] is not None and (name == "given_pairs" or np.ptp(given[name]) > 0):
            raise ValueError(
                f"{name} must be None or the same throughout for {type(ranker).__name__}, since "
                f"{reason}; got {given[name]!r}."
            )


def watch(ranker, held_out, total):
    """Return the progress of ``total`` steps, once early stopping is known to have a metric."""
    rounds = ranker.early_stopping_rounds
    if rounds is not None:
        check_count("early_stopping_rounds", rounds)
        if held_out is None:
            raise ValueError("eval_set must be given where early_stopping_rounds is; got None.")
    return Progress(held_out and held_out.metric, rounds, total=total)


def warn_of_nothing_to_learn(reason):
    """Say that the model is constant, and why."""
    warnings.warn(f"{reason}: the model is constant.", UserWarning, stacklevel=5)
