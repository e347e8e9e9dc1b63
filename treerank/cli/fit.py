"""``treerank fit``: learn a ranker from a data file and write it to a model file."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.checks import check_number
from treerank.cli import options as shared
from treerank.cli.console import Reporter, Step
from treerank.cli.memory import Memory, in_batches
from treerank.datasets.formats import PARQUET, format_names, format_of
from treerank.datasets.parquet_files import is_text
from treerank.documents.queries import QueryGroups
from treerank.exports.exporting import refuse_format
from treerank.exports.formats import FORMATS
from treerank.feature_parts.base import traits_of
from treerank.feature_parts.ensemble import Ensemble
from treerank.feature_parts.registry import make_feature_part
from treerank.objectives.factory import LOSSES
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.parameters import check_parameters
from treerank.progress import listening
from treerank.rankers.direct_ranker import objective_for_labels
from treerank.rankers.model_file import save
from treerank.rankers.tree_direct_ranker import (
    TreeDirectRanker,
    adds_second_loss,
    trees_for_few,
)

#: Feature parts of leaves; networks and linear models are for Python.
_TREES = ("auto", "lightgbm", "xgboost", "histogram", "streaming")
_DEFAULTS = TreeDirectRanker().get_params(deep=False)
_FOUND = "By default chosen from the numbers of documents, queries and features."
_HELP = {
    "model": "Model file to write.",
    "feature_part": "Engine that grows the trees; one of",
    "weight": "Weight of a pair; by default ndcg, or none for a loss without pairs",
    "valid": "Validation data for early stopping (not with --best) and for calibration: a file, "
    f"{format_names()}, or the share of the queries of TRAIN to hold out, such as 0.2.",
    "position": "Column of the positions at which documents were shown, from 1. The label then "
    "says whether the document was clicked, 0 or 1, and the position bias is estimated.",
    "stop": "Stop after this many trees without a better metric on the --valid file; by default "
    "2.5 / learning rate.",
    "trees": f"Number of trees. {_FOUND}",
    "leaves": f"Maximum number of leaves per tree. {_FOUND}",
    "rate": f"Factor by which each tree is multiplied. {_FOUND}",
    "metric": "Metric of the --valid file.",
    "best": "Fit an ensemble, at 3 to 7 times the cost: more accurate on most data; see "
    "TreeDirectRanker.best.",
    "n_features": "Number of features; by default, the highest index in TRAIN.",
    "export_to": "Fail before the fit if this format of `treerank export` could not hold the "
    "model; may be repeated",
}
#: Number of propensities that are shown, from the first position.
_N_SHOWN = 5

_check_rate = shared.checked(lambda rate: check_number("learning_rate", rate, above=0))
_MODEL = shared.option(shared.OUTPUT, _HELP["model"], "--model", "-m", metavar="FILE")
_VALID = shared.option(shared.DATA, _HELP["valid"], metavar="FILE|SHARE")
_POSITION = shared.option(shared.DATA, _HELP["position"], metavar="COLUMN")
_N_FEATURES = shared.option(shared.DATA, _HELP["n_features"], min=1, metavar="N")
_BEST = shared.option(shared.RANKER, _HELP["best"], "--best")
_LOSS = shared.choice(shared.RANKER, "loss", LOSSES, "Loss")
_WEIGHT = shared.choice(shared.RANKER, "weight", PAIR_WEIGHTS, _HELP["weight"])
_METRIC = shared.metric_option(shared.RANKER, _HELP["metric"])
_PART = shared.choice(shared.TREES, "feature_part", _TREES, _HELP["feature_part"])
_N_TREES = shared.option(shared.TREES, _HELP["trees"], min=1, metavar="N")
_RATE = shared.option(shared.TREES, _HELP["rate"], callback=_check_rate, metavar="X")
_LEAVES = shared.option(shared.TREES, _HELP["leaves"], min=2, metavar="N")
_STOP = shared.option(shared.TREES, _HELP["stop"], min=1, metavar="N")
_EXPORT_TO = shared.choice(shared.OUTPUT, "export_to", FORMATS, _HELP["export_to"])
_JOBS = shared.option("Options", "Number of threads; by default all cores.", min=1, metavar="N")


def fit(
    train: shared.DataFile,
    model: Annotated[Path, _MODEL],
    valid: Annotated[Path | None, _VALID] = None,
    position: Annotated[str | None, _POSITION] = None,
    label: shared.Label = None,
    query: shared.Query = None,
    document: shared.Document = None,
    features: shared.Features = None,
    drop: shared.Drop = None,
    days_since: shared.DaysSince = None,
    n_features: Annotated[int | None, _N_FEATURES] = None,
    memory: Memory = None,
    sparse: shared.Sparse = False,
    best: Annotated[bool, _BEST] = False,
    loss: Annotated[str, _LOSS] = _DEFAULTS["loss"],
    weight: Annotated[str | None, _WEIGHT] = None,
    metric: Annotated[str, _METRIC] = _DEFAULTS["metric"],
    feature_part: Annotated[str, _PART] = _DEFAULTS["feature_part"],
    n_estimators: Annotated[int | None, _N_TREES] = None,
    learning_rate: Annotated[float | None, _RATE] = None,
    num_leaves: Annotated[int | None, _LEAVES] = None,
    early_stopping_rounds: Annotated[int | None, _STOP] = None,
    export_to: Annotated[list[str] | None, _EXPORT_TO] = None,
    quiet: shared.Quiet = False,
    random_state: shared.RandomState = 0,
    n_jobs: Annotated[int | None, _JOBS] = None,
) -> None:
    """Learn a ranker from a data file and write it to a model file.

    An existing model file is replaced only once the new one is complete. The file also stores the
    names of the label, query and id columns and the date of --days-since, so that you need not pass
    them to other commands.
    """
    sizes = {"n_estimators": n_estimators, "num_leaves": num_leaves, "learning_rate": learning_rate}
    of_trees = shared.given(early_stopping_rounds=early_stopping_rounds, **sizes)
    part: Any = TreeDirectRanker.best().feature_part if best else make_feature_part(feature_part)
    takes_batches = traits_of(part).accepts_batches
    has_settings = of_trees or feature_part != _DEFAULTS["feature_part"]
    columns = shared.given(label=label, query=query, document=document)
    share = _share_of(valid)
    is_table = format_of(train) is PARQUET
    _refuse(
        (best and has_settings, "--best", "without settings of trees"),
        (best and sparse, "--sparse", "without --best"),
        (best and memory, "--memory", "without --best"),
        (memory and not takes_batches, "--memory", "with --feature-part histogram"),
        (early_stopping_rounds and valid is None, "--early-stopping-rounds", "with --valid"),
        (position and not is_table, "--position", "with a table, which has columns"),
        (position and memory, "--position", "without --memory"),
        (position and share, "--position", "with a --valid file of labels, or without --valid"),
    )
    valid = valid if share is None else None
    jobs = ["0__n_jobs", "1__n_jobs"] if best else ["n_jobs"]
    part.set_params(random_state=random_state, **dict.fromkeys(jobs, n_jobs), **of_trees)
    shared.check_written(model, train, valid)
    settings = shared.given(loss=loss, weight=weight, metric=metric, random_state=random_state)
    ranker = TreeDirectRanker(part, **settings)
    check_parameters(part)
    objective_for_labels(ranker, [1, 0])  # refuses settings that do not go together
    reporter = Reporter(quiet)
    if position is not None and features is None:
        drop = [*(drop or ()), position]
    named = columns | shared.given(features=features, drop=drop, days_since=days_since)
    reading = {"sparse": sparse, "n_features": n_features} | named
    clicks: dict[str, Any] = {}
    if position is not None:
        clicks["position"] = shared.column_of(train, position, "position")
    data, held_out = _read(reporter, train, valid, memory, **reading)
    for name in export_to or ():
        refuse_format(ranker, name, next(iter(data)).X if memory else data.X)
    eval_set = held_out if share is None else share
    is_auto = not (best or has_settings or position) and eval_set is None
    n_judged = _n_judged(data) if is_auto else 0
    doing = "fitting an ensemble" if best else "growing trees"
    with reporter.step(doing, brief=False) as step, listening(step, reporter.tell):
        if adds_second_loss(ranker, n_judged):
            part = trees_for_few(n_judged, n_jobs).set_params(random_state=random_state)
            ranker.set_params(feature_part=part)
        ranker.fit(*(data if memory is None else [data]), eval_set=eval_set, **clicks)
        _tell_of_fit(step, ranker)
    if ranker.propensities_ is not None:
        reporter.tell(_bias_of(ranker.propensities_))
    roles = {"label": "label", "query": "query"} | columns | shared.given(days_since=days_since)
    save(ranker, model, roles if is_table else None)
    reporter.say(f"wrote {model}")


def _n_judged(data: Any) -> int:
    """Return the number of queries with a label, of rows that are in memory."""
    codes = QueryGroups.from_qid(data.qid, len(data.y)).codes
    return len(np.unique(codes[~np.isnan(data.y)]))


def _tell_of_fit(step: Step, ranker: TreeDirectRanker) -> None:
    """Set the message at the end of ``step``: what was fitted, and why fewer trees than asked."""
    part: Any = ranker.feature_part_
    if isinstance(ranker.feature_part, Ensemble):
        times = f"{part.n_refits} times " * (part.n_refits > 1)
        step.done = f"fitted {times}{len(part.parts)} parts"
        return
    n_trees, n_asked = part.best_iteration_, part.n_estimators_
    step.done = f"fitted {shared.counted(n_trees, 'tree')}"
    if n_trees < n_asked:
        why = "" if ranker.evals_result_ else ", no further split improves the objective"
        step.done = f"fitted {n_trees:,} of {n_asked:,} trees{why}"


def _bias_of(propensities: np.ndarray) -> str:
    """Return a line with the estimated probabilities that users look at the first positions.

    Examples
    --------
    >>> _bias_of(np.array([1.0, 0.5, np.nan]))
    'how often users look at a position, over the first: 1: 1.00, 2: 0.50'
    """
    estimated = [(k, p) for k, p in enumerate(propensities.tolist(), 1) if not np.isnan(p)]
    listed = ", ".join(f"{k}: {p:.2f}" for k, p in estimated[:_N_SHOWN])
    return f"how often users look at a position, over the first: {listed}"


def _share_of(valid: Path | None) -> float | None:
    """Return ``--valid`` as the share of queries to hold out; ``None`` if it is no number.

    It is ``None``, too, if a file has that name. Refuses a number outside of (0, 1).
    """
    try:
        share = float(str(valid))
    except ValueError:
        return None
    if valid is None or valid.exists():
        return None
    if not 0 < share < 1:
        rule = "must be a data file, or a share of the queries above 0 and below 1"
        raise typer.BadParameter(f"{rule}; got {valid}.", param_hint="--valid")
    return share


def _read(
    reporter: Reporter, train: Path, valid: Path | None, memory: str | None, **options: Any
) -> tuple[Any, Any]:
    """Return ``(training data, held-out data)``, the latter None if ``valid`` is.

    With a limit of ``memory`` both are read in batches; else held-out data get the features of the
    training data. ``options`` go to the readers.
    """
    if memory is not None:
        batches = in_batches(train, memory, **options)
        if valid is None:
            return batches, None
        if format_of(valid) is PARQUET:
            options |= {"categories": _text_columns(next(iter(batches)).X)}
        return batches, in_batches(valid, memory, **options)
    of_train = options
    if valid is not None and format_of(valid) is PARQUET and format_of(train) is not PARQUET:
        of_valid = ("label", "query", "days_since")
        of_train = {name: value for name, value in options.items() if name not in of_valid}
    data = shared.read_data(reporter, train, **of_train)
    if valid is None:
        return data, None
    names = getattr(data.X, "column_names", None)
    width = shared.width_of(valid, data.X.shape[1], names, _text_columns(data.X))
    option_names = ("label", "query", "days_since") if format_of(valid) is PARQUET else ()
    columns = {name: options[name] for name in ("sparse", *option_names) if name in options}
    return data, tuple(shared.read_data(reporter, valid, **columns, **width))


def _text_columns(X: Any) -> list[str]:
    """Return the columns of a table that hold text or categories of text; none of a matrix."""
    fields = getattr(X, "schema", ())
    kinds = {field.name: getattr(field.type, "value_type", field.type) for field in fields}
    return [name for name, kind in kinds.items() if is_text(kind)]


def _refuse(*rules: tuple[Any, str, str]) -> None:
    """Raise a usage error for the first broken rule of ``(is_broken, option, rule)``.

    The message is "<option>: must come <rule>".
    """
    for is_broken, option, rule in rules:
        if is_broken:
            raise typer.BadParameter(f"must come {rule}.", param_hint=option)
