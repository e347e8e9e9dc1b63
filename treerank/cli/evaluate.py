"""``treerank evaluate``: from a model and a LETOR file with labels to metrics."""

import json
import math
import sys
from typing import Annotated

import numpy as np
import typer

from treerank.cli.console import Reporter, print_table
from treerank.cli.options import (
    Cache,
    DataFile,
    ModelFile,
    Quiet,
    Sparse,
    check_metrics,
    read_model_and_data,
)
from treerank.metrics.registry import METRICS, get_metric

DEFAULT_METRICS = ("ndcg@10", "map", "mrr")


def evaluate(
    model: ModelFile,
    data: DataFile,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            callback=check_metrics,
            metavar="NAME",
            help=f"{', '.join(METRICS)}, with @k for a cutoff; may be repeated. "
            f"By default {', '.join(DEFAULT_METRICS)}.",
        ),
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Also the values of each query.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    sparse: Sparse = False,
    cache: Cache = False,
    quiet: Quiet = False,
):
    """Measure a model on the labels of a LETOR file.

    Means are over the queries that have something to find; the value of any other query is nan,
    or null in JSON.
    """
    options = {"sparse": sparse, "cache": cache}
    ranker, documents = read_model_and_data(Reporter(quiet), model, data, **options)
    X, y, qid = documents
    scores = ranker.predict(X)
    chosen = [get_metric(name) for name in metric or DEFAULT_METRICS]
    queries = np.unique(qid).tolist()
    values = {m.name: m.per_query(y, scores, qid).tolist() for m in chosen}
    means = {m.name: m(y, scores, qid) for m in chosen}
    if as_json:
        report = {"model": str(model), "data": str(data), "documents": len(y)}
        report |= {"queries": len(queries), "metrics": _nullable(means)}
        if per_query:
            report["per_query"] = [
                {"qid": q, **_nullable({name: v[i] for name, v in values.items()})}
                for i, q in enumerate(queries)
            ]
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
        return
    table = dict(zip(queries, zip(*values.values(), strict=True), strict=True))
    table = (table if per_query else {}) | {"all": means.values()}
    rows = [[str(name), *(f"{value:.6f}" for value in cells)] for name, cells in table.items()]
    print_table(["qid", *means], rows, right=means)


def _nullable(values):
    """JSON knows no nan."""
    return {name: None if math.isnan(v) else float(v) for name, v in values.items()}
