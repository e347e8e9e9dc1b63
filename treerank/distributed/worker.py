"""Worker: one process of a fit by several."""

import contextlib
import io
import pickle
from typing import Any

from xgboost import collective

from treerank.distributed.shards import Shard
from treerank.distributed.xgboost_team import XGBoostTeam
from treerank.rankers.training_set import training_set
from treerank.team import working_in


def fit_shard(ranker: Any, shard: Shard, eval_set: Any, seed: int, address: dict[str, Any]) -> Any:
    """Fit a ranker together with the other workers at an address; return it.

    Parameters
    ----------
    ranker : DirectRanker
        Ranker that knows its columns, and is not fitted.
    shard : Shard
        Documents of this worker.
    eval_set : tuple or None
        Documents for early stopping and calibration, the same for all workers.
    seed : int
        Seed of everything random, the same for all workers.
    address : dict
        Arguments of XGBoost's ``CommunicatorContext``.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.redirect_stdout(io.StringIO()):  # XGBoost prints a line for each worker
            stack.enter_context(collective.CommunicatorContext(**address))
        stack.enter_context(working_in(XGBoostTeam()))
        data = training_set(shard.X, shard.y, shard.qid, **shard.weights)
        return ranker.fit_training_set(data, eval_set=eval_set, seed=seed)


def serve(pipe: Any) -> None:
    """Receive arguments of :func:`fit_shard`, and send a ranker or an error, until ``None`` comes.

    An answer is ``(ranker, None)`` or ``(None, error)``.
    """
    while (arguments := pipe.recv()) is not None:
        answer: tuple[Any, Any]
        try:
            answer = (fit_shard(**arguments), None)
        except Exception as error:
            answer = (None, _portable(error))
        pipe.send(answer)


def _portable(error: Exception) -> Exception:
    """Return the error, or one with its text if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
