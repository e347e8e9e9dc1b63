"""The application: its commands, and what becomes of their errors.

Results go to stdout, everything else to stderr. To add a command, write a function in a file
of its own and list it in ``COMMANDS``; its options are in its signature, its examples in its
epilog.
"""

import errno
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer
from typer.core import TyperGroup

from treerank.cli.compare import compare
from treerank.cli.console import complain
from treerank.cli.demo import demo
from treerank.cli.evaluate import evaluate
from treerank.cli.fit import fit
from treerank.cli.rank import rank

EXIT_CODES = (
    "Exit codes: 0 fine, 1 bad input (one line on stderr names file, line and column), "
    "2 wrong usage, 130 interrupted."
)

COMMANDS: dict[Callable[..., None], list[str]] = {
    demo: ["treerank demo", "treerank demo --quick --seed 7"],
    fit: [
        "treerank fit train.txt --model web.treerank",
        "treerank fit train.txt --model web.treerank --valid vali.txt --early-stopping 50",
        "treerank fit train.txt.gz --model web.treerank --feature-part xgboost --weight map",
    ],
    rank: [
        "treerank rank web.treerank test.txt --top 10",
        "treerank rank web.treerank test.txt --format trec --output test.run",
    ],
    evaluate: [
        "treerank evaluate web.treerank test.txt",
        "treerank evaluate web.treerank test.txt --metric ndcg@5 --metric map --json",
        "treerank evaluate web.treerank test.txt --per-query > queries.tsv",
    ],
    compare: [
        "treerank compare MQ2008 --ranker TreeDirectRanker --convention letor4",
        "treerank compare all.txt --ranker TreeDirectRanker --hold-outs 15 --store fits",
    ],
}


class Commands(TyperGroup):
    """Commands whose bad input ends in one line on stderr and exit code 1."""

    def invoke(self, ctx):
        """Run the command that was asked for."""
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda message, *_: complain(f"warning: {message}")
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()  # here, where a closed pipe is still an error of ours
                return result
            except KeyboardInterrupt as interrupt:
                complain("interrupted")
                raise typer.Exit(130) from interrupt
            except (ValueError, TypeError, OSError, ImportError) as error:
                # A reader that has had enough, such as `head`, is nobody's bad input.
                if ctx.params["traceback"] or getattr(error, "errno", None) == errno.EPIPE:
                    raise
                complain(_one_line(error))
                raise typer.Exit(1) from error


def _one_line(error):
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _print_version(wanted: bool):
    if wanted:
        typer.echo(f"treerank {version('treerank')}")
        raise typer.Exit()


def _root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error came from.")
    ] = False,
):
    """Learn to rank by comparing two documents at a time.

    Data are LETOR files: rows of "label qid:ID index:value ... # comment", plain or gzip.
    """


def _epilog(examples):
    block = "\n".join(f"    {line}" for line in examples)
    return f"Examples:\n\n{block}\n\n{EXIT_CODES}"


def _make_app():
    made = typer.Typer(
        name="treerank",
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    first_lines = [lines[0] for lines in COMMANDS.values()]
    made.callback(epilog=_epilog(first_lines))(_root)
    for command, lines in COMMANDS.items():
        made.command(epilog=_epilog(lines))(command)
    return made


app = _make_app()


def main():
    """Run the command line; the entry point of ``treerank``."""
    app()
