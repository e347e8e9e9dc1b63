"""The application: its commands, and how errors end them.

Results go to stdout, everything else to stderr. To add a command, write a function of its name in a
file of its name, and list it with some examples in ``COMMANDS``. The options are in the signature.
The file is imported when the command is called, so the others do not wait for what it needs.
"""

import difflib
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup

from treerank.cli import INTERRUPTED
from treerank.cli.help import TRACEBACK, Command, help_of_group
from treerank.lazy import load_object
from treerank.spelling import spelling

EXIT_CODES = (
    "Exit codes: 0 success, 1 bad input (one line on stderr names file, line and column), "
    "2 wrong usage, 130 interrupted."
)


class About(NamedTuple):
    """What the help says of a command.

    ``summary`` is the first line of its function's docstring, ``examples`` are command lines.
    """

    summary: str
    examples: list[str]


COMMANDS = {
    "demo": About(
        "Compare rankers at their defaults on synthetic web searches, and write a report.",
        ["treerank demo", "treerank demo --queries 50 --output page.html"],
    ),
    "sample": About(
        "Write small files of synthetic web searches: train.txt, vali.txt and test.txt.",
        ["treerank sample .", "treerank sample folder --queries 300 --random-state 7"],
    ),
    "fit": About(
        "Learn a ranker from a data file and write it to a model file.",
        [
            "treerank fit train.txt --model web.treerank",
            "treerank fit train.txt --model web.treerank --valid vali.txt",
            "treerank fit train.txt.gz --model web.treerank --feature-part xgboost --weight map",
            "treerank fit train.csv --model web.treerank --label clicks --query session --id sku",
            "treerank fit large.parquet --model web.treerank --feature-part histogram --memory 4G",
            "treerank fit clicks.csv --model web.treerank --label clicked --position rank",
            "treerank fit shop.csv --model web.treerank --days-since 2026-01-01 --export-to solr",
        ],
    ),
    "rank": About(
        "Rank the documents of each query of a data file, best first.",
        [
            "treerank rank web.treerank test.txt --top 10",
            "treerank rank web.treerank test.txt --format trec --output test.run",
            "zcat test.txt.gz | treerank rank web.treerank -",
        ],
    ),
    "evaluate": About(
        "Evaluate a model on a data file with labels.",
        [
            "treerank evaluate web.treerank test.txt",
            "treerank evaluate web.treerank test.txt --metric ndcg@5 --metric map --json",
            "treerank evaluate web.treerank test.txt --per-query > queries.tsv",
        ],
    ),
    "report": About(
        "Write an HTML page on how good a model is, where it fails, and why.",
        [
            "treerank report web.treerank test.txt --output report.html",
            "treerank report web.treerank test.txt --baseline old.treerank --train train.txt",
        ],
    ),
    "compare": About(
        "Compare models, or rankers fitted to the same splits: which differences are significant.",
        [
            "treerank compare old.treerank new.treerank test.csv",
            "treerank compare MQ2008 --ranker TreeDirectRanker --convention letor4",
            "treerank compare all.txt --ranker TreeDirectRanker --hold-outs 15 --store fits",
            "treerank compare all.csv --ranker TreeDirectRanker --ranker LGBMRanker",
        ],
    ),
    "convert": About(
        "Write a data file, or a feature log, in another format: LETOR, Parquet, CSV or TSV.",
        [
            "treerank convert train.txt.gz train.parquet",
            "treerank convert clicks.csv train.txt --label clicks --query session --id sku",
            "treerank convert log.json train.csv --judgments book.csv",
        ],
    ),
    "export": About(
        "Write a model in the format of another program, such as a search engine.",
        [
            "treerank export web.treerank model.json --format solr --check test.txt",
            "treerank export web.treerank model.c --format c",
            "treerank export lightgbm.txt model.json --format solr --check test.txt",
            "treerank export web.treerank --formats",
        ],
    ),
    "warm-up": About(
        "Compile the kernels of fits and predictions before they are needed.",
        ["treerank warm-up", "treerank warm-up --all"],
    ),
}
#: Commands that are looked for, and what does their work.
INSTEAD = {
    "compile": "`treerank warm-up` compiles what fits need",
    "explain": "`treerank report` says why a document ranks above another",
    "predict": "`treerank rank` scores and sorts documents",
    "score": "`treerank rank` scores documents, `treerank evaluate` evaluates a model",
    "split": "`treerank compare` splits by query itself, `fit --valid FILE` takes a second file",
    "test": "`treerank evaluate` evaluates a model",
    "train": "`treerank fit` learns a ranker",
}
#: Options of other programs, and those that do their work.
OPTIONS_INSTEAD = {
    "--cv": "--folds",
    "--doc": "--id",
    "--document": "--id",
    "--group": "--query",
    "--k": "--top",
    "--n-splits": "--folds",
    "--n-trees": "--n-estimators",
    "--qid": "--query",
    "--seed": "--random-state",
    "--target": "--label",
    "--trees": "--n-estimators",
}
#: Options that are looked for, and what does their work in Python.
IN_PYTHON = {
    "--log": "treerank.clicks.evaluate_from_log",
    "--slices": "report(ranker, X, y, qid, slices={'device': devices})",
    "--workers": "treerank.distributed.fit(ranker, frame, ...) with a data frame of Dask or Spark",
}
_SETTINGS: dict[str, Any] = {
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Commands(TyperGroup):
    """The group of all commands: each is imported only when called, and errors print one line."""

    #: The options of the command that is called, by the names of its arguments.
    options: ClassVar[dict[str, str]] = {}

    def main(self, args: Sequence[str] | None = None, *more_args: Any, **options: Any) -> Any:
        """Run a command and end the process with its exit code."""
        arguments = [*(sys.argv[1:] if args is None else args)]
        n_options = arguments.index("--") if "--" in arguments else len(arguments)
        is_traced = TRACEBACK in arguments[:n_options]
        if is_traced:
            arguments.remove(TRACEBACK)
        self.options.clear()
        try:
            exit_code = super().main(arguments, *more_args, **options | {"standalone_mode": False})
        except typer.Abort:
            exit_code = INTERRUPTED
        except Exception as error:
            if is_traced:
                raise
            print_error(_one_line(error))
            exit_code = getattr(error, "exit_code", 1)
        if exit_code == INTERRUPTED:
            print_error("interrupted")
        sys.exit(exit_code)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without any, show the help."""
        return super().parse_args(ctx, args or ["--help"])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of ``treerank --help``."""
        summaries = {name: about.summary for name, about in COMMANDS.items()}
        formatter.write(help_of_group(self, ctx, summaries))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return ``(name, command, its arguments)``, importing the command.

        Unknown ones are an error.
        """
        if args[0] not in COMMANDS:
            ctx.fail(_unknown_command(args[0]))
        name, _, command_args = super().resolve_command(ctx, args)
        command = _load(name)
        options = {
            parameter.name: parameter.opts[0]
            for parameter in command.params
            if parameter.opts[0][0] == "-"
        }
        if "human_label" in options:  # a column here, labels in Python
            options["human_labels"] = options["human_label"]
        if "valid" in options:
            options["eval_set"] = options["valid"]
        if "folds" in options:
            options["cv"] = options["n_splits"] = options["folds"]
        if "metric" in options:  # one or several
            options["metrics"] = options["metric"]
        self.options.update(options)
        return name, command, command_args

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with warnings on stderr and options in messages as they are typed."""
        with warnings.catch_warnings(), spelling(self.options):
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)  # what libraries call of each other
            warnings.filterwarnings("ignore", "X .* feature names, but")  # read_for tells
            warnings.showwarning = lambda message, *_: print_error(f"warning: {message}")
            super().invoke(ctx)
            sys.stdout.flush()  # errors of it, and a closed pipe, are handled like any other


