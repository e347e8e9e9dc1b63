"""Training checks: what rankers check before they learn.

That every weight given has a meaning to the algorithm, that early stopping has held-out documents
to watch, and that there is something to learn.
"""

from typing import Any

import numpy as np

from treerank.checks import warn_user
from treerank.documents.eval_set import EvalSet
from treerank.documents.training_set import TrainingSet
from treerank.progress import Progress, patience_of
from treerank.rankers.ranker import Ranker


def refuse_weights(ranker: Ranker, data: TrainingSet, reasons: dict[str, str]) -> None:
    """Refuse the weights that have no meaning to an algorithm.

    Parameters
    ----------
    ranker : Ranker
        The ranker; its name goes into the message.
    data : TrainingSet
        The weights given; a weight that is the same for all documents is allowed.
    reasons : dict from str to str
        Names of the arguments of ``fit`` to refuse, and why they have no meaning.
    """
    arguments: dict[str, Any] = {
        "sample_weight": data.sample_weight,
        "query_weight": data.query_weight,
        "given_pairs": data.pairs,
    }
    for name, reason in reasons.items():
        if arguments[name] is not None and (name == "given_pairs" or np.ptp(arguments[name]) > 0):
            rule = "None" if name == "given_pairs" else "None or the same throughout"
            raise ValueError(f"{name} must be {rule} for {type(ranker).__name__}, since {reason}.")


def start_progress(rounds: int | str | None, held_out: EvalSet | None, total: int) -> Progress:
    """Return the record of ``total`` steps; refuse early stopping without held-out documents."""
    if rounds not in (None, "auto") and held_out is None:
        raise ValueError("eval_set must be given where early_stopping_rounds is; got None.")
    metric = None if held_out is None else held_out.metric
    return Progress(metric, patience_of(rounds, metric, total), total=total)


def warn_of_constant_model(reason: str) -> None:
    """Warn that the model is constant, and why."""
    warn_user(f"{reason}: the model is constant.")


def warn_of_equal_documents(n_documents: int) -> None:
    """Warn that documents of equal features get the same score."""
    warn_user(f"All {n_documents} documents get the same score: no feature varies.")
