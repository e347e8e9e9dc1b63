"""Command lines: any command with drawn options, values, files, folders and devices.

A good answer is exit code 0 with a result, or 1 or 2 with short lines on stderr that begin with the
name of the program, and then no file is new or changed. There is never a traceback, and nothing
that an engine prints beside.
"""

import contextlib
import functools
import gzip
import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import typer
from command_line import letor_files, run
from typer.testing import CliRunner

from tests.fuzz import pick
from treerank.cli.app import COMMANDS, app, function_of

SECONDS = 300  # a comparison compiles what it uses for the first time
#: Longest line on stderr; help texts of choices are of this order.
LONGEST_LINE = 1500
#: Values for any option, most of them wrong.
VALUES = ["", "ü\n", "\udcff", "9" * 20, "9" * 400, "a" * 300]
VALUES += ["-", "--", "0", "1", "2", "-1", "0.5", "1e3", "1e-320", "nan", "inf", "-inf", "true"]
VALUES += ["x", "ndcg@10", "../..", "[red]", "None"]
#: What fits an option, by the last word of its name; other options take what its help lists.
FITTING = {
    "--model": ["new.m", "old.m", "folder", "none/m", "/dev/null", "train.txt", "ro/m", "link.m"],
    "--output": ["new.txt", "new.md", "folder", "none/x.md", "/dev/null", "/dev/full"],
    "--store": ["store", "folder", "train.txt", "none/store", "/dev/null", "ro/store"],
    "--valid": ["vali.txt", "train.txt", "wide.txt", "zeros.txt", "none"],
    "--n-estimators": ["1", "3", "5"],
    "--num-leaves": ["2", "5", "31", "131072", "131073", "1000000"],
    "--n-jobs": ["1", "2", "10000000000"],
    "--queries": ["5", "10"],
    "--folds": ["2", "3", "5", "1000"],
    "--hold-outs": ["2", "3"],
    "--n-features": ["1", "3", "8", "100"],
    "--metric": ["ndcg", "ndcg@3", "map", "mrr@1", "p@5", "err", "pairwise_accuracy"],
    "--ranker": ["PRank", "RankSVM", "TreeDirectRanker", "NestedRanker", "RankBoost"],
    "--loss": ["logistic", "hinge", "listnet", "exponential"],
    "--weight": ["ndcg", "uniform", "map", "mrr"],
    "--feature-part": ["lightgbm", "xgboost", "histogram", "mlp", "streaming"],
    "--format": ["tsv", "trec"],
    "--convention": ["treerank", "letor4"],
}
#: Options whose large values ask for long work.
COUNTS_OF_WORK = {"--n-estimators", "--queries", "--n-features", "--hold-outs"}
DATA = ["train.txt", "test.txt", "vali.txt", "train.txt.gz", "-", "wide.txt", "zeros.txt"]
DATA += ["one.txt", "equal.txt", "empty.txt", "text.txt", "binary.txt", "cut.txt.gz", "none"]
DATA += ["folder", "huge.txt", "/dev/null", "old.m", "", "\udcff", "nan.txt", "noqid.txt"]
DATA += ["link.txt", "loop.txt", "Folds"]
MODELS = ["old.m", "xgboost.m", "histogram.m", "cut.m", "zip.m", "train.txt", "none", "folder"]
MODELS += ["-", "/dev/null", "", "empty.txt", "link.m"]
#: A comparison takes long, so it is drawn less often.
COMMAND_NAMES = ["fit", "rank", "evaluate"] * 4 + ["sample"] * 2 + ["compare"]
TEXTS = {
    "empty.txt": "",
    "one.txt": "1 qid:1 1:0.5\n",
    "equal.txt": "1 qid:1 1:0.5\n1 qid:1 1:1\n2 qid:2 2:1\n",
    "zeros.txt": "0 qid:1 1:0\n1 qid:1 1:0\n",
    "nan.txt": "0 qid:1 1:nan 2:1\n1 qid:1 1:2\n",
    "wide.txt": "0 qid:1 1:1\n1 qid:1 900:1\n",
    "huge.txt": "0 qid:1 1:1\n1 qid:1 2147483647:1\n",
    "noqid.txt": "0 1:1\n1 1:1\n",
    "text.txt": "label,query,feature\n1,2,3\n",
}


