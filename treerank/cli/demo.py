"""``treerank demo``: the default ranker beside those of the engines, and a report on it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from treerank.cli.console import Reporter
from treerank.cli.options import OUTPUT, Quiet, RandomState, option
from treerank.datasets.web_search import make_web_search
from treerank.evaluation.engine_rankers import engine_ranker, installed_rankers
from treerank.evaluation.pipelines import adapted
from treerank.evaluation.running import compare
from treerank.model_selection import QueryShuffleSplit
from treerank.progress import listening
from treerank.rankers.tree_direct_ranker import TreeDirectRanker
from treerank.reports.reporting import report

PAGE = Path("treerank-demo.html")
#: CatBoost's ranker takes minutes, at its 1,000 trees.
_SLOW = "CatBoostRanker"
_OUTPUT = option(OUTPUT, "Report to write.", "--output", "-o", metavar="FILE")
_QUERIES = option("Options", "Number of queries.", min=20, metavar="N")


def demo(
    output: Annotated[Path, _OUTPUT] = PAGE,
    queries: Annotated[int, _QUERIES] = 300,
    random_state: RandomState = 0,
    quiet: Quiet = False,
) -> None:
    """Compare rankers at their defaults on made-up web searches, and write a report.

    All rankers learn from the same queries, and are measured on others, five times over.
    """
    reporter = Reporter(quiet)
    data = make_web_search(queries, documents_per_query=40, random_state=random_state)
    names = [name for name in installed_rankers() if name != _SLOW]
    rankers: dict[str, Any] = {"TreeDirectRanker": TreeDirectRanker(random_state=random_state)}
    rankers |= {name: engine_ranker(name) for name in names}
    splits = QueryShuffleSplit(5, random_state=random_state)
    reporter.say(f"{len(data[1]):,} documents of {queries:,} made-up queries")
    with reporter.step("comparing", brief=False) as step, listening(step):
        summary = compare(rankers, data, cv=splits, random_state=random_state).summary()
        step.done = f"compared {len(rankers)} rankers on 5 splits"
    typer.echo(summary)
    train, test = ([column[rows] for column in data] for rows in next(splits.split(*data)))
    with reporter.step("writing the report") as step:
        ranker = rankers["TreeDirectRanker"].fit(*train)
        baseline = adapted(rankers["LGBMRanker"]).fit(*train).predict(test[0])
        title = "TreeDirectRanker beside LGBMRanker"
        page = report(ranker, *test, baseline=baseline, train=tuple(train), title=title)
        page.save(output)
        step.done = f"wrote {output}: open it in a browser"
