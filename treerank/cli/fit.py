"""``treerank fit``: learn a ranker from a data file and write it to a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from treerank.checks import check_number
from treerank.cli import options as shared
from treerank.cli.console import Reporter
from treerank.cli.memory import Memory, in_batches
from treerank.datasets.formats import PARQUET, format_names, format_of
from treerank.feature_parts.base import traits_of
from treerank.feature_parts.registry import make_feature_part
from treerank.objectives.factory import LOSSES
from treerank.objectives.pairs.weights import PAIR_WEIGHTS
from treerank.parameters import check_parameters
from treerank.progress import listening
from treerank.rankers.direct_ranker import objective_for_labels
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

#: Feature parts of leaves; networks and lines are for Python.
_TREES = ("lightgbm", "xgboost", "histogram", "streaming")
_DEFAULTS = TreeDirectRanker().get_params(deep=False)
_FOUND = "By default found from the numbers of documents, queries and features."
_HELP = {
    "feature_part": "Feature part that grows trees; one of",
    "weight": "Weight of a pair; by default ndcg, or none for a loss without pairs",
    "valid": "Data file that decides how many trees are kept, but not with --best, and fits pair "
    f"probabilities: {format_names()}. Or a share of the queries of TRAIN, such as 0.2, which are "
    "held out.",
    "stop": "Stop after so many trees without a better metric on the --valid file; by default "
    "2.5 / learning rate.",
    "trees": f"Number of trees. {_FOUND}",
    "leaves": f"Largest number of leaves of a tree. {_FOUND}",
    "rate": f"Factor of each tree. {_FOUND}",
    "metric": "Metric of the --valid file.",
    "best": "Rank best, at about ten times the cost; see TreeDirectRanker.best.",
    "n_features": "Number of features; by default, the highest in TRAIN.",
}

FeaturePart = Annotated[str, shared.choice("feature_part", _TREES, _HELP["feature_part"])]
_check_rate = shared.checked(lambda rate: check_number("learning_rate", rate, above=0))
LearningRate = Annotated[float | None, typer.Option(callback=_check_rate, help=_HELP["rate"])]


def fit(
    train: shared.DataFile,
    model: Annotated[Path, typer.Option("--model", "-m", help="Model file to write.")],
    valid: Annotated[Path | None, typer.Option(help=_HELP["valid"])] = None,
    best: Annotated[bool, typer.Option("--best", help=_HELP["best"])] = False,
    feature_part: FeaturePart = _DEFAULTS["feature_part"],
    loss: Annotated[str, shared.choice("loss", LOSSES, "Loss")] = _DEFAULTS["loss"],
    weight: Annotated[str | None, shared.choice("weight", PAIR_WEIGHTS, _HELP["weight"])] = None,
    n_estimators: Annotated[int | None, typer.Option(min=1, help=_HELP["trees"])] = None,
    learning_rate: LearningRate = None,
    num_leaves: Annotated[int | None, typer.Option(min=2, help=_HELP["leaves"])] = None,
    early_stopping_rounds: Annotated[int | None, typer.Option(min=1, help=_HELP["stop"])] = None,
    metric: Annotated[str, shared.metric_option(_HELP["metric"])] = _DEFAULTS["metric"],
    n_features: Annotated[int | None, typer.Option(min=1, help=_HELP["n_features"])] = None,
    label: shared.Label = None,
    query: shared.Query = None,
    document: shared.Document = None,
    features: shared.Features = None,
    drop: shared.Drop = None,
    random_state: shared.RandomState = 0,
    n_jobs: Annotated[int | None, typer.Option(min=1, help="Threads; by default all.")] = None,
    memory: Memory = None,
    sparse: shared.Sparse = False,
    quiet: shared.Quiet = False,
) -> None:
    """Learn a ranker from a data file and write it to a model file.

    An existing model file is replaced only once the new one is whole.
    """
    sizes = {"n_estimators": n_estimators, "num_leaves": num_leaves, "learning_rate": learning_rate}
    of_trees = shared.given(early_stopping_rounds=early_stopping_rounds, **sizes)
    part: Any = TreeDirectRanker.best().feature_part if best else make_feature_part(feature_part)
    takes_batches = traits_of(part).accepts_batches
    is_own_tree = of_trees or feature_part != _DEFAULTS["feature_part"]
    named = shared.given(label=label, query=query, document=document, features=features, drop=drop)
    _refuse(
        (best and is_own_tree, "--best", "without settings of trees"),
        (best and sparse, "--sparse", "without --best"),
        (best and memory, "--memory", "without --best"),
        (memory and not takes_batches, "--memory", "with --feature-part histogram"),
        (early_stopping_rounds and valid is None, "--early-stopping-rounds", "with --valid"),
    )
    share = _share_of(valid)
    valid = valid if share is None else None
    jobs = ["0__n_jobs", "1__n_jobs"] if best else ["n_jobs"]
    part.set_params(random_state=random_state, **dict.fromkeys(jobs, n_jobs), **of_trees)
    shared.check_written(model, train, valid)
    settings = shared.given(loss=loss, weight=weight, metric=metric, random_state=random_state)
    ranker = TreeDirectRanker(part, **settings)
    check_parameters(part)
    objective_for_labels(ranker, [1, 0])  # refuses settings that do not go together
    reporter = Reporter(quiet)
    growing = reporter.counting("fitting an ensemble" if best else "growing trees")
    reading = {"sparse": sparse, "n_features": n_features} | named
    data, held_out = _read(reporter, train, valid, memory, **reading)
    eval_set = held_out if share is None else share
    with growing as show, listening(show, reporter.tell):
        ranker.fit(*(data if memory is None else [data]), eval_set=eval_set)
    ranker.save(model)
    n_trees = f"{part.n_refits} fits of {len(part.parts)} parts" if best else _n_trees(ranker)
    reporter.say(f"wrote {model}: {n_trees}")


def _share_of(valid: Path | None) -> float | None:
    """Return the share of the queries to hold out; ``None`` where there is none, or a file."""
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
    """Return the training data and the data held out, both maybe in batches."""
    if memory is not None:
        held_out = None if valid is None else in_batches(valid, memory, **options)
        return in_batches(train, memory, **options), held_out
    of_train = options
    if valid is not None and format_of(valid) is PARQUET and format_of(train) is not PARQUET:
        of_train = {name: each for name, each in options.items() if name not in ("label", "query")}
    data = shared.read_data(reporter, train, **of_train)
    if valid is None:
        return data, None
    width = shared.width_of(valid, data.X.shape[1], getattr(data.X, "column_names", None))
    words = ("label", "query", "sparse") if format_of(valid) is PARQUET else ("sparse",)
    columns = {name: options[name] for name in words if name in options}
    return data, tuple(shared.read_data(reporter, valid, **columns, **width))


def _refuse(*rules: tuple[Any, str, str]) -> None:
    """Refuse an option that comes with wrong others; each rule begins with whether it is broken."""
    for is_broken, option, rule in rules:
        if is_broken:
            raise typer.BadParameter(f"must come {rule}.", param_hint=option)


def _n_trees(ranker: TreeDirectRanker) -> str:
    """Return the number of trees as text, and why fewer were grown than were to be."""
    part: Any = ranker.feature_part_
    n_trees, n_asked = part.best_iteration_, part.n_estimators_
    if n_trees == n_asked:
        return f"{n_trees} trees"
    reason = "" if ranker.evals_result_ else ": no further split improves the objective"
    return f"{n_trees} of {n_asked} trees{reason}"
