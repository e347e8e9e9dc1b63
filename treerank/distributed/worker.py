"""Worker: one process of a fit by several."""

import pickle
from typing import Any

from xgboost import collective

from treerank.distributed.shards import Shard
from treerank.distributed.xgboost_team import XGBoostTeam
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
    with collective.CommunicatorContext(**address), working_in(XGBoostTeam()):
        return ranker.fit_checked(
            shard.X, shard.y, shard.qid, eval_set=eval_set, seed=seed, **shard.weights
        )


def serve(pipe: Any) -> None:
    """Receive the arguments of :func:`fit_shard`, and send the first worker's ranker or an error.

    The answer is ``(ranker, None)``, where the ranker of other workers is ``None``, or
    ``(None, error)``.
    """
    arguments = pipe.recv()
    try:
        ranker = fit_shard(**arguments)
        answer: tuple[Any, Any] = (ranker, None)
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
