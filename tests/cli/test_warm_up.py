"""``treerank warm-up``: afterwards nothing is compiled any more."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import refusal

import treerank
from treerank.cli import warm_up

PACKAGE = Path(treerank.__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled"),
]
#: What a user does first; prints what is compiled for it.
FIRST_MINUTES = """
from importlib.util import find_spec

import numpy as np
from numba.core import event

from treerank import HistogramTrees, TreeDirectRanker, make_web_search
from treerank.datasets import RankingData

class Compilations(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

train, valid = RankingData(*make_web_search(60, n_features=12, random_state=1)).split(valid=0.3)
others = ["xgboost"] if find_spec("xgboost") else []
layouts = train.X, train.X.astype(np.float32), np.asfortranarray(train.X)
with event.install_listener("numba:compile", Compilations()):
    sparse = train.X * (np.arange(len(train.X)) % 2)[:, None]
    TreeDirectRanker("histogram", random_state=0).fit(sparse, train.y, train.qid)
    for part in ("auto", "lightgbm", "histogram", HistogramTrees(precision="int16"), *others):
        for X in layouts:
            ranker = TreeDirectRanker(part, random_state=0).fit(X, train.y, train.qid)
        ranker.fit(*train, eval_set=valid)
        ranker.predict(valid.X)
        ranker.scorer()(valid.X[:1])
        ranker.score(*valid)
"""


#: Kernels that a warm-up leaves to their first call: few need them, and each takes a moment.
RARE = {
    ("linear_component", "add_linear"),
    ("products", "_add_rows"),
    ("random_keys", "uniforms_of_many"),
    ("ranking", "_sort_by_merging"),
    ("scoring", "_fill_by_sets"),
    ("scoring", "_find_leaves"),
}


def run(folder, *command):
    """Run Python in a process that stores kernels in a folder; return what it prints."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_after_a_warm_up_the_first_minutes_compile_nothing(tmp_path):
    (folder,) = run(tmp_path, "-m", "treerank", "warm-up", "--quiet")
    assert Path(folder).is_relative_to(tmp_path)
    assert run(tmp_path, "-c", FIRST_MINUTES) == []


def kernels():
    """Return file and name of each function that is compiled and stored."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^ *@(?:njit|kernel_for)\b.*\n *def (\w+)", text, re.MULTILINE):
            yield path.stem, name


@pytest.mark.nightly
def test_a_warm_up_of_all_compiles_every_kernel_but_rare_ones(tmp_path):
    run(tmp_path, "-m", "treerank", "warm-up", "--all", "--quiet")
    stored = " ".join(path.name for path in tmp_path.rglob("*.nbi"))
    wanted = set(kernels())
    assert len(wanted) > 30
    missing = {
        (file, name)
        for file, name in wanted
        if not re.search(rf"\b{file}\.(?:\S*\.)?{name}[-\[]", stored)
    }
    assert missing == RARE


def test_a_folder_that_cannot_be_written_is_an_error(monkeypatch):
    monkeypatch.setattr(warm_up, "kernel_folder", lambda file: None)
    assert "NUMBA_CACHE_DIR must be a folder that can be written" in refusal("warm-up")
