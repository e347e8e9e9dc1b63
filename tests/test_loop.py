"""The loop of the examples: what a night serves, what it refuses, and what it leaves as it was."""

import base64
import csv
import importlib.util
import json
import subprocess
import sys
import warnings
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
def uploads(monkeypatch):
    """The requests to an engine that takes every upload."""
    with loop.synthetic_engine(iter(lambda: 201, None)) as (url, requests):
        monkeypatch.setenv("SEARCH_URL", url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield requests


@pytest.fixture
def folder(tmp_path, uploads):
    """A folder that serves the model of the first day."""
    loop.synthetic_day(tmp_path / "reference", 0)
    loop.synthetic_day(tmp_path / "days" / "1", 1)
    assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 0
    return tmp_path


def night(folder, day):
    return loop.main(["night", day, "--folder", str(folder)])


def test_a_good_night_serves_a_new_model_and_back_serves_the_old_one(
    folder, uploads, capsys, monkeypatch
):
    monkeypatch.setenv("SEARCH_USER", "ann")
    monkeypatch.setenv("SEARCH_PASSWORD", "hunter2")
    loop.synthetic_day(folder / "days" / "3", 3)
    capsys.readouterr()
    assert night(folder, "3") == 0
    assert capsys.readouterr().out == "served: 3. Searches must now use the model 'shop-3'.\n"
    method, path, headers, body = uploads[-1]
    assert (method, path) == ("POST", "/_ltr/_featureset/shop/_createmodel")
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"ann:hunter2"
    assert headers["Content-Type"] == "application/json"
    assert body == json.loads((folder / "models" / "3" / "upload.json").read_text())
    assert body["model"]["name"] == "shop-3"
    assert loop.served_models(folder) == ["1", "3"]
    X, _, _ = loop.read_day(folder / "reference")
    old, new = (load(folder / "models" / name / "model.treerank").predict(X) for name in "13")
    assert not np.array_equal(old, new)
    assert night(folder, "3") == 1  # which is served already, and stays as it is
    assert "has brought a model already" in capsys.readouterr().err
    assert loop.main(["back", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == "served: 1. Searches must now use the model 'shop-1'.\n"
    assert loop.served_models(folder) == ["1"]
    assert loop.main(["back", "--folder", str(folder)]) == 1
    before = {path: path.read_bytes() for path in (folder / "models" / "3").iterdir()}
    assert night(folder, "3") == 0  # again, under a name that the engine does not have
    assert uploads[-1][3]["model"]["name"] == "shop-3.2"
    assert all(path.read_bytes() == content for path, content in before.items())
    assert loop.served_models(folder) == ["1", "3.2"]
    assert night(folder, "3") == 1
    for path in folder.rglob("*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def test_a_night_takes_all_days_since_the_last_one_in_order(folder, uploads, capsys):
    loop.synthetic_day(folder / "days" / "2", 2, broken=True)
    loop.synthetic_day(folder / "days" / "3", 3)
    for day in ("4", "5.part"):  # the second is being written
        loop.synthetic_day(folder / "days" / day, 4, clicks=True)
    every_night = ["night", "--folder", str(folder)]
    capsys.readouterr()
    assert loop.main(every_night) == 1
    out, err = capsys.readouterr()
    assert [line.split(".")[0] for line in out.splitlines()] == ["served: 3", "served: 4"]
    assert err.startswith("2 has changed nothing: in 2, 'bm25' has drifted by 1.00")
    assert [body["model"]["name"] for *_, body in uploads] == ["shop-1", "shop-3", "shop-4"]
    assert loop.served_models(folder) == loop.learned_days(folder) == ["1", "3", "4"]
    assert loop.main(every_night) == 1
    earlier = "left out: 2 (earlier than 4); night DAY learns from one\n"
    assert (
        capsys.readouterr().err
        == earlier + f"nothing has changed: {folder / 'days'} has no day after 4\n"
    )

    assert loop.main(["back", "--folder", str(folder)]) == 0
    capsys.readouterr()
    assert loop.main(every_night) == 1  # what was taken back stays so
    assert "left out: 4 (taken back); night DAY learns from one\n" in capsys.readouterr().err
    assert loop.served_models(folder) == ["1", "3"]
    (folder / "days" / "5.part").rename(folder / "days" / "5")
    assert loop.main(every_night) == 0
    assert loop.served_models(folder) == ["1", "3", "5"]
    assert loop.read_lines(folder / "learned.txt") == ["1", "3", "4", "5"]


def test_a_night_of_several_days_goes_on_where_an_upload_failed(folder, capsys, monkeypatch):
    loop.synthetic_day(folder / "days" / "3", 3)
    loop.synthetic_day(folder / "days" / "4", 4, clicks=True)
    every_night = ["night", "--folder", str(folder)]
    capsys.readouterr()
    with loop.synthetic_engine([201, 503, 201]) as (url, _):
        monkeypatch.setenv("SEARCH_URL", url)
        assert loop.main(every_night) == 75
        assert capsys.readouterr().out.startswith("served: 3.")
        assert loop.served_models(folder) == ["1", "3"]
        (folder / "learned.txt").unlink()  # as of a loop before there was such a file
        assert loop.main(every_night) == 0
    assert loop.served_models(folder) == ["1", "3", "4.2"]
    assert loop.read_lines(folder / "learned.txt") == ["1", "3", "4"]


def test_a_night_without_any_model_says_how_to_start(tmp_path, uploads, capsys):
    (tmp_path / "days" / "1").mkdir(parents=True)
    assert loop.main(["night", "--folder", str(tmp_path)]) == 1
    assert "serves no model yet: python loop.py start DAY" in capsys.readouterr().err


def test_a_model_is_served_only_after_its_upload(folder, capsys, monkeypatch):
    loop.synthetic_day(folder / "days" / "3", 3)
    with loop.synthetic_engine([503]) as (url, requests):
        monkeypatch.setenv("SEARCH_URL", url)
        assert night(folder, "3") == 75
        assert len(requests) == 1
    assert "The upload of shop-3 failed" in capsys.readouterr().err
    assert loop.served_models(folder) == ["1"]
    assert night(folder, "3") == 75  # nobody listens there any more
    assert "The upload of shop-3.2 failed" in capsys.readouterr().err
    with loop.synthetic_engine([201]) as (url, requests):
        monkeypatch.setenv("SEARCH_URL", url)
        assert night(folder, "3") == 0
        assert [body["model"]["name"] for *_, body in requests] == ["shop-3.3"]
    assert loop.served_models(folder) == ["1", "3.3"]


@pytest.mark.parametrize("url", [None, "", "file:///etc", "localhost:9200"])
def test_without_the_address_of_an_engine_nothing_is_done(url, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SEARCH_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("SEARCH_URL", url)
    assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 1
    assert "SEARCH_URL must be the address of the engine" in capsys.readouterr().err


def test_back_to_a_day(tmp_path, capsys):
    def back(*day):
        return loop.main(["back", *day, "--folder", str(tmp_path)])

    loop.write_served(tmp_path, ["1", "2.3", "20", "3", "4"])
    assert back("5") == back("4") == 1
    assert "no model of 4 was served before 4" in capsys.readouterr().err
    assert loop.served_models(tmp_path) == ["1", "2.3", "20", "3", "4"]
    assert back("2") == 0
    assert loop.served_models(tmp_path) == ["1", "2.3"]


@pytest.mark.parametrize(
    ("format", "request_line"),
    [
        ("solr", ("PUT", "/solr/shop/schema/model-store")),
        ("elasticsearch-plugin", ("POST", "/_ltr/_featureset/shop/_createmodel")),
        ("elasticsearch", ("PUT", "/_ml/trained_models/shop-1")),
    ],
)
@pytest.mark.filterwarnings("ignore:Format .* differs")
def test_other_engines(format, request_line, tmp_path, uploads, monkeypatch, capsys):
    monkeypatch.setattr(loop, "FORMAT", format)
    loop.synthetic_day(tmp_path / "reference", 0)
    loop.synthetic_day(tmp_path / "days" / "1", 1)
    if format == "elasticsearch":
        assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 1
        assert "extractors.json must hold the feature_extractors" in capsys.readouterr().err
        assert not uploads
        (tmp_path / "models" / "1").rename(tmp_path / "gone")
        (tmp_path / "extractors.json").write_text('[{"query_extractor": {}}]')
    assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 0
    assert uploads[0][:2] == request_line
    if format == "elasticsearch":
        queries = uploads[0][3]["inference_config"]["learning_to_rank"]["feature_extractors"]
        assert queries == [{"query_extractor": {}}]


def edit(day, change):
    """Replace the logged features of each document by ``change(features)``."""
    log = json.loads((day / "log.json").read_text())
    for answer in log.values():
        for hit in answer["hits"]["hits"]:
            logged = hit["fields"]["_ltrlog"][0]
            logged["main"] = change(logged["main"])
    (day / "log.json").write_text(json.dumps(log))


def with_value(feature, function):
    def change(entries):
        for entry in entries:
            if entry["name"] == feature:
                entry["value"] = function(entry["value"])
        return entries

    return change


def test_data_that_break_change_nothing(folder, capsys):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for day in "2367":
        loop.synthetic_day(folder / "days" / day, int(day), broken=day == "2")
    edit(folder / "days" / "3", with_value("price", lambda value: 100 * value))
    edit(folder / "days" / "6", lambda entries: entries[1:])
    random = np.random.default_rng(0)
    edit(
        folder / "days" / "7",
        lambda entries: [{"name": "bm25"}, *entries[1:]] if random.random() < 0.18 else entries,
    )
    for day, reason in (
        ("2", "'bm25' has drifted by 1.00 (missing 0, now 1;"),
        ("3", "'price' has drifted by 0.9"),
        ("6", "the log lacks the feature 'bm25', which the served model uses"),
        ("7", "'bm25' has drifted by 0.1"),
    ):
        assert night(folder, day) == 1
        message = capsys.readouterr().err
        assert reason in message
        if day != "6":
            page = folder / "days" / day / "report.html"
            assert str(page) in message
            assert "<td>bm25</td>" in page.read_text()
    assert night(folder, "4") == 1  # there is no such day
    (folder / "days" / "5").mkdir()
    (folder / "days" / "5" / "log.json").write_text("{")
    assert night(folder, "5") == 1
    assert all(path.read_bytes() == content for path, content in before.items())
    assert loop.served_models(folder) == ["1"]


class Table(dict):
    """Columns by name, as feature logs have them."""

    @property
    def column_names(self):
        return list(self)


@pytest.mark.parametrize("zeros", [0.0, 0.7, 0.97])
def test_a_feature_that_becomes_0_is_seen_however_rarely_it_was_not(zeros, tmp_path):
    random = np.random.default_rng(0)

    def day():
        return Table(rare=random.gamma(2, size=3000) * (random.random(3000) >= zeros))

    reference = day()
    for _ in range(20):
        loop.check_features(tmp_path, day(), reference)  # a good day
    with pytest.raises(loop.Stop, match="'rare' has drifted by"):
        loop.check_features(tmp_path, Table(rare=np.zeros(3000)), reference)


def reverse_judgments(day):
    with open(day / "judgments.csv") as file:
        header, *rows = csv.reader(file)
    judged = [[query, document, 4 - int(grade)] for query, document, grade in rows]
    with open(day / "judgments.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *judged])


def test_a_worse_model_is_refused_with_a_report(folder, capsys):
    day = folder / "days" / "2"
    loop.synthetic_day(day, 2)
    reverse_judgments(day)
    assert night(folder, "2") == 1
    assert "The old ranker stays" in capsys.readouterr().err
    assert "<html" in (day / "report.html").read_text()
    assert not (folder / "models" / "2").exists()
    assert loop.served_models(folder) == ["1"]


def test_clicks_take_the_place_of_judgments(folder, capsys):
    loop.synthetic_day(folder / "days" / "2", 4, clicks=True)
    X, y, qid = loop.read_day(folder / "days" / "2")
    assert len(y) == len(qid) == len(X)
    assert len(np.unique(y)) > 100
    capsys.readouterr()
    assert night(folder, "2") == 0
    assert not capsys.readouterr().err


def test_clicks_without_a_column_change_nothing(folder, capsys):
    loop.synthetic_day(folder / "days" / "4", 4, clicks=True)
    path = folder / "days" / "4" / "clicks.csv"
    path.write_text(path.read_text().replace("session", "visit", 1))
    assert night(folder, "4") == 1
    message = capsys.readouterr().err
    assert message == f"nothing has changed: {path} lacks the column 'session'\n"
    assert loop.served_models(folder) == ["1"]


def test_a_reference_of_clicks_is_warned_of_and_its_report_has_no_advice_on_grades(
    tmp_path, uploads, capsys, monkeypatch
):
    loop.synthetic_day(tmp_path / "reference", 0, clicks=True)
    loop.synthetic_day(tmp_path / "days" / "1", 1)
    loop.synthetic_day(tmp_path / "days" / "2", 2)
    assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 0
    assert "reference has clicks and no judgments: the gate" in capsys.readouterr().err

    reverse_judgments(tmp_path / "days" / "2")
    with warnings.catch_warnings(action="error"):
        assert night(tmp_path, "2") == 1
    assert (tmp_path / "days" / "2" / "report.html").exists()


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
    assert loop.main(["back", "--folder", str(folder)]) == 75
    assert f"Another loop runs in {folder}." in capsys.readouterr().err
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
