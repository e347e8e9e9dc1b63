"""Fits and scores of data frames that are spread over the workers of an engine."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from treerank.checks import check_count, quote
from treerank.distributed.columns import FrameColumns, check_column_name
from treerank.distributed.shard import Task, fitted_from
from treerank.documents.embeddings import sources_of
from treerank.documents.features import check_fitted, feature_names_of
from treerank.feature_parts.base import traits_of
from treerank.feature_parts.registry import make_feature_part
from treerank.files.checkpoint import current_checkpoint
from treerank.metrics.base import Metric
from treerank.objectives.factory import get_loss
from treerank.objectives.lists.losses import HalfSquaredError
from treerank.parameters import check_arguments
from treerank.rankers.direct_ranker import DirectRanker
from treerank.rankers.ranker import seed_of
from treerank.rankers.scored import Scored
from treerank.rankers.scoring import check_settings, metric_of

#: Settings of the ranker without which several workers would fit another model.
_RANKER_SETTINGS = {"warm_start": False, "clicks": None, "label_weights": None}


@check_arguments
def fit(
    ranker: DirectRanker,
    frame: Any,
    label: str = "label",
    query: str = "query",
    *,
    eval_set: Any = None,
    sample_weight: str | None = None,
    query_weight: str | None = None,
    document: str | None = None,
    drop: Sequence[str] | str = (),
    n_workers: int | None = None,
    client: Any = None,
    encrypted: bool = True,
) -> Any:
    """Fit a ranker to a data frame of Dask or Spark; the same model as on one machine.

    The engine of the frame reads its partitions and shuffles the rows by query, from worker to
    worker: rows may be in any partition, and never pass through the client. Then each worker grows
    the same trees, for which the workers add up their histograms. Early stopping and calibration
    look at the documents of all workers. Dask shows the iterations in a block of
    :func:`treerank.show_progress`; Spark cannot. In a block of
    :func:`~treerank.files.checkpoint.checkpointing`, the path must be one that all workers reach.

    Workers send each other sums, some 50,000 rows to find bins from, and scores of ``eval_set``,
    unencrypted, by the collective of XGBoost. Anybody who can reach its ports can read these, and
    can take part: see the page on security.

    Parameters
    ----------
    ranker : DirectRanker
        Ranker over :class:`~treerank.feature_parts.histogram.trees.HistogramTrees` or
        :class:`~treerank.feature_parts.trees.xgboost.XGBoostTrees`. It is not changed: a copy is
        fitted. Settings with which workers would fit another model than one machine are refused.
    frame : data frame of Dask or of Spark
        Documents. All columns that no other argument names are features: numbers and, for
        ``HistogramTrees``, text and categories.
    label, query : str
        Columns of the labels, of which there is one, and of the query ids.
    eval_set : data frame, default=None
        Documents with the features, the label and the query of ``frame``, for early stopping and
        calibration. Other columns are not read.
    sample_weight, query_weight : str, default=None
        Columns of weights.
    document : str, default=None
        Column of the ids of documents, which is not a feature.
    drop : str or sequence of str, default=()
        Further columns that are not features.
    n_workers : int, default=None
        Number of workers. None is all workers of a cluster of Dask, or as many tasks as a classic
        session of Spark runs at a time; with Spark Connect it must be given.
    client : distributed.Client, default=None
        Client of Dask; None is the current one.
    encrypted : bool, default=True
        False allows a Dask cluster that encrypts its connections, although the connections of the
        fit are not encrypted.

    Returns
    -------
    DirectRanker
        The fitted copy, as of a fit on one machine.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from distributed import Client
    >>> from treerank import TreeDirectRanker
    >>> train = dd.read_parquet("s3://bucket/train/")  # doctest: +SKIP
    >>> with Client() as client:  # doctest: +SKIP
    ...     ranker = fit(TreeDirectRanker("histogram"), train, "label", "query")
    """
    engine = _engine_of("frame", frame, "fit(X, y, qid)")
    check_settings(ranker)
    if n_workers is not None:
        check_count("n_workers", n_workers)
    weights = {"sample_weight": sample_weight, "query_weight": query_weight}
    columns_by_argument = {"label": label, "query": query, "document": document} | weights
    drop = [drop] if isinstance(drop, str) else drop
    for argument, column in (*columns_by_argument.items(), *(("drop", column) for column in drop)):
        if column is not None:
            check_column_name(argument, column)
    dropped = {"document": [] if document is None else [document], "drop": drop}
    columns = FrameColumns.of(list(frame.columns), label, query, weights, dropped)
    columns = columns.of_kinds("frame", engine.kinds_of(frame), engine.OF_CATEGORIES)
    _check_supported(ranker, columns, with_metric=eval_set is not None)
    if eval_set is not None:
        if _engine_of("eval_set", eval_set, "fit(X, y, qid)") is not engine:
            raise TypeError(f"eval_set must be of the engine of frame; got {type(eval_set)}.")
        columns.refuse_missing("eval_set", list(eval_set.columns))
        kinds = columns.of_kinds("eval_set", engine.kinds_of(eval_set), engine.OF_CATEGORIES)
        columns.refuse_other_categories("eval_set", kinds.categories)
    task = Task(clone(ranker), columns, seed_of(ranker), current_checkpoint())
    settings = {"n_workers": n_workers, "client": client, "encrypted": encrypted}
    return fitted_from(ranker, engine.fit_frames(task, frame, eval_set, **settings))


@check_arguments
def predict(ranker: Scored, frame: Any) -> Any:
    """Return the scores of the documents of a data frame of Dask or Spark.

    Workers score their own partitions when the engine computes the result.

    Parameters
    ----------
    ranker : fitted ranker
        Any ranker that was fitted to columns with names.
    frame : data frame of Dask or of Spark
        Documents, with the columns that the ranker was fitted to, and maybe others.

    Returns
    -------
    series of Dask, or data frame of Spark
        Of Dask, a series with the partitions and the index of ``frame``. Of Spark, ``frame`` with
        a column ``score``.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from treerank import TreeDirectRanker
    >>> frame = pd.DataFrame({"price": [1.0, 2.0, 3.0] * 20})
    >>> ranker = TreeDirectRanker("histogram").fit(frame, [0, 1, 2] * 20, [1] * 60)
    >>> scores = predict(ranker, dd.from_pandas(frame, npartitions=2))
    >>> scores.npartitions, len(scores)
    (2, 60)
    """
    engine = _engine_of("frame", frame, "predict(X)")
    check_fitted("ranker", ranker)
    names = feature_names_of(ranker)
    if names is None:
        raise ValueError(
            "ranker must have been fitted to columns with names, such as those of a data frame; "
            f"got one of {ranker.n_features_in_} columns without."
        )
    sources = sources_of(names, frame.columns)
    missing = [name for name in sources if name not in frame.columns]
    if missing:
        raise ValueError(
            f"frame must have the columns {quote(missing)} of the ranker; got "
            f"{quote(list(frame.columns))}."
        )
    return engine.predict_frame(ranker, frame, sources)


def _engine_of(name: str, frame: Any, here: str) -> Any:
    """Return the module for the engine of a frame: Dask's or Spark's; refuse other frames.

    ``name`` is the frame's argument, and ``here`` the method that does the same on one machine, for
    the message.
    """
    package, has_columns = type(frame).__module__.partition(".")[0], hasattr(frame, "columns")
    if package in ("dask", "dask_expr") and has_columns and hasattr(frame, "shuffle"):
        from treerank.distributed import dask_frames

        return dask_frames
    if package == "pyspark" and has_columns and hasattr(frame, "mapInArrow"):
        from treerank.distributed import spark_frames

        return spark_frames
    raise TypeError(
        f"{name} must be a data frame of Dask or of Spark; got {type(frame)}. "
        f"For data in memory call ranker.{here}; dask.dataframe.from_dask_array makes a frame of "
        "Dask arrays."
    )


def _check_supported(ranker: Any, columns: FrameColumns, with_metric: bool) -> None:
    """Refuse a ranker whose model by several workers would differ from that by one.

    ``with_metric`` is whether it stops early by a metric.
    """
    part = make_feature_part(ranker.feature_part)
    needed = traits_of(part).settings_by_workers
    if needed is None:
        raise ValueError(
            "feature_part must be 'histogram' or 'xgboost' for several workers, as in "
            f'TreeDirectRanker("histogram"); got {quote(part)}.'
        )
    if columns.categories and "categorical_features" in needed:
        raise ValueError(
            "feature_part must be 'histogram' for several workers where features are text or "
            f"categories, here {quote(columns.categories)}; got {quote(part)}. Or write "
            f"drop={quote(columns.categories)}."
        )
    if isinstance(get_loss(ranker.loss), HalfSquaredError):  # it needs the mean of all labels
        raise _refusal("loss", "compare documents", ranker.loss)
    for owner, rules in ((part, needed), (ranker, _RANKER_SETTINGS)):
        for name, value in rules.items():
            if getattr(owner, name) != value:
                raise _refusal(name, f"be {quote(value)}", getattr(owner, name))
    metric = metric_of(ranker)
    if with_metric and (not isinstance(metric, Metric) or metric.ties == "stable"):
        rule = "be a Metric that does not depend on the order of rows"
        raise _refusal("metric", rule, ranker.metric)


def _refusal(name: str, rule: str, value: Any) -> ValueError:
    return ValueError(f"{name} must {rule} for several workers; got {quote(value)}.")