@functools.cache
def prepared() -> Path:
    """Return a folder of good and bad files."""
    folder = Path(tempfile.mkdtemp())
    made = letor_files(folder)
    made.valid.rename(folder / "vali.txt")
    made.model.rename(folder / "old.m")
    for part in ("xgboost", "histogram"):
        options = ["--feature-part", part, "--n-estimators", "3"]
        run("fit", made.train, "-m", folder / f"{part}.m", *options)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    packed = gzip.compress(made.train.read_bytes())
    (folder / "train.txt.gz").write_bytes(packed)
    (folder / "cut.txt.gz").write_bytes(packed[:-20])
    (folder / "cut.m").write_bytes((folder / "old.m").read_bytes()[:-30])
    (folder / "zip.m").write_bytes(b"PK\x05\x06" + bytes(18))
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 4)
    (folder / "link.m").symlink_to("old.m")
    (folder / "link.txt").symlink_to("train.txt")
    (folder / "loop.txt").symlink_to("loop.txt")
    for name in ("Folds/Fold1", "folder"):
        (folder / name).mkdir(parents=True)
    shutil.copy(made.train, folder / "Folds" / "Fold1" / "train.txt")
    return folder


@functools.cache
def options_of(name: str) -> dict[str, bool]:
    """Return the options of a command, each with whether it is a flag."""
    made = typer.Typer()
    made.command()(function_of(name))
    return {
        max(option.opts, key=len): getattr(option, "is_flag", False)
        for option in typer.main.get_command(made).params
        if option.param_type_name == "option" and "completion" not in option.name
    }


def draw_value(random: np.random.Generator, option: str) -> str:
    """Draw a value of an option, mostly a fitting one."""
    if random.random() < 0.75 and option in FITTING:
        return pick(random, FITTING[option])
    return pick(random, [v for v in VALUES if option not in COUNTS_OF_WORK or len(v) < 20])


def draw_words(random: np.random.Generator) -> list[str]:
    """Draw a command line."""
    name = str(random.choice(COMMAND_NAMES))
    if random.random() < 0.03:
        return [str(random.choice([*COMMANDS, *VALUES])), "--help"][: random.integers(1, 3)]
    arguments = {"rank": [MODELS, DATA], "evaluate": [MODELS, DATA], "sample": [["new", *DATA]]}
    words = []
    for choices in arguments.get(name, [DATA]):
        place = random.integers(4 if random.random() < 0.5 else len(choices))
        words.append(choices[place])
    required = {"fit": ["--model"], "compare": ["--ranker"]}.get(name, [])
    if name == "fit" and random.random() < 0.9:
        required = [*required, "--n-estimators"]
    is_flag = options_of(name)
    extra = random.choice(sorted(is_flag), size=random.integers(0, 4)).tolist()
    for option in [*required, *extra]:
        words.append(option)
        if not is_flag[option]:
            words.append(draw_value(random, option))
    if name == "fit" and "--n-estimators" not in words:
        words += ["--n-estimators", "2"]
    return [name, *words[: -1 if random.random() < 0.03 else None]]


def run_words(words, stdin):
    """Run a command line; return its result, and what is written to the process's own output."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1), os.dup(2)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            result = CliRunner().invoke(app, words, input=stdin, env={"COLUMNS": "200"})
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
        file.seek(0)
        return result, file.read().decode(errors="replace")


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def case(random: np.random.Generator) -> None:
    """Run a command line in a folder of its own."""
    words = draw_words(random)
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        shutil.copytree(prepared(), "work", symlinks=True)
        with contextlib.chdir("work"):
            before = contents(Path())
            stdin = Path("train.txt").read_bytes()[: random.choice([0, 50, 10**6])]
            result, printed = run_words(words, stdin)
            check(words, result, printed, before, contents(Path()))


def check(words, result, printed, before, after) -> None:
    """Raise an error if the answer is wrong."""
    about = f"{words!r:.500}\n{result.exit_code} {result.exception!r:.300}\n{result.stderr[-1500:]}"
    assert result.exception is None or isinstance(result.exception, SystemExit), about
    assert result.exit_code in (0, 1, 2), about
    assert printed == "", f"{about}\nprinted: {printed[:500]}"
    assert "Traceback" not in result.stderr, about
    lines = result.stderr.splitlines()
    assert max(map(len, lines), default=0) <= LONGEST_LINE, about
    if result.exit_code == 0:
        is_file = {"--output", "-o"} & set(words)
        assert result.stdout or is_file or words[0] in ("fit", "sample"), about
        return
    assert lines, about
    assert lines[-1].startswith("treerank: "), about
    assert not lines[-1].endswith(": "), about
    assert not re.match(r"treerank: \w*Error(:| |$)", lines[-1]), about
    if words[0] != "compare":  # whose store keeps what was finished
        changed = {name for name in after if before.get(name) != after[name]}
        assert not changed, f"{about}\nchanged: {changed}"
