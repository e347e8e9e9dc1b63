"""``treerank evaluate --log``: what a model would earn, from a log of clicks on another one."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treerank.cli.console import Reporter, print_table
from treerank.cli.options import read_for, read_model
from treerank.clicks.click_data import features_of
from treerank.clicks.evaluation import LogEvaluation, evaluate_from_log
from treerank.clicks.log import ClickLog


def evaluate_log(
    reporter: Reporter,
    model: Path,
    data: Path,
    log: Path,
    *,
    query: str,
    document: str,
    as_json: bool,
    reward: str = "clicks",
    click_value: str | None = None,
    propensity: str | None = None,
) -> None:
    """Print estimates of what a session earns, and how the log shows other documents."""
    ranker = read_model(model)
    extra = [name for name in (click_value, propensity) if name is not None]
    with reporter.counting(f"reading {log}"):
        clicks = ClickLog.from_table(log, query=query, document=document, extra=extra)
    reporter.say(f"{log}: {clicks}")
    found = read_for(ranker, reporter, data, label=None, query=query, document=document)
    table = found.X, found.qid, found.documents
    X = features_of(clicks.items, table, query=query, document=document)
    with reporter.counting("measuring"):
        value = clicks.extra.get(click_value or "")
        options: dict[str, Any] = {"reward": reward, "click_value": value, "random_state": 0}
        options["logged_propensities"] = propensity
        earned = evaluate_from_log(clicks, ranker.predict(X), **options)
    if as_json:
        about: dict[str, Any] = {"model": str(model), "data": str(data), "log": str(log)}
        about |= {"reward": reward, "click_value": click_value, "propensity": propensity}
        sys.stdout.write(json.dumps(about | asdict(earned), indent=2) + "\n")
    else:
        _print(earned, clicks, reward, click_value)


def _print(found: LogEvaluation, log: ClickLog, reward: str, click_value: str | None) -> None:
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
