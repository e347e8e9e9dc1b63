"""Worker: one process of a fit by several, whoever starts it."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from treerank.checks import naming, quote
from treerank.distributed.collective import Collective
from treerank.distributed.columns import agree_on_columns, dense_columns
from treerank.distributed.connections import LostTeamError
from treerank.distributed.launcher import Channel
from treerank.distributed.meeting import meeting
from treerank.distributed.parts import Arguments, Part
from treerank.distributed.shards import gather_queries
from treerank.feature_parts.engines.xgboost import XGBoostTrees
from treerank.feature_parts.registry import make_feature_part
from treerank.files.checkpoint import Checkpoint, using
from treerank.inputs.grouping import QueryGroups
from treerank.inputs.id_hashes import id_hashes
from treerank.inputs.rows import Rows
from treerank.metrics.registry import get_metric
from treerank.progress import Listener, Note, listening
from treerank.rankers.held_out import HeldOut, watching
from treerank.rankers.training_set import training_set


def fit_share(
    ranker: Any,
    train: dict[str, Any],
    held_out: dict[str, Any] | None,
    seed: int,
    checkpoint: Checkpoint | None,
    channel: Channel,
) -> tuple[Any, list[tuple[str, type[Warning]]]]:
    """Fit a ranker together with the other workers; the first that has documents returns it.

    Also returns texts and categories of warnings. ``train`` and ``held_out`` are arguments of
    :func:`whole_queries`, the latter for early stopping and calibration. All workers have the same
    ``seed``.
    """
    with (
        warnings.catch_warnings(record=True) as caught,
        _team(ranker, channel) as team,
        using(checkpoint),
        listening(_listener(channel)),
    ):
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", "(?s).*Empty dataset at worker")  # of XGBoost
        documents, shard = whole_queries(clone(ranker), **train)
        data = training_set(documents, **shard, id_hashes=shard["qid"])
        eval_set = None if held_out is None else _held_out(ranker, documents, held_out)
        ranker.fit_training_set(data, eval_set=eval_set, seed=seed)
        is_first = team.rank == team.gather(len(shard["y"]) > 0).index(True)
    messages = [(str(warning.message), warning.category) for warning in caught]
    return ranker if is_first else None, messages


@contextmanager
def _team(ranker: Any, channel: Channel) -> Iterator[Collective]:
    """Meet the other workers; the engine of the ranker may train by all of them, too."""
    trains_itself = isinstance(make_feature_part(ranker.feature_part), XGBoostTrees)
    if trains_itself and channel.encryption is not None:
        raise ValueError(
            "feature_part must be 'histogram' for workers of Dask whose connections are encrypted, "
            'as in TreeDirectRanker("histogram"): those of XGBoost never are.'
        )
    with meeting(channel) as team:
        if not trains_itself or team.size == 1:
            yield team
            return
        from treerank.distributed.xgboost_network import xgboost_network

        with xgboost_network(team, channel.host):
            yield team


def _listener(channel: Channel) -> Listener:
    """Return what is called after each iteration of this worker."""

    def hear(n_done: int, n_total: int | None, note: Note) -> None:
        if channel.is_over():
            raise LostTeamError
        if channel.rank == 0:
            values = note if isinstance(note, str) else {name: float(note[name]) for name in note}
            channel.tell("progress", (n_done, n_total, values))

    return hear


def whole_queries(
    reader: Any, parts: Sequence[Part], names: Sequence[str] | None
) -> tuple[Rows, Arguments]:
    """Exchange rows with the other workers; return documents, and what else ``fit`` is given.

    ``reader`` is a ranker that is not fitted itself. ``names`` are those of the features, where
    the parts, of which there may be none, do not know them.
    """
    shards = [
        _checked(reader, columns)
        for part in parts
        for columns in (part() if callable(part) else [part])
        if columns["X"].shape[0]
    ]
    alike, columns = agree_on_columns(reader, shards, names)
    shard = gather_queries(alike)
    return Rows(shard.pop("X"), columns=columns), shard


def _held_out(ranker: Any, trained: Rows, share: dict[str, Any]) -> HeldOut:
    """Return whole queries to measure the ranker on, whose columns are those of training."""
    with naming("eval_set"):
        documents, shard = whole_queries(clone(ranker), **share)
        needed, names = trained.columns.names, documents.columns.names
        if documents.shape[1] != trained.shape[1] or (
            needed is not None and names is not None and names != needed
        ):
            raise ValueError(
                f"X must have the columns of training, {quote(needed)}; got {quote(names)}."
            )
        groups = QueryGroups.from_qid(shard["qid"])
        return watching([(documents, {"": shard["y"]}, groups)], [get_metric(ranker.metric)])


def _checked(reader: Any, columns: Arguments) -> Arguments:
    """Return documents as checked arrays, without rows of weight zero."""
    shard = dense_columns(reader, columns)
    shard["qid"] = id_hashes(shard["qid"], len(shard["y"]))
    counts = np.all([shard[name] != 0 for name in shard if name.endswith("_weight")], axis=0)
    return shard if np.all(counts) else {name: column[counts] for name, column in shard.items()}
