"""``treerank evaluate --log``: what a model would earn, from a log of clicks on another one."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treerank.cli.console import Reporter, print_table
from treerank.cli.options import read_model
from treerank.clicks.evaluation import LogEvaluation, evaluate_from_log
from treerank.clicks.features import features_of
from treerank.clicks.log import ClickLog
from treerank.inputs.columns import as_frame


def evaluate_log(
    reporter: Reporter, model: Path, data: Path, log: Path, *, query: str, as_json: bool
) -> None:
    """Print estimates of the clicks of a session, and how the log shows other documents."""
    ranker = read_model(model)
    with reporter.counting(f"reading {log}"):
        clicks = ClickLog.from_table(log, query=query)
    reporter.say(f"{log}: {clicks}")
    with reporter.counting(f"reading {data}"):
        X = features_of(clicks.items, data, query=query, document="document")
    names = getattr(ranker, "feature_names_in_", None)
    frame: Any = as_frame(X)
    X = X if names is None else frame.select(list(names)).to_native()
    with reporter.counting("measuring"):
        found = evaluate_from_log(clicks, ranker.predict(X), random_state=0)
    if as_json:
        about = {"model": str(model), "data": str(data), "log": str(log)}
        sys.stdout.write(json.dumps(about | asdict(found), indent=2) + "\n")
    else:
        _print(found, clicks)


def _print(found: LogEvaluation, log: ClickLog) -> None:
    """Print a line for each estimate, and one for the log itself."""
    rows = [
        [name, *(f"{value:.6f}" for value in (each.estimate, each.low, each.high))]
        for name, each in found.estimates.items()
    ]
    logged = f"{log.clicked.sum() / log.n_sessions:.6f}"
    rows.append(["logged", logged, "", ""])
    columns = ["clicks of a session", "estimate", "low", "high"]
    print_table(columns, rows, right=columns[1:])
