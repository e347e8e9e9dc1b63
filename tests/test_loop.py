"""The loop of the examples: what a night serves, what it refuses, and what it leaves as it was."""

import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from treerank import load

SCRIPT = Path(__file__).parents[1] / "examples" / "loop.py"


def imported():
    spec = importlib.util.spec_from_file_location("loop", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


loop = imported()


@pytest.fixture
def folder(tmp_path):
    """A folder that serves the model of the first day."""
    loop.synthetic_day(tmp_path / "reference", 0)
    loop.synthetic_day(tmp_path / "days" / "1", 1)
    assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 0
    return tmp_path


def night(folder, day):
    return loop.main(["night", day, "--folder", str(folder)])


def test_a_good_night_serves_a_new_model_and_back_serves_the_old_one(folder, capsys, monkeypatch):
    monkeypatch.setenv("SEARCH_PASSWORD", "hunter2")
    loop.synthetic_day(folder / "days" / "3", 3)
    capsys.readouterr()
    assert night(folder, "3") == 0
    command = capsys.readouterr().out
    assert command.startswith("curl --fail-with-body -X POST --json @")
    assert '"$SEARCH_URL/_ltr/_featureset/shop-3/_createmodel"' in command
    assert loop.served_models(folder) == ["1", "3"]
    request = json.loads((folder / "models" / "3" / "upload.json").read_text())
    assert request["model"]["name"] == "shop-3"
    X, _, _ = loop.read_day(folder / "reference")
    old, new = (load(folder / "models" / name / "model.treerank").predict(X) for name in "13")
    assert not np.array_equal(old, new)
    assert night(folder, "3") == 1  # which is served already, and stays as it is
    assert "has brought a model already" in capsys.readouterr().err
    assert loop.main(["back", "--folder", str(folder)]) == 0
    assert loop.served_models(folder) == ["1"]
    assert loop.main(["back", "--folder", str(folder)]) == 1
    for path in folder.rglob("*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def spoiled(day, *, feature=None, scale=1.0):
    log = json.loads((day / "log.json").read_text())
    for answer in log.values():
        for hit in answer["hits"]["hits"]:
            for entry in hit["fields"]["_ltrlog"][0]["main"]:
                if entry["name"] == feature:
                    entry["value"] *= scale
    (day / "log.json").write_text(json.dumps(log))


def test_data_that_break_change_nothing(folder, capsys):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    loop.synthetic_day(folder / "days" / "2", 2, broken=True)
    loop.synthetic_day(folder / "days" / "3", 3)
    spoiled(folder / "days" / "3", feature="price", scale=100.0)
    for day, reason in (("2", "lacks 'bm25' in 100%"), ("3", "as median of 'price'")):
        assert night(folder, day) == 1
        assert reason in capsys.readouterr().err
    assert night(folder, "4") == 1  # there is no such day
    (folder / "days" / "5").mkdir()
    (folder / "days" / "5" / "log.json").write_text("{")
    assert night(folder, "5") == 1
    assert all(path.read_bytes() == content for path, content in before.items())
    assert loop.served_models(folder) == ["1"]


def test_a_worse_model_is_refused_with_a_report(folder, capsys):
    day = folder / "days" / "2"
    loop.synthetic_day(day, 2)
    with open(day / "judgments.csv") as file:
        header, *rows = csv.reader(file)
    judged = [[query, document, 4 - int(grade)] for query, document, grade in rows]
    with open(day / "judgments.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *judged])
    assert night(folder, "2") == 1
    assert "The old ranker stays" in capsys.readouterr().err
    assert "<html" in (day / "report.html").read_text()
    assert not (folder / "models" / "2").exists()
    assert loop.served_models(folder) == ["1"]


def test_clicks_take_the_place_of_judgments(folder):
    loop.synthetic_day(folder / "days" / "2", 4, clicks=True)
    X, y, qid = loop.read_day(folder / "days" / "2")
    assert len(y) == len(qid) == len(X)
    assert len(np.unique(y)) > 100
    assert night(folder, "2") == 0


def test_few_judged_queries_are_refused(folder, capsys):
    day = folder / "days" / "2"
    loop.synthetic_day(day, 2)
    lines = (day / "judgments.csv").read_text().splitlines()
    (day / "judgments.csv").write_text("\n".join(lines[:41]))
    assert night(folder, "2") == 1
    assert "2 has labels of 2 queries; 100 are needed" in capsys.readouterr().err


def test_a_second_loop_waits_for_nothing_and_changes_nothing(folder, capsys):
    holder = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import sqlite3, sys\n"
            "lock = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
            "lock.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()",
            str(folder / "lock.sqlite"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    assert loop.main(["back", "--folder", str(folder)]) == 1
    assert "another loop runs in" in capsys.readouterr().err
    holder.kill()  # a lock ends with its process
    holder.communicate()
    loop.synthetic_day(folder / "days" / "3", 3)
    assert night(folder, "3") == 0


def test_the_workflow_runs_the_script_without_a_secret_in_it():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(SCRIPT.with_name("nightly.yml").read_text())
    assert workflow["permissions"] == {}
    steps = workflow["jobs"]["night"]["steps"]
    assert any("loop.py night" in step.get("run", "") for step in steps)
    values = [value for step in steps for value in step.get("env", {}).values()]
    assert values
    assert all(value.startswith("${{ ") for value in values)
