"""``treerank evaluate``: metrics of a model on a data file with labels."""

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.cli import options as shared
from treerank.cli.console import Reporter, print_table
from treerank.cli.memory import Memory, score_data
from treerank.clicks.click_data import features_of
from treerank.clicks.evaluation import evaluate_from_log
from treerank.clicks.log import ClickLog
from treerank.clicks.rewards import REWARDS
from treerank.metrics.judged import judged_share, warn_of_unjudged
from treerank.metrics.registry import BESIDE, METRICS, get_metric

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")
_METRIC_HELP = (
    f"{', '.join([*METRICS, *BESIDE])}, with @k for a cutoff; may be repeated. "
    f"By default {', '.join(DEFAULT_METRICS)}."
)
_LOG_HELP = (
    "Table of clicks on another ranker: session, query, document, position, click. The "
    "clicks that the model would earn are estimated; DATA is a table with the columns query and "
    "document, and needs no labels. --query and --id name columns of both tables."
)


def evaluate(
    model: shared.ModelFile,
    data: shared.DataFile,
    metric: Annotated[list[str] | None, shared.metric_option(_METRIC_HELP)] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Also print the values of each query.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    log: Annotated[Path | None, typer.Option("--log", help=_LOG_HELP)] = None,
    reward: Annotated[
        str | None,
        shared.choice("reward", REWARDS, "With --log, what a ranking earns instead of clicks"),
    ] = None,
    click_value: Annotated[
        str | None,
        typer.Option(help="Column of the log that says what each click is worth, such as a price."),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            help="Column of the log that says how likely the other ranker was to show each "
            "document at its position."
        ),
    ] = None,
    label: shared.Label = None,
    query: shared.Query = None,
    document: shared.Document = None,
    memory: Memory = None,
    sparse: shared.Sparse = False,
    quiet: shared.Quiet = False,
) -> None:
    """Measure a model by the labels of a data file, or by a log of clicks.

    Means are over the queries for which the metric is defined. The value of any other query is
    nan, or null in JSON.
    """
    reading = {"sparse": sparse} | shared.given(label=label, query=query)
    reporter = Reporter(quiet)
    about: dict[str, Any] = {"model": str(model), "data": str(data)}
    if log is not None:
        if metric or per_query or label or memory or sparse:
            raise ValueError(
                "--log must be without --metric, --per-query, --label, --memory and --sparse."
            )
        about["log"] = str(log)
        earning = {"reward": reward or "clicks", "click_value": click_value}
        names = {"query": query or "query", "document": document or "document"}
        ranker = shared.read_model(model)
        found, clicks = _earned(reporter, ranker, data, log, names, propensity, **earning)
        if as_json:
            _print_json(about | earning | {"propensity": propensity} | asdict(found))
        else:
            _print_earned(found, clicks, **earning)
        return
    if reward or click_value or propensity:
        raise ValueError("--reward, --click-value and --propensity must come with --log.")
    reading |= shared.given(document=document)
    scores, documents = score_data(reporter, model, data, memory, **reading)
    y, qid = documents.y, documents.qid
    warn_of_unjudged(judged_share(y, scores, qid))
    chosen = [get_metric(name) for name in metric or DEFAULT_METRICS]
    queries = np.unique(qid).tolist()
    with reporter.counting("measuring"):
        columns = {m.name: m.per_query(y, scores, qid).tolist() for m in chosen}
        means = {m.name: m(y, scores, qid) for m in chosen}
    rows = dict(zip(queries, zip(*columns.values(), strict=True), strict=True)) if per_query else {}
    if as_json:
        about |= {"documents": len(y), "queries": len(queries)}
        about["metrics"] = _by_metric(means, means.values())
        if per_query:
            each = [{"qid": q} | _by_metric(means, values) for q, values in rows.items()]
            about["per_query"] = each
        _print_json(about)
    else:
        cells = (rows | {"all": tuple(means.values())}).items()
        lines = [[str(name), *(f"{value:.6f}" for value in values)] for name, values in cells]
        print_table(["qid", *means], lines, right=means)


def _by_metric(names, values):
    """Return values by the name of their metric, None for nan."""
    numbers = [None if math.isnan(value) else float(value) for value in values]
    return dict(zip(names, numbers, strict=True))


def _print_json(found):
    """Print what was found; dates are text."""
    sys.stdout.write(json.dumps(found, indent=2, default=str) + "\n")


def _earned(reporter, ranker, data, log, names, propensity, reward, click_value):
    """Return estimates of what a session earns, and the log of another ranker."""
    extra = [name for name in (click_value, propensity) if name is not None]
    with reporter.counting(f"reading {log}"):
        clicks = ClickLog.from_table(log, extra=extra, **names)
    reporter.say(f"{log}: {clicks}")
    known = shared.read_for(ranker, reporter, data, label=None, **names)
    X = features_of(clicks.items, (known.X, known.qid, known.documents), **names)
    with reporter.counting("measuring"):
        values = {"click_value": clicks.extra.get(click_value), "logged_propensities": propensity}
        scores = ranker.predict(X)
        found = evaluate_from_log(clicks, scores, reward=reward, random_state=0, **values)
    return found, clicks


def _print_earned(found, log, reward, click_value):
    """Print a line for each estimate, and what sessions of the log earned if it was seen."""
    is_seen, what = reward == "clicks", reward
    if click_value is not None:
        what = click_value if is_seen else f"{reward} of {click_value}"
    rows = [
        [name, *(f"{value:.6f}" for value in (each.estimate, each.low, each.high))]
        for name, each in found.estimates.items()
    ]
    if is_seen:
        earned = log.clicked if click_value is None else log.extra[click_value][log.clicked]
        rows.append(["logged", f"{earned.sum() / log.n_sessions:.6f}", "", ""])
    columns = [f"{what} of a session", "estimate", "low", "high"]
    print_table(columns, rows, right=columns[1:])
