"""The loop of the examples: what a night serves, what it refuses, and what it leaves as it was."""

import base64
import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from treerank import load

SCRIPT = Path(__file__).parents[1] / "examples" / "loop.py"
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "loop.md"


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
    assert err.endswith("\nserved: 4\n")
    assert [body["model"]["name"] for *_, body in uploads] == ["shop-1", "shop-3", "shop-4"]
    assert loop.served_models(folder) == loop.learned_days(folder) == ["1", "3", "4"]
    assert loop.main(every_night) == 1
    todo = "Learn from one with night DAY, or delete its folder.\n"
    earlier = f"left out: 2 (earlier than 4). {todo}"
    assert (
        capsys.readouterr().err
        == earlier + f"nothing has changed: {folder / 'days'} has no day after 4\n"
    )

    assert loop.main(["back", "--folder", str(folder)]) == 0
    capsys.readouterr()
    assert loop.main(every_night) == 1  # what was taken back stays so
    assert f"left out: 4 (taken back). {todo}" in capsys.readouterr().err
    assert loop.served_models(folder) == ["1", "3"]
    (folder / "days" / "5.part").rename(folder / "days" / "5")
    assert loop.main(every_night) == 0
    assert loop.served_models(folder) == ["1", "3", "5"]
    assert loop.read_lines(folder / "learned.txt") == ["1", "3", "4", "5"]


def test_days_that_are_left_out_are_sorted_and_those_without_a_folder_not_named(tmp_path, capsys):
    loop.write_served(tmp_path, ["2"])
    loop.write_lines(tmp_path / "learned.txt", ["2", "6", "4", "7"])
    for day in "23468":
        (tmp_path / "days" / day).mkdir(parents=True)
    assert loop.next_days(tmp_path) == ["8"]
    err = capsys.readouterr().err
    assert "left out: 3 (earlier than 7)." in err
    assert "left out: 4, 6 (taken back)." in err


def test_days_with_few_queries_wait_and_are_learned_from_together(
    folder, uploads, capsys, monkeypatch
):
    monkeypatch.setattr(loop, "FEWEST_QUERIES", 200)  # a day has 150
    every_night = ["night", "--folder", str(folder)]
    loop.synthetic_day(folder / "days" / "3", 3)
    capsys.readouterr()
    assert loop.main(every_night) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("waiting for more: 3, with labels of 150 of the 200 queries needed")
    assert loop.served_models(folder) == ["1"]

    (folder / "days" / "4").mkdir()  # cannot be read, and day 3 still waits
    loop.synthetic_day(folder / "days" / "5", 4, clicks=True)
    assert loop.main(every_night) == 1
    out, err = capsys.readouterr()
    assert out.startswith("served: 5.")
    assert err.startswith(f"4 has changed nothing: {folder / 'days' / '4'} has neither")
    assert [body["model"]["name"] for *_, body in uploads] == ["shop-1", "shop-5"]
    assert loop.served_models(folder) == ["1", "5"]
    assert loop.read_lines(folder / "learned.txt") == ["1", "3", "5"]

    loop.synthetic_day(folder / "days" / "6", 2, broken=True)
    loop.synthetic_day(folder / "days" / "7", 6)
    loop.synthetic_day(folder / "days" / "8", 7)
    assert loop.main(every_night) == 1  # 6 and 7 are refused together, 8 waits
    err = capsys.readouterr().err
    assert "6, 7 has changed nothing: in 6, 7, 'bm25' has drifted by 0.5" in err
    assert "waiting for more: 8, with labels of 150 of" in err
    assert err.endswith("\nserved: 5\n")
    assert night(folder, "8") == 1
    assert "8 has labels of 150 queries; 200 are needed" in capsys.readouterr().err
    assert loop.main(["night", "8", "7", "--folder", str(folder)]) == 0
    assert loop.served_models(folder) == ["1", "5", "8"]
    assert loop.read_lines(folder / "learned.txt") == ["1", "3", "5", "7", "8"]


