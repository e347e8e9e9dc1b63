"""What must hold on Windows and macOS, as far as another system can pretend to be one of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"

pytestmark = pytest.mark.slow


def run_script(code, folder, **environment):
    """Run a script in a folder, with what tests share on its path."""
    (folder / "script.py").write_text(code, encoding="utf-8")
    paths = [str(SUPPORT), str(SUPPORT.parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | environment
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


AS_ON_WINDOWS = """
from as_on_windows import pretend

pretend()

import importlib
import pkgutil
from pathlib import Path

import treerank

for module in pkgutil.walk_packages(treerank.__path__, "treerank."):
    try:
        if module.name != "treerank.__main__":
            importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        assert error.name in ("dask", "distributed", "onnx", "torch", "xgboost"), error

from treerank import TreeDirectRanker, export, load, make_web_search
from treerank.datasets import read_parquet, write_parquet
from treerank.files.replaced import HAS_LOCKS

assert not HAS_LOCKS
X, y, qid = make_web_search(20, documents_per_query=10, n_features=5, random_state=0)
for part in "lightgbm", "histogram":
    ranker = TreeDirectRanker(part, random_state=0).fit(X, y, qid)
    for _ in range(2):  # the second time, there is a file to replace
        ranker.save("model")
        export(ranker, "model.json", format="json")
        write_parquet("data.parquet", X, y, qid)
        assert (read_parquet("data.parquet").X == X).all()
    assert (load("model").predict(X) == ranker.predict(X)).all()
print(*sorted(path.name for path in Path().iterdir()))
"""


def test_what_windows_has_is_enough(tmp_path):
    done = run_script(AS_ON_WINDOWS, tmp_path)
    assert done.stderr == ""
    assert done.stdout == "data.parquet model model.json script.py\n"


AS_ON_MACOS = """
import multiprocessing

from treerank import TreeDirectRanker, make_web_search


def scores_of_a_new_fit(part):
    X, y, qid = make_web_search(20, documents_per_query=10, n_features=5, random_state=0)
    return TreeDirectRanker(part, random_state=0).fit(X, y, qid).predict(X)


def scores_of(ranker):
    X, *_ = make_web_search(20, documents_per_query=10, n_features=5, random_state=0)
    return ranker.predict(X)


if __name__ == "__main__":
    X, y, qid = make_web_search(20, documents_per_query=10, n_features=5, random_state=0)
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(2) as pool:
        parts = "lightgbm", "histogram"
        rankers = [TreeDirectRanker(part, random_state=0).fit(X, y, qid) for part in parts]
        for fitted, fit, sent in zip(
            rankers, pool.map(scores_of_a_new_fit, parts), pool.map(scores_of, rankers)
        ):
            assert (fit == fitted.predict(X)).all()
            assert (sent == fitted.predict(X)).all()
    print("same scores")
"""


def test_processes_that_are_spawned_fit_and_score_alike(tmp_path):
    done = run_script(AS_ON_MACOS, tmp_path)
    assert (done.stdout, done.stderr) == ("same scores\n", "")


#: A pipe of Windows cannot take every character; this is as near as it gets elsewhere.
NARROW = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def test_tables_in_a_pipe_are_utf8_whatever_the_system_writes(tmp_path):
    rows = ["label,query,id,a", "1,шуз,日本,1", "0,шуз,b,2", "1,x,c,3", "0,x,d,1"]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")

    def run(*words):
        code = f"import sys; from treerank.cli import main; sys.argv[1:] = {words!r}; main()"
        done = run_script(code, tmp_path, **NARROW)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("fit", "data.csv", "-m", "model", "--id", "id", "-q", "--n-estimators", "2")
    assert {"шуз", "日本"} <= set(run("rank", "model", "data.csv", "--id", "id", "-q").split())
