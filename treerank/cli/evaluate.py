"""``treerank evaluate``: metrics of a model on a data file with labels."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from treerank.cli import options as shared
from treerank.cli.console import Reporter, print_table
from treerank.cli.memory import Memory, score_data
from treerank.clicks.rewards import REWARDS
from treerank.lazy import load_object
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
    if log is not None:
        if metric or per_query or label or memory or sparse:
            raise ValueError(
                "--log must be without --metric, --per-query, --label, --memory and --sparse."
            )
        evaluate_log = load_object("treerank.cli.log_evaluation:evaluate_log")
        options = shared.given(reward=reward, click_value=click_value, propensity=propensity)
        options |= {"query": query or "query", "document": document or "document"}
        evaluate_log(reporter, model, data, log, as_json=as_json, **options)
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
        about = {"model": str(model), "data": str(data), "documents": len(y)}
        _print_json(about | {"queries": len(queries)}, means, rows if per_query else None)
    else:
        cells = (rows | {"all": tuple(means.values())}).items()
        lines = [[str(name), *(f"{value:.6f}" for value in values)] for name, values in cells]
        print_table(["qid", *means], lines, right=means)


def _print_json(about, means, rows):
    """Print means and, unless ``rows`` is None, values of each query; null for nan."""

    def named(values):
        return {
            name: None if math.isnan(value) else float(value)
            for name, value in zip(means, values, strict=True)
        }

    report = about | {"metrics": named(means.values())}
    if rows is not None:
        report["per_query"] = [{"qid": query} | named(values) for query, values in rows.items()]
    sys.stdout.write(json.dumps(report, indent=2, default=str) + "\n")
