"""``treerank fit``: from a LETOR file to a model file."""

from pathlib import Path
from typing import Annotated

import typer

from treerank.cli.console import Reporter
from treerank.cli.options import (
    Cache,
    Quiet,
    Sparse,
    check_metric,
    check_positive,
    one_of,
    read_data,
)
from treerank.cli.trees import SIZES, grown_to
from treerank.feature_parts.registry import make_feature_part, reads_sparse
from treerank.objectives.listwise import LISTWISE
from treerank.objectives.losses import PAIR_LOSSES
from treerank.objectives.pairs import PAIRS
from treerank.objectives.weights import PAIR_WEIGHTS
from treerank.progress import listening
from treerank.rankers.tree_direct_ranker import TreeDirectRanker

LOSSES = (*PAIR_LOSSES, *LISTWISE)
_DEFAULTS = TreeDirectRanker().get_params(deep=False)
_TREES = make_feature_part("lightgbm").get_params(deep=False)


def _option(name, names, what):
    return typer.Option(
        name, callback=one_of(names), metavar="NAME", help=f"{what}: {', '.join(names)}."
    )


def fit(
    train: Annotated[Path, typer.Argument(help="LETOR file to learn from, plain or gzip.")],
    model: Annotated[Path, typer.Option("--model", "-m", help="Model file to write.")],
    valid: Annotated[
        Path | None,
        typer.Option(help="LETOR file for early stopping and for pair probabilities."),
    ] = None,
    feature_part: Annotated[
        str, _option("--feature-part", tuple(SIZES), "What grows the trees")
    ] = _DEFAULTS["feature_part"],
    loss: Annotated[str, _option("--loss", LOSSES, "Pair loss, or a listwise one")] = _DEFAULTS[
        "loss"
    ],
    weight: Annotated[
        str | None,
        _option(
            "--weight",
            tuple(PAIR_WEIGHTS),
            f"Weight of a pair, {_DEFAULTS['weight']} unless the loss is listwise",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        _option(
            "--pairs",
            tuple(PAIRS),
            f"Which pairs count, {_DEFAULTS['pairs']} unless the loss is listwise",
        ),
    ] = None,
    smoothing: Annotated[
        float, typer.Option(min=0, help="Scale of the noise on scores that ranks come from.")
    ] = _DEFAULTS["smoothing"],
    trees: Annotated[int, typer.Option(min=1, help="Number of trees.")] = _TREES["n_estimators"],
    learning_rate: Annotated[
        float, typer.Option(callback=check_positive, help="Shrinkage of each tree.")
    ] = _TREES["learning_rate"],
    leaves: Annotated[int, typer.Option(min=2, help="Most leaves of a tree.")] = _TREES[
        "num_leaves"
    ],
    early_stopping: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after so many trees that did not help; needs --valid."),
    ] = None,
    metric: Annotated[
        str, typer.Option(callback=check_metric, help="What to watch on the --valid file.")
    ] = _DEFAULTS["metric"],
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Number of features; by default, the highest in TRAIN."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; by default all.")] = None,
    sparse: Sparse = False,
    cache: Cache = False,
    quiet: Quiet = False,
):
    """Learn a ranker from a LETOR file and write it to a model file.

    The model file appears, or is replaced, only once it is whole.
    """
    part = grown_to(feature_part, trees, leaves, learning_rate)
    _refuse_before_reading(model, valid, early_stopping, sparse and not reads_sparse(part))
    settings = _objective_settings(loss, weight, pairs, smoothing)
    ranker = TreeDirectRanker(part, **settings, metric=metric, random_state=seed)
    part.set_params(early_stopping_rounds=early_stopping, random_state=seed, n_jobs=threads)
    reporter = Reporter(quiet)
    reading = {"sparse": sparse, "cache": cache}
    data = read_data(reporter, train, n_features=features, **reading)
    held_out = None
    if valid is not None:
        held_out = tuple(read_data(reporter, valid, n_features=data.X.shape[1], **reading))
    with reporter.counting(f"growing {trees} trees", trees) as show, listening(show):
        ranker.fit(*data, eval_set=held_out)
    ranker.save(model)
    reporter.say(f"wrote {model}: {ranker.best_iteration_} trees")


def _refuse_before_reading(model, valid, early_stopping, sparse_in_vain):
    """Refuse what would only fail after a long training."""
    if sparse_in_vain:
        raise typer.BadParameter(
            "must come with a --feature-part that reads sparse features.", param_hint="--sparse"
        )
    if early_stopping is not None and valid is None:
        raise typer.BadParameter("must come with --valid.", param_hint="--early-stopping")
    if not model.absolute().parent.is_dir():
        raise ValueError(f"{model}: the folder of the model must exist.")


def _objective_settings(loss, weight, pairs, smoothing):
    """Return settings for the ranker: a listwise loss has no pairs to choose or to weigh."""
    usual = {"weight": None, "pairs": None} if loss in LISTWISE else _DEFAULTS
    return {
        "loss": loss,
        "weight": weight or usual["weight"],
        "pairs": pairs or usual["pairs"],
        "smoothing": smoothing,
    }