def test_a_query_of_two_days_counts_as_two(monkeypatch):
    monkeypatch.setattr(loop, "FEWEST_QUERIES", 2)

    def day(*values):
        return pa.table({"a": [*values]}), np.ones(len(values)), np.array(["q"] * len(values))

    with pytest.raises(loop.Stop, match="1 has labels of 1 queries; 2 are needed"):
        loop.together({"1": day(3.0)})
    X, y, qid = loop.together({"1": day(3.0, 4.0), "2": day(5.0)})
    assert X.to_pydict() == {"a": [3.0, 4.0, 5.0]}
    assert y.tolist() == [1, 1, 1]
    assert qid.tolist() == ["1 q", "1 q", "2 q"]


def test_a_feature_is_added_with_a_new_reference_and_a_new_start(folder, capsys):
    def add(entries):
        return [*entries, {"name": "new", "value": entries[0]["value"] / 2}]

    loop.synthetic_day(folder / "days" / "3", 3)
    edit(folder / "days" / "3", add)
    assert night(folder, "3") == 1
    message = capsys.readouterr().err
    assert "the log has the feature 'new', which the served model does not have. To add" in message
    assert str(folder / "days" / "3" / "log.json") in message
    start = ["start", "3", "--folder", str(folder)]
    assert loop.main(start) == 1
    assert "'new', which the reference does not have" in capsys.readouterr().err
    edit(folder / "reference", add)
    assert loop.main(start) == 0
    assert loop.served_models(folder) == ["1", "3"]
    model = load(folder / "models" / "3" / "model.treerank")
    assert model.feature_names_in_.tolist() == [*loop.FEATURES, "new"]


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


