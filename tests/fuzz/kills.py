"""Processes that are killed while they save, convert, compare, train or export.

A child process is killed at a drawn moment, mostly soon after it has begun to write a file. In a
good answer each file is then the old one or the new one, and whole. After the same work is done
again there are all new files, and nothing else.
"""

import functools
import io
import os
import signal
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

from treerank import read_letor, write_letor
from treerank.cli.app import app
from treerank.evaluation import compare
from treerank.rankers import model_file

INPUT, RANKER = "train.txt", "ranker.treerank"
#: How often each work is drawn; training and comparing take long.
SHARES = {"save": 0.4, "convert": 0.4, "export": 0.1, "compare": 0.06, "fit": 0.04}
#: Names of outputs that hold something before.
OUTPUTS = {
    "save": "model",
    "convert": "converted.parquet",
    "export": "exported",
    "fit": "model",
}


def documents():
    """Return a data set; it is large enough that writing takes a while."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 40))
    return X, (X[:, 0] > 0).astype(float), np.repeat(np.arange(60), 10)


class State:
    """A ranker whose model file is large."""

    def get_params(self, deep=True):
        """Return no parameters."""
        return {}

    def get_state(self):
        """Return an array."""
        return {"weight": documents()[0]}


def save(folder: Path) -> None:
    """Save a model."""
    model_file.save(State(), folder / "model")


def convert(folder: Path) -> None:
    """Write a Parquet file with the rows of a text file."""
    app(["convert", f"{folder / INPUT}", f"{folder / OUTPUTS['convert']}", "-q"])


def fit(folder: Path) -> None:
    """Train a model in the shell."""
    app(["fit", f"{folder / INPUT}", "-m", f"{folder / 'model'}", "-q"])


def export(folder: Path) -> None:
    """Write a model for another program in the shell."""
    app(["export", f"{folder / RANKER}", f"{folder / 'exported'}", "--format", "json"])


def compare_(folder: Path) -> None:
    """Compare a ranker with itself."""
    data = read_letor(folder / INPUT)
    compare({"a": Ridge(), "b": Ridge(2.0)}, tuple(data), cv=3, store=folder)


WORK = {"save": save, "convert": convert, "fit": fit, "export": export, "compare": compare_}


def start(kind: str, folder: Path) -> int:
    """Do work in a child process, and return its number."""
    child = os.fork()
    if child == 0:
        try:
            WORK[kind](folder)
        except SystemExit as end:
            os._exit(end.code or 0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def finish(kind: str, folder: Path) -> float:
    """Do work until its end, and return how long it took."""
    began = time.monotonic()
    _, status = os.waitpid(start(kind, folder), 0)
    assert status == 0, f"{kind} ended with {status}"
    return time.monotonic() - began


@functools.cache
def input_text() -> bytes:
    """Return the input; it is read once, so that no child has to compile the reader."""
    with tempfile.TemporaryDirectory() as name:
        write_letor(Path(name) / INPUT, *documents())
        read_letor(Path(name) / INPUT)
        return (Path(name) / INPUT).read_bytes()


@functools.cache
def ranker() -> bytes:
    """Return a model that a child trained: threads do not survive a fork."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / INPUT).write_bytes(input_text())
        finish("fit", Path(name))
        return (Path(name) / "model").read_bytes()


def make_folder(kind: str, folder: Path) -> None:
    """Make a folder with the input, whose time is always the same."""
    if kind == "export":
        (folder / RANKER).write_bytes(ranker())
    elif kind != "save":
        (folder / INPUT).write_bytes(input_text())
        os.utime(folder / INPUT, ns=(0, 0))


def content(path: Path) -> bytes:
    """Return what counts in a file; of a stored fit, the scores and not the seconds."""
    data = path.read_bytes()
    if path.suffix != ".npz":
        return data
    with np.load(io.BytesIO(data)) as arrays:
        return arrays["scores"].tobytes()


def contents(folder: Path, hidden: bool = True) -> dict[str, bytes]:
    """Return what is in the files of a folder, by their names."""
    paths = [path for path in folder.iterdir() if hidden or not path.name.startswith(".")]
    return {path.name: content(path) for path in paths}


@functools.cache
def expected(kind: str) -> tuple[dict[str, bytes], float]:
    """Return what is in a folder after the work, and how many seconds it takes."""
    with tempfile.TemporaryDirectory() as name:
        make_folder(kind, Path(name))
        finish(kind, Path(name))  # the first one compiles
        for path in Path(name).iterdir():
            if path.name not in (INPUT, RANKER):
                path.unlink()
        seconds = finish(kind, Path(name))
        return contents(Path(name)), seconds


def kill(child: int, folder: Path, random, seconds: float) -> None:
    """Kill a process at a drawn moment, by the clock or by what it writes."""
    if random.random() < 0.3:
        time.sleep(seconds * random.random())
    else:
        n_before, end = len(os.listdir(folder)), time.monotonic() + 2 * seconds
        n_new = random.integers(1, 4)
        while len(os.listdir(folder)) < n_before + n_new and time.monotonic() < end:
            time.sleep(1e-4)
        time.sleep(random.random() * 10.0 ** -random.integers(2, 5))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def case(random: np.random.Generator) -> None:
    """Kill the same work once or twice, and then let it end."""
    kind = str(random.choice(list(SHARES), p=list(SHARES.values())))
    new, seconds = expected(kind)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_folder(kind, folder)
        if random.random() < 0.5 and kind in OUTPUTS:
            (folder / OUTPUTS[kind]).write_bytes(b"old")
        old = contents(folder)
        for _ in range(random.integers(1, 3)):
            kill(start(kind, folder), folder, random, seconds)
            found = contents(folder, hidden=False)
            assert old.keys() <= found.keys() <= new.keys() | old.keys(), sorted(found)
            for file, data in found.items():
                assert data in (old.get(file), new.get(file)), f"{kind}: {file} is not whole"
        finish(kind, folder)
        found = contents(folder)
        assert found.keys() == new.keys(), f"{kind} left {sorted(found.keys() ^ new.keys())}"
        assert found == new, f"{kind} gave other files"
