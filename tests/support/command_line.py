"""The command line as tests call it, and a folder of files for it to work on."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
from typer.testing import CliRunner

from treerank.cli.app import app
from treerank.datasets.letor import write_letor

ESCAPE = "\x1b"
SMALL = ["--n-estimators", "6", "--num-leaves", "4", "--n-jobs", "1"]


def run(*arguments, code=0, env=None, input=None):
    """Call a command, which must end with an exit code, or with any if it is None."""
    # In a wide terminal, rich does not break the lines of help texts.
    env = {"COLUMNS": "300"} | (env or {})
    result = CliRunner().invoke(app, [str(a) for a in arguments], env=env, input=input)
    assert code in (None, result.exit_code), result.output
    return result


def refusal(*arguments, code=1):
    """Return the line that the command says when it fails, beside warnings of options."""
    *warned, said = run(*arguments, code=code).stderr.splitlines(keepends=True)
    assert all("takes one value and is there 2 times" in line for line in warned)
    return said


def start(*arguments, **pipes):
    """Start a real process, with pipes for a console."""
    command = [sys.executable, "-m", "treerank", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **pipes)


def letor_files(folder):
    """Three LETOR files, the last with document ids and a query of nothing, and a model."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(24), rng.integers(5, 20, size=24))
    X = rng.normal(size=(len(qid), 8)).round(3)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(qid))), 0, 3)
    sets = {"train": qid < 12, "valid": (qid >= 12) & (qid < 18), "test": qid >= 18}
    y = np.where(qid == 23, 0, y)
    for name, rows in sets.items():
        ids = [f"docid = D{row}" for row in np.flatnonzero(rows)] if name == "test" else None
        write_letor(folder / f"{name}.txt", X[rows], y[rows], 1000 - qid[rows], comments=ids)
    model = folder / "model.treerank"
    result = run("fit", folder / "train.txt", "--model", model, *SMALL)
    paths = {name: folder / f"{name}.txt" for name in sets}
    return SimpleNamespace(folder=folder, model=model, fit_output=result, **paths)
