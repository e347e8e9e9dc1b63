"""``treerank demo``: the default ranker beside the engines' rankers, and a report on it."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from treerank.cli.console import Reporter
from treerank.cli.options import OUTPUT, Quiet, RandomState, option
from treerank.datasets.web_search import make_web_search
from treerank.documents.queries import QueryGroups
from treerank.evaluation.engine_rankers import engine_ranker, installed_rankers
from treerank.evaluation.pipelines import adapted
from treerank.evaluation.running import compare
from treerank.progress import listening
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.reports.reporting import report

PAGE = Path("treerank-demo.html")
#: CatBoost's ranker takes minutes, at its 1,000 trees.
_SLOW = "CatBoostRanker"
#: Number of test queries per training query: enough to show a difference of 0.02.
_TEST = 4
_OUTPUT = option(OUTPUT, "Report to write.", "--output", "-o", metavar="FILE")
_QUERIES = option(
    "Options", "Number of training queries; there are four times as many test queries.", min=20
)


def demo(
    output: Annotated[Path, _OUTPUT] = PAGE,
    queries: Annotated[int, _QUERIES] = 300,
    random_state: RandomState = 0,
    quiet: Quiet = False,
) -> None:
    """Compare rankers at their defaults on synthetic web searches, and write a report.

    All rankers learn from the same queries, and are measured on others.
    """
    reporter = Reporter(quiet)
    n_queries = (1 + _TEST) * queries
    data = make_web_search(n_queries, documents_per_query=40, random_state=random_state)
    is_train = QueryGroups.from_qid(data[2]).codes < queries
    split = np.flatnonzero(is_train), np.flatnonzero(~is_train)
    names = ["TreeDirectRanker", *(name for name in installed_rankers() if name != _SLOW)]
    rankers: dict[str, Any] = {name: engine_ranker(name) for name in names[1:]}
    rankers = {names[0]: TreeDirectRanker(random_state=random_state), **rankers}
    reporter.say(
        f"{len(data[1]):,} documents of synthetic web searches. {', '.join(names)} learn from "
        f"{queries:,} queries at their defaults, and are tested on {_TEST * queries:,} others."
    )
    with reporter.step("comparing", brief=False) as step, listening(step):
        summary = compare(rankers, data, cv=[split], random_state=random_state).summary()
        step.done = f"fitted and tested {len(rankers)} rankers"
    typer.echo(summary)
    train, test = (tuple(column[rows] for column in data) for rows in split)
    with reporter.step("writing the report") as step:
        ranker = rankers[names[0]].fit(*train)
        baseline = adapted(rankers["LGBMRanker"]).fit(*train).predict(test[0])
        title = "TreeDirectRanker beside LGBMRanker"
        page = report(ranker, *test, baseline=baseline, train=train, title=title)
        page.save(output)
        step.done = f"wrote {output}"
    reporter.say(f"Open it in a browser: {output.resolve().as_uri()}")
