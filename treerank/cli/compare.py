"""``treerank compare``: a table of rankers on data with labels, and which differ significantly."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.checks import quote
from treerank.cli import options as shared
from treerank.cli.console import Reporter
from treerank.datasets.formats import PARQUET, format_names, format_of
from treerank.datasets.parquet_files import column_names
from treerank.documents.date_texts import checked_times
from treerank.documents.embeddings import sources_of
from treerank.documents.features import feature_names_of
from treerank.evaluation.data_splits import is_one_data_set
from treerank.evaluation.engine_rankers import engine_ranker, installed_rankers
from treerank.evaluation.running import compare as compare_rankers
from treerank.evaluation.running import metrics_by_name
from treerank.evaluation.summary import check_path
from treerank.metrics.registry import CONVENTIONS
from treerank.model_selection import QueryKFold, QueryShuffleSplit, QueryTimeSplit
from treerank.progress import listening
from treerank.registry import RANKERS, ranker_class

DEFAULT_METRICS = ("ndcg@10", "map")
#: Rankers that can be made without settings: others need a column, trees, or a ranker of stages.
_NEED_SETTINGS = {"ColumnRanker", "ForestRanker", "NestedRanker"}
NAMES = sorted(RANKERS.keys() - _NEED_SETTINGS) + installed_rankers()
#: Names of feature parts and of other programs, in small letters, and the rankers that are meant.
_INSTEAD = {
    "catboost": "'CatBoostRanker' is CatBoost's own ranker",
    "histogram": "'TreeDirectRanker' grows trees, and `treerank fit` has a choice of their kind",
    "lightgbm": "'TreeDirectRanker' grows trees by LightGBM; 'LGBMRanker' is LightGBM's own ranker",
    "line": "'RankSVM' and 'PRank' are linear models",
    "linear": "'RankSVM' and 'PRank' are linear models",
    "mlp": "'RankNet' is a network of layers",
    "svm": "'RankSVM' is a linear model",
    "trees": "'TreeDirectRanker' grows trees",
    "xgboost": "'XGBRanker' is XGBoost's own ranker",
}

_HELP = {
    "paths": "Models that were fitted before, if any, and then the data: a folder with Fold1, "
    f"Fold2 and so on, or a data file, - for LETOR rows on stdin: {format_names()}.",
    "ranker": "Ranker to fit, with its default settings; may be repeated. One of",
    "metric": f"Metric to compare by; may be repeated. By default {', '.join(DEFAULT_METRICS)}.",
    "folds": "Folds of a data file, by query; by default 5.",
    "hold_outs": "Random 80:20 splits of a data file instead of folds.",
    "time": "Column of times: each split trains on earlier queries and tests on later ones.",
    "gap": "Gap between training and test, in days or in units of --time.",
    "groups": "Column of groups, such as users, that are kept together in training or test.",
    "clusters": "Column of clusters, such as users, whose queries are correlated: intervals and "
    "tests are over clusters.",
    "human_label": "Column of human labels if --label is an LLM's; cells without one are empty.",
    "store": "Folder that keeps finished fits, so that an interrupted run can be continued.",
    "output": "File to write, with the notes: .txt, .md or .html.",
    "notes": "Also explain how the rankers were compared, and list each difference with its "
    "interval.",
}
_RANKER: Any = shared.choice(shared.RANKER, "ranker", NAMES, _HELP["ranker"], _INSTEAD)
_METRIC = shared.metric_option(shared.OUTPUT, _HELP["metric"])
_CONVENTION = shared.choice(shared.OUTPUT, "convention", CONVENTIONS, "How metrics are computed")


def _split(name: str, metavar: str, **rules: Any) -> Any:
    return shared.option(shared.SPLITS, _HELP[name], metavar=metavar, **rules)


def _file(panel: str, name: str) -> Any:
    return shared.option(panel, _HELP[name], f"--{name}", metavar="PATH")


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(help=_HELP["paths"], metavar="PATH", show_default=False),
    ],
    ranker: Annotated[list[str] | None, _RANKER] = None,
    store: Annotated[Path | None, _file(shared.RANKER, "store")] = None,
    folds: Annotated[int | None, _split("folds", "N", min=2)] = None,
    hold_outs: Annotated[int | None, _split("hold_outs", "N", min=2)] = None,
    time: Annotated[str | None, _split("time", "COLUMN")] = None,
    gap: Annotated[float | None, _split("gap", "DAYS", min=0)] = None,
    groups: Annotated[str | None, _split("groups", "COLUMN")] = None,
    metric: Annotated[list[str] | None, _METRIC] = None,
    convention: Annotated[str, _CONVENTION] = "treerank",
    notes: Annotated[bool, shared.option(shared.OUTPUT, _HELP["notes"], "--notes")] = False,
    output: Annotated[Path | None, _file(shared.OUTPUT, "output")] = None,
    label: shared.LabelOfModel = None,
    human_label: Annotated[
        str | None, shared.option(shared.DATA, _HELP["human_label"], metavar="COLUMN")
    ] = None,
    clusters: Annotated[
        str | None, shared.option(shared.DATA, _HELP["clusters"], metavar="COLUMN")
    ] = None,
    query: shared.QueryOfModel = None,
    document: shared.Document = None,
    features: shared.Features = None,
    drop: shared.Drop = None,
    days_since: shared.DaysSinceOfModel = None,
    random_state: shared.RandomState = 0,
    n_jobs: Annotated[
        int, shared.option("Options", "Number of processes.", min=1, metavar="N")
    ] = 1,
    quiet: shared.Quiet = False,
) -> None:
    """Compare models, or rankers fitted to the same splits: which differences are significant.

    If you only name models, they are scored on all of the data. Together with rankers that are to
    be fitted, they are scored on the same test sets as these.

    With --notes, or in a file, each difference follows below the table, with its interval and how
    many queries would be needed to show it. A ranker that fails on a split is reported, and the
    others continue.
    """
    *models, data = paths
    if not models and not ranker:
        raise typer.BadParameter("Missing option '--ranker', or models before the data.")
    splitting = shared.given(folds=folds, hold_outs=hold_outs, time=time, groups=groups)
    if models and splitting:
        hint = ", ".join(f"--{name.replace('_', '-')}" for name in splitting)
        raise typer.BadParameter("must come without models, which are fitted.", param_hint=hint)
    if folds is not None and hold_outs is not None:
        raise typer.BadParameter("must come without --folds.", param_hint="--hold-outs")
    if hold_outs is not None and time is not None:
        raise typer.BadParameter("must come without --hold-outs.", param_hint="--time")
    if gap is not None and time is None:
        raise typer.BadParameter("must come with --time.", param_hint="--gap")
    if clusters is not None and human_label is not None:
        wrong = "must come without --human-label, which is of queries drawn one by one."
        raise typer.BadParameter(wrong, param_hint="--clusters")
    if output is not None:
        shared.check_written(check_path(output), *paths)
    metrics_by_name(metric or DEFAULT_METRICS, convention)  # or refuse them before all work
    reporter = Reporter(quiet)
    documents: Any = data
    fitted = _models(models, ranker or [])
    by_column = shared.given(time=time, groups=groups, human_label=human_label, clusters=clusters)
    columns = _columns(data, by_column, gap)
    if by_column and features is None:
        used = _columns_used(fitted, data)
        drop = [*(drop or ()), *(name for name in by_column.values() if name not in used)]
    roles = {"label": label, "query": query, "document": document, "days_since": days_since}
    named = shared.given(features=features, drop=drop) | shared.columns_for(models, data, **roles)
    _refuse_model(data)
    for model in fitted.values():
        shared.adopt_columns(model, data)
    if is_one_data_set(data) or not data.is_dir():
        width = _width_for(fitted, data, has_others=bool(ranker))
        documents = shared.read_data(reporter, data, **width | named)
        _check_widths(fitted, data, documents)
    elif named:
        hint = "--label, --query, --id, --features, --drop, --days-since"
        raise typer.BadParameter("must come with one data set.", param_hint=hint)
    cv = _splits(documents, folds, hold_outs, random_state, columns)
    rankers = fitted | {
        name: ranker_class(name)() if name in RANKERS else engine_ranker(name)
        for name in ranker or []
    }
    doing = f"comparing {', '.join(rankers)}"
    with reporter.step(doing, brief=False) as step, listening(step):
        comparison = compare_rankers(
            rankers,
            documents,
            cv=cv,
            metrics=metric or DEFAULT_METRICS,
            convention=convention,
            n_jobs=n_jobs,
            human_labels=columns.get("human_label"),
            clusters=columns.get("clusters"),
            store=store,
            random_state=random_state,
        )
        n_splits = len(comparison.splits)
        test_sets = f"{n_splits} splits" if n_splits > 1 else "one test set"
        step.done = f"compared {', '.join(rankers)} on {test_sets}"
    if not comparison.outcomes:
        done = "fitted" if ranker else "scored"
        raise ValueError(f"no ranker could be {done}; the warnings above say why.")
    summary = comparison.summary()
    text = str(summary) if notes else replace(summary, notes=()).to_text().rstrip()
    typer.echo(text)
    if not notes and any(arrow in text for arrow in "↑↓"):
        reporter.say("↑ ↓: significantly better or worse than the best; --notes has the tests")
    if output is not None:
        summary.save(output)
        reporter.say(f"wrote {output}")


def _models(paths: list[Path], other_names: list[str]) -> dict[str, Any]:
    """Return models by name: the stem of the file, or its whole path where stems are equal.

    ``other_names`` are the names of the rankers that are listed beside them. Refuses a name that
    occurs twice.
    """
    stems = [path.stem for path in paths] + other_names
    names = [path.stem if stems.count(path.stem) == 1 else str(path) for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice}: is there twice; a model is compared with others.")
    return {name: shared.read_model(path) for name, path in zip(names, paths, strict=True)}


def _refuse_model(path: Path) -> None:
    """Refuse a model file where the data should be, which come last."""
    if shared.is_model(path):
        raise ValueError(f"{path}: is a model; write models first, then the data.")


def _width_for(models: dict[str, Any], path: Path, has_others: bool) -> dict[str, Any]:
    """Return arguments for reading ``path`` so that it has the features of all fitted models.

    ``n_features`` is the largest width of the models for a LETOR file, ``features`` the names of
    all their columns for a table. All columns are read without models, and of a table if some model
    has no names or, ``has_others``, rankers are yet to be fitted. ``categories`` are the columns
    of a table that were text in training.
    """
    if not models:
        return {}
    if format_of(path) is not PARQUET:
        return {"n_features": max(model.n_features_in_ for model in models.values())}
    columns = column_names(path)
    texts = chain.from_iterable(map(shared.categories_of, models.values()))
    categories = [name for name in texts if name in columns]
    if has_others or any(feature_names_of(model) is None for model in models.values()):
        return {"categories": categories}
    return {"features": _columns_used(models, path), "categories": categories}


def _columns_used(models: dict[str, Any], path: Path) -> list[str]:
    """Return the columns of a table that fitted models use, as far as they know their names."""
    names_by_model = map(feature_names_of, models.values())
    names = [name for names in names_by_model if names is not None for name in names]
    return sources_of(names, column_names(path))


def _check_widths(models: dict[str, Any], path: Path, data: Any) -> None:
    """Refuse data if a model without feature names has another number of features.

    Only models with feature names, on a table, can be compared where their features differ.
    """
    for name, model in models.items():
        has_names = feature_names_of(model) is not None and format_of(path) is PARQUET
        if not has_names and model.n_features_in_ != data.X.shape[1]:
            raise ValueError(
                f"{path}: {name} has features without names, so there must be "
                f"{model.n_features_in_} columns of features; got {data.X.shape[1]}. Models of "
                "other features are compared on a table whose columns have their names."
            )


def _columns(path: Path, names: dict[str, str], gap: float | None) -> dict[str, Any]:
    """Return the columns of a table that options name, by option, and ``gap`` under "gap".

    ``names`` maps "time", "groups", "human_label" and "clusters" to the column, where given. The
    result is empty without any. Refuses what is not a single table.
    """
    if not names:
        return {}
    if format_of(path) is not PARQUET or not is_one_data_set(path):
        hint = ", ".join(f"--{word.replace('_', '-')}" for word in names)
        raise typer.BadParameter("must come with one table.", param_hint=hint)
    columns = {
        word: shared.labels_of(path, name)
        if word == "human_label"
        else shared.column_of(path, name, word)
        for word, name in names.items()
    }
    if "time" in columns:
        columns["time"] = checked_times(
            f"{path}, column {quote(names['time'])}: times", columns["time"]
        )
    return columns | {"gap": gap}


def _splits(
    data: Any, folds: int | None, hold_outs: int | None, seed: int, columns: dict[str, Any]
) -> Any:
    """Return the ``cv`` of ``compare_rankers``: a number of folds, a splitter, or row splits.

    These are ``(training rows, test rows)``, where ``columns`` holds times or groups to split by.
    ``seed`` is the random state.
    """
    cv: Any = folds
    if hold_outs is not None:
        cv = QueryShuffleSplit(hold_outs, random_state=seed)
    if not {"time", "groups"} & columns.keys():
        return cv
    if "time" in columns:
        gap = columns["gap"]
        if gap is not None and columns["time"].dtype.kind == "M":  # of dates, it is in days
            gap = np.timedelta64(round(gap * 86_400), "s")
        cv = QueryTimeSplit(columns["time"], n_splits=folds or 5, gap=gap)
    elif hold_outs is None:
        cv = QueryKFold(folds or 5, shuffle=True, random_state=seed)
    return list(cv.split(data.X, data.y, data.qid, groups=columns.get("groups")))
