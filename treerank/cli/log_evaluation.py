"""``treerank evaluate --log``: what a model would earn, from a log of clicks on another one."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from treerank.cli.console import Reporter, print_table
from treerank.cli.options import read_model
from treerank.clicks.evaluation import LogEvaluation, evaluate_from_log
from treerank.clicks.features import features_of
from treerank.clicks.log import ClickLog
from treerank.inputs.columns import as_frame


def evaluate_log(
    reporter: Reporter,
    model: Path,
    data: Path,
    log: Path,
    *,
    query: str,
    as_json: bool,
    reward: str = "clicks",
    click_value: str | None = None,
) -> None:
    """Print estimates of what a session earns, and how the log shows other documents."""
    ranker = read_model(model)
    extra = [] if click_value is None else [click_value]
    with reporter.counting(f"reading {log}"):
        clicks = ClickLog.from_table(log, query=query, extra=extra)
    reporter.say(f"{log}: {clicks}")
    with reporter.counting(f"reading {data}"):
        X = features_of(clicks.items, data, query=query, document="document")
    names = getattr(ranker, "feature_names_in_", None)
    frame: Any = as_frame(X)
    X = X if names is None else frame.select(list(names)).to_native()
    with reporter.counting("measuring"):
        value = clicks.extra.get(click_value or "")
        options: dict[str, Any] = {"reward": reward, "click_value": value, "random_state": 0}
        found = evaluate_from_log(clicks, ranker.predict(X), **options)
    if as_json:
        about = {"model": str(model), "data": str(data), "log": str(log), "reward": reward}
        sys.stdout.write(json.dumps(about | asdict(found), indent=2) + "\n")
    else:
        _print(found, clicks, reward, value)


def _print(found: LogEvaluation, log: ClickLog, reward: str, value: np.ndarray | None) -> None:
    """Print a line for each estimate, and what sessions of the log earned if it was seen."""
    rows = [
        [name, *(f"{value:.6f}" for value in (each.estimate, each.low, each.high))]
        for name, each in found.estimates.items()
    ]
    if reward == "clicks":
        earned = log.clicked if value is None else value[log.clicked]
        rows.append(["logged", f"{earned.sum() / log.n_sessions:.6f}", "", ""])
    columns = [f"{reward} of a session", "estimate", "low", "high"]
    print_table(columns, rows, right=columns[1:])
