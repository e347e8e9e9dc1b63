"""The application: its commands, and how errors end them.

Results go to stdout, everything else to stderr. To add a command, write a function in a file of its
own and list it with some examples in ``COMMANDS``. The options are in the signature.
"""

import errno
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from treerank.cli.compare import compare
from treerank.cli.console import print_error
from treerank.cli.demo import demo
from treerank.cli.evaluate import evaluate
from treerank.cli.fit import fit
from treerank.cli.rank import rank

EXIT_CODES = (
    "Exit codes: 0 success, 1 bad input (one line on stderr names file, line and column), "
    "2 wrong usage, 130 interrupted."
)

#: Each command, and examples of its use for the help.
COMMANDS: dict[Callable[..., None], list[str]] = {
    demo: ["treerank demo", "treerank demo --quick --random-state 7"],
    fit: [
        "treerank fit train.txt --model web.treerank",
        "treerank fit train.txt --model web.treerank --valid vali.txt --early-stopping-rounds 50",
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

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # what libraries call of each other
            warnings.showwarning = lambda message, *_: print_error(f"warning: {message}")
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()  # a closed pipe raises here, where it is handled
                return result
            except KeyboardInterrupt as interrupt:
                print_error("interrupted")
                raise typer.Exit(130) from interrupt
            except (ValueError, TypeError, OSError, ImportError) as error:
                # A closed pipe, as after `head`, is not bad input.
                if ctx.params["traceback"] or getattr(error, "errno", None) == errno.EPIPE:
                    raise
                print_error(_one_line(error))
                raise typer.Exit(1) from error


def _one_line(error):
    """Return the message of an error as one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
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
        bool, typer.Option("--traceback", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Learn to rank by comparing two documents at a time.

    Data files of the LETOR format have rows of "label qid:ID index:value ... # comment", plain or
    gzip.
    """


def _epilog(examples):
    """Return the text below the help of a command."""
    block = "\n".join(f"    {line}" for line in examples)
    return f"Examples:\n\n{block}\n\n{EXIT_CODES}"


def _make_app():
    """Return the application with all commands."""
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


def main() -> None:
    """Run the command line; the script ``treerank`` calls this.

    Examples
    --------
    >>> from typer.testing import CliRunner
    >>> CliRunner().invoke(app, ["--help"]).exit_code  # as main does with the user's arguments
    0
    """
    app()
