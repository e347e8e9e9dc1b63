"""``treerank evaluate``: metrics of a model on a data file with labels."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.cli import options as shared
from treerank.cli.console import Reporter, print_table
from treerank.cli.memory import Memory, score_data
from treerank.files.object_stores import shown
from treerank.metrics.judged import depth_of, judged_share, warn_of_unjudged
from treerank.metrics.registry import BESIDE, METRICS, get_metric

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")
_METRIC_HELP = (
    f"{', '.join([*METRICS, *BESIDE])}, with @k for a cutoff; may be repeated. "
    f"By default {', '.join(DEFAULT_METRICS)}."
)
_PER_QUERY, _JSON = (
    "Also print the values of each query.",
    "Print JSON with all digits instead of a table.",
)


def evaluate(
    model: shared.ModelFile,
    data: shared.DataFile,
    more: Annotated[list[Path] | None, typer.Argument(hidden=True)] = None,
    metric: Annotated[list[str] | None, shared.metric_option(shared.OUTPUT, _METRIC_HELP)] = None,
    per_query: Annotated[bool, shared.option(shared.OUTPUT, _PER_QUERY, "--per-query")] = False,
    as_json: Annotated[bool, shared.option(shared.OUTPUT, _JSON, "--json")] = False,
    label: shared.LabelOfModel = None,
    query: shared.QueryOfModel = None,
    document: shared.Document = None,
    days_since: shared.DaysSinceOfModel = None,
    memory: Memory = None,
    sparse: shared.Sparse = False,
    quiet: shared.Quiet = False,
) -> None:
    """Evaluate a model on a data file with labels.

    Means are over the queries for which the metric is defined. The value of any other query is
    nan, or null in JSON.
    """
    if more or all(map(shared.is_model, (model, data))):
        raise typer.BadParameter(
            f"must be one data file, no model; got {' '.join(map(str, [data, *(more or ())]))}. "
            "Evaluate one file after another; `treerank compare MODEL MODEL DATA` compares models.",
            param_hint="DATA",
        )
    columns = shared.columns_for([model], data, label=label, query=query, days_since=days_since)
    reading = {"sparse": sparse} | columns | shared.given(document=document)
    reporter = Reporter(quiet)
    scores, documents = score_data(reporter, model, data, memory, is_test=True, **reading)
    y, qid = documents.y, documents.qid
    chosen = [get_metric(name) for name in metric or DEFAULT_METRICS]
    depth = depth_of(chosen)
    warn_of_unjudged(judged_share(y, scores, qid, depth), depth)
    queries = np.unique(qid).tolist()
    with reporter.step("measuring"):
        columns = {m.name: m.per_query(y, scores, qid).tolist() for m in chosen}
        means = {m.name: m(y, scores, qid) for m in chosen}
    rows = [*zip(queries, *columns.values(), strict=True)] if per_query else []
    if as_json:
        about: dict[str, Any] = {"model": str(model), "data": shown(data)}
        about |= {"documents": len(y), "queries": len(queries)}
        about["metrics"] = _by_metric(means, means.values())
        if per_query:
            query_values = [{"qid": q} | _by_metric(means, values) for q, *values in rows]
            about["per_query"] = query_values
        sys.stdout.write(json.dumps(about, indent=2, default=str) + "\n")  # dates are text
    else:
        rows.append(("all", *means.values()))  # a query may have this name, too
        lines = [[str(name), *(f"{value:.6f}" for value in values)] for name, *values in rows]
        print_table(["qid", *means], lines)


def _by_metric(names, values):
    """Return a dict from metric name to value, with None for NaN as JSON needs."""
    numbers = [None if math.isnan(value) else float(value) for value in values]
    return dict(zip(names, numbers, strict=True))