def _unknown_command(name: str) -> str:
    """Return the message for a command that does not exist, with the one that is probably meant.

    Examples
    --------
    >>> _unknown_command("trian")
    "No such command 'trian': `treerank fit` learns a ranker."
    >>> _unknown_command("evalute")
    "No such command 'evalute'. Did you mean `treerank evaluate`?"
    """
    closest = difflib.get_close_matches(name, [*INSTEAD, *COMMANDS], n=1)
    if not closest:
        return f"No such command {name!r}."
    if closest[0] in INSTEAD:
        return f"No such command {name!r}: {INSTEAD[closest[0]]}."
    return f"No such command {name!r}. Did you mean `treerank {closest[0]}`?"


def print_error(message: str) -> None:
    """Print a message on stderr as one line that begins "treerank: "."""
    print(f"treerank: {' '.join(message.split())}", file=sys.stderr)


def _one_line(error):
    """Return the message of an error for the command line, without a traceback.

    It says how an unknown option is written, and for errors of the system the name of the file.
    """
    if hasattr(error, "format_message"):  # wrong usage
        path = error.ctx.command_path if getattr(error, "ctx", None) else "treerank"
        is_whole = getattr(error, "message", "").startswith("--")  # it names the option itself
        message = (error.message if is_whole else error.format_message()).rstrip(".")
        wrong = getattr(error, "option_name", "")
        instead, options = OPTIONS_INSTEAD.get(wrong), Commands.options.values()
        if instead in options and not any(option.startswith(wrong) for option in options):
            message = f"No such option {wrong}: write {instead}"
        if wrong in IN_PYTHON:
            message = f"No such option {wrong}: in Python, write {IN_PYTHON[wrong]}"
        return f"{message}{'' if message.endswith('?') else '.'} See `{path} --help`."
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename or 'stdout'}: {error.strerror}"  # files have their names
    if isinstance(error, MemoryError):
        return f"out of memory: {error}"
    if isinstance(error, ValueError | TypeError | OSError | ImportError):
        return str(error)
    return f"{type(error).__name__}: {error} ({TRACEBACK} shows where)"


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
        typer.echo(f"treerank {version('treerank')}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Learn to rank by comparing two documents at a time.

    Data files of the LETOR format have rows of "label qid:ID index:value ... # comment", plain or
    gzip. The file `-` is standard input. Tables (CSV files, TSV files, Parquet files and folders of
    Parquet files) have a column for the label, one for the query and one for each feature.
    """


def _epilog(examples):
    """Return the end of a command's help: the given examples, and the exit codes."""
    block = "\n".join(f"    {line}" for line in examples)
    return f"Examples:\n\n{block}\n\n{EXIT_CODES}"


def _make_app():
    """Return the Typer application: all commands with name and summary, but not yet imported."""
    made = typer.Typer(name="treerank", cls=Commands, pretty_exceptions_enable=False, **_SETTINGS)
    made.callback(epilog=_epilog([about.examples[0] for about in COMMANDS.values()]))(_root)
    for name, about in COMMANDS.items():
        made.command(name, help=about.summary)(lambda: None)
    return made


def function_of(name: str) -> Any:
    """Return the function of a command, which has its name and is in the file of its name.

    Examples
    --------
    >>> function_of("warm-up").__name__
    'warm_up'
    """
    name = name.replace("-", "_")
    return load_object(f"treerank.cli.{name}:{name}")


def _load(name):
    """Import a command and return it as a Click command with its options."""
    made = typer.Typer(add_completion=False, **_SETTINGS)
    made.command(name, cls=Command, epilog=_epilog(COMMANDS[name].examples))(function_of(name))
    return typer.main.get_command(made)


app = _make_app()