def test_a_failed_upload_does_not_hide_that_a_day_was_refused(folder, capsys, monkeypatch):
    loop.synthetic_day(folder / "days" / "2", 2, broken=True)
    loop.synthetic_day(folder / "days" / "3", 3)
    loop.synthetic_day(folder / "days" / "4", 4, clicks=True)
    every_night = ["night", "--folder", str(folder)]
    with loop.synthetic_engine([201, 503, 201]) as (url, _):
        monkeypatch.setenv("SEARCH_URL", url)
        assert loop.main(every_night) == 1  # not 75: the same night, run again, ends with 0
        errors = capsys.readouterr().err
        assert errors.startswith("2 has changed nothing")
        assert "The next night tries again.\nserved: 3\n" in errors
        assert loop.main(every_night) == 0
    assert loop.served_models(folder) == ["1", "3", "4.2"]


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
def test_an_upload_needs_the_address_of_an_engine(url, tmp_path, monkeypatch):
    monkeypatch.delenv("SEARCH_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("SEARCH_URL", url)
    (tmp_path / "upload.json").write_text("{}")
    with pytest.raises(loop.Stop, match="SEARCH_URL must be the address of the engine"):
        loop.upload(tmp_path / "upload.json", "POST _ltr", "shop-1")


def test_an_upload_by_your_own_command(folder, uploads, monkeypatch, capsys):
    monkeypatch.delenv("SEARCH_URL")
    loop.synthetic_day(folder / "days" / "3", 3)
    assert night(folder, "3") == 1
    assert "nothing has changed: the variable SEARCH_URL must be" in capsys.readouterr().err

    copy = "import shutil, sys; shutil.copy(sys.argv[1], 'engine/' + sys.argv[2])"

    def upload(path, request, name):
        subprocess.run([sys.executable, "-c", copy, path, name], check=True, cwd=folder)

    monkeypatch.setattr(loop, "upload", upload)
    assert night(folder, "3") == 75  # there is no folder "engine"
    assert "The upload of shop-3.2 failed" in capsys.readouterr().err
    assert loop.served_models(folder) == ["1"]
    (folder / "engine").mkdir()
    assert night(folder, "3") == 0
    assert loop.served_models(folder) == ["1", "3.3"]
    assert json.loads((folder / "engine" / "shop-3.3").read_text())["model"]["name"] == "shop-3.3"
    assert len(uploads) == 1  # of the start


def test_a_format_that_no_engine_takes_is_refused_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(loop, "FORMAT", "vespa")
    assert loop.main(["start", "1", "--folder", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "nothing has changed: FORMAT must be one of opensearch, elasticsearch-plugin, "
        "elasticsearch, solr; got 'vespa'\n"
    )


def test_back_to_a_day(tmp_path, capsys):
    def back(*day):
        return loop.main(["back", *day, "--folder", str(tmp_path)])

    loop.write_served(tmp_path, ["1", "2.3", "20", "3", "4"])
    assert back("5") == back("4") == 1
    err = capsys.readouterr().err
    assert "no model of 4 was served before 4. For one that was taken back, add its name" in err
    assert f"as last line of {tmp_path / 'served.txt'}\n" in err
    assert loop.served_models(tmp_path) == ["1", "2.3", "20", "3", "4"]
    assert back("2") == 0
    assert loop.served_models(tmp_path) == ["1", "2.3"]
    with pytest.raises(SystemExit):
        back("1", "2")


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
        ("6", "log.json: the log lacks the feature 'bm25', which the served model has"),
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
    (folder / "days" / "5" / "judgments.csv").write_text("query,docid,grade\nq,p1,1\n")
    assert night(folder, "5") == 1
    assert "log.json: must be JSON" in capsys.readouterr().err
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


def test_what_is_wrong_with_a_day_is_said_with_its_file_and_line(tmp_path):
    day = tmp_path / "days" / "4"
    loop.synthetic_day(day, 4, clicks=True)
    path = day / "clicks.csv"
    text = path.read_text()

    def clicks(rows, message):
        path.write_text("session,query,document,position,click\n" + rows)
        with pytest.raises(loop.Stop, match=re.escape(message)):
            loop.read_day(day, loop.FEATURES)

    rule = "position and click must be integers; got"
    clicks("s,4 query 0,p1,1,1\ns,4 query 0,p2,,0\n", f"{path}, line 3: {rule} '' and '0'")
    clicks("s,4 query 0,p1,1\n", f"{path}, line 2: {rule} '1' and None")
    clicks("s,4 query 0,p1,1,0\n", f"{path}: click must be 1 in some row")
    clicks("s,4 query 0,p99,1,1\n", f"{path}: features must have a row for each document")
    path.unlink()
    with pytest.raises(loop.Stop, match=re.escape(f"{day} has neither judgments.csv nor clicks")):
        loop.read_day(day)
    (day / "judgments.csv").write_text("query,docid,grade\nshoes,p1,1\n")
    with pytest.raises(loop.Stop, match="4: judgments must be of documents in the log"):
        loop.read_day(day)
    (day / "judgments.csv").unlink()
    path.write_text(text)
    assert loop.count_labeled([loop.read_day(day, loop.FEATURES)]) == 150


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
    assert "2 has labels of 2 queries; 100 are needed (FEWEST_QUERIES)" in capsys.readouterr().err
    lines = (folder / "reference" / "judgments.csv").read_text().splitlines()
    (folder / "reference" / "judgments.csv").write_text("\n".join(lines[:41]))
    with pytest.raises(loop.Stop, match=r"of 2 queries; 100 .* \(FEWEST_REFERENCE_QUERIES\)"):
        loop.read_reference(folder)


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


def scripts_of_the_page():
    """Return night.sh, fetch.sh and keep.sh."""
    return re.findall(
        r"^```bash\n(#!/bin/bash\n.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )


def workflow():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(SCRIPT.with_name("nightly.yml").read_text(encoding="utf-8"))


def steps_of_the_workflow():
    return workflow()["jobs"]["night"]["steps"]


def test_the_workflow_runs_the_script_without_a_secret_in_it():
    assert workflow()["permissions"] == {}
    steps = steps_of_the_workflow()
    assert any("loop.py night" in step.get("run", "") for step in steps)
    values = [value for step in steps for value in step.get("env", {}).values()]
    assert values
    assert all(value.startswith("${{ ") for value in values)


def command(path, *lines):
    """Write a shell script that stands for a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def bash(folder, script, *options):
    """Run a script where the commands of ``folder / "bin"`` come first; return its exit code."""
    environment = {
        "PATH": f"{folder / 'bin'}{os.pathsep}/usr/bin:/bin",
        "BUCKET": str(folder / "bucket"),
    }
    done = subprocess.run(["bash", *options, "-c", script], cwd=folder, env=environment, timeout=60)
    return done.returncode


no_windows = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for Linux")


@no_windows
@pytest.mark.parametrize("codes", [[0], [1], [75, 0], [75, 1], [75, 75, 75]], ids=str)
@pytest.mark.parametrize("where", ["cron", "workflow"])
def test_a_night_is_run_again_after_a_failed_upload(where, codes, tmp_path):
    if where == "cron":
        script = scripts_of_the_page()[0].replace("/srv/ranker", str(tmp_path))
        python = tmp_path / "venv" / "bin" / "python"
    else:
        (script,) = (
            step["run"] for step in steps_of_the_workflow() if "loop.py" in step.get("run", "")
        )
        python = tmp_path / "bin" / "python"
    (tmp_path / "codes").write_text("".join(f"{code}\n" for code in codes))
    (tmp_path / "variables").write_text("SEARCH_URL='https://a b'\n")
    command(
        python,
        'echo "$SEARCH_URL $*" >> calls',
        "n=$(wc -l < calls)",
        'echo "attempt" $n',
        'exit $(sed -n "${n}p" codes)',
    )
    command(tmp_path / "bin" / "sleep", "exit 0")
    command(tmp_path / "bin" / "mail", 'echo "$2" > subject', "cat > body")
    assert bash(tmp_path, script, *["-e"] if where == "workflow" else []) == codes[-1]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [f"{'https://a b' if where == 'cron' else ''} loop.py night"] * len(codes)
    if where == "cron" and codes[-1]:
        assert (tmp_path / "subject").read_text() == f"ranker: exit code {codes[-1]}\n"
        attempts = [f"attempt {number}" for number in range(1, len(codes) + 1)]
        assert (tmp_path / "body").read_text().splitlines() == attempts
    else:
        assert not (tmp_path / "subject").exists()


@no_windows
def test_what_one_runner_keeps_the_next_one_fetches(tmp_path):
    _, fetch, keep = scripts_of_the_page()
    here, there = tmp_path / "here", tmp_path / "there"
    for runner in (here, there):
        command(
            runner / "bin" / "aws",
            'case "$2" in',
            'sync) mkdir -p "$4" && cp -R "$3/." "$4" ;;',
            'cp) cp "$3" "$4" ;;',
            "esac",
        )
    (here / "models" / "1").mkdir(parents=True)
    (here / "models" / "1" / "model.treerank").write_text("a model")
    (here / "requirements.txt").write_text("treerank")
    assert bash(here, keep) != 0  # nothing is served yet
    loop.write_served(here, ["1"])
    loop.write_lines(here / "learned.txt", ["0", "1"])
    assert bash(here, keep) == 0
    (here / "bucket" / "days" / "2").mkdir(parents=True)
    (here / "bucket").rename(there / "bucket")
    assert bash(there, fetch) == 0
    assert loop.served_models(there) == ["1"]
    assert loop.learned_days(there) == ["0", "1"]
    assert (there / "models" / "1" / "model.treerank").read_text() == "a model"
    assert (there / "days" / "2").is_dir()
    assert not (there / "requirements.txt").exists()
