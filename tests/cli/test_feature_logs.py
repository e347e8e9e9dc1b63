import json

import numpy as np
import pytest
from command_line import SMALL, run
from search_files import FEATURES, JUDGED, LOGGED, judgment_files, plugin

from treerank import get_metric, load, read_letor
from treerank.datasets.formats import read_ranking_data
from treerank.datasets.parquet_files import column_names


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({query: plugin(LOGGED[query]) for query in LOGGED}))
    (tmp_path / "book.csv").write_text(judgment_files(JUDGED)["book.csv"])
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_feature_log_becomes_a_table_of_all_documents(log, suffix, tmp_path):
    target, book = tmp_path / f"train.{suffix}", tmp_path / "book.csv"
    result = run("convert", log, target, "--judgments", book, "--query", "search")
    assert result.stderr.count("5 documents, 1 of them not judged") == 1
    data = read_ranking_data(target, query="search", document="document")
    assert column_names(target) == ["search", "label", "document", *FEATURES]
    expected = [*JUDGED[:2], ("red shoes", "c", np.nan), *JUDGED[2:]]
    np.testing.assert_equal([*zip(data.qid, data.doc_ids, data.y, strict=True)], expected)
    model = tmp_path / "model.treerank"
    run("fit", target, "--model", model, "--query", "search", *SMALL)
    said = run("evaluate", model, target, "--metric", "judged@10", "--json", "-q")
    scores = load(model).predict(data.X)
    value = get_metric("judged@10")(data.y, scores, data.qid)
    assert json.loads(said.stdout)["metrics"]["judged@10"] == value == (2 / 3 + 1) / 2


def test_a_feature_log_becomes_letor_rows_of_the_judged_documents(log, tmp_path):
    for path in (log, tmp_path / "book.csv"):  # no spaces in the ids of LETOR rows
        path.write_text(path.read_text().replace("red shoes", "shoes"))
    target, book = tmp_path / "train.txt", tmp_path / "book.csv"
    said = run("convert", log, target, "--judgments", book, "-q").stderr
    assert said.startswith(f"treerank: warning: {target}: documents must be judged in a LETOR")
    assert "got 1 of 5 that are not, which are left out. Write a CSV or Parquet file" in said
    assert [*read_letor(target, comments=True).doc_ids] == [document for _, document, _ in JUDGED]
    book.write_text(book.read_text() + "shoes,c,1,\n")
    assert run("convert", log, target, "--judgments", book, "-q").stderr == ""
    assert len(read_letor(target)) == 5


def test_judgments_that_are_not_in_the_log_are_warned_of_in_the_words_of_the_shell(log, tmp_path):
    book = tmp_path / "book.csv"
    book.write_text(book.read_text() + "boots,lost,1,\n")
    said = run("convert", log, tmp_path / "train.csv", "--judgments", book, "-q").stderr
    rule = "1 of 5 judgments are of documents that are not in the log."
    assert said == f"treerank: warning: {rule}\n"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--judgments", "film.csv"], 1, "got ['query', 'film', 'rating']. Rename the column.\n"),
        (["--feature-set", "book.csv"], 2, "a feature log: must come with --judgments"),
        (["--judgments", "book.csv", "--id", "sku"], 2, "with no options for the columns of DATA"),
        (["--judgments", "book.csv", "--feature-set", "set.json"], 1, r"lacks \['age'\] and al"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(log, options, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "film.csv").write_text("query,film,rating\nshoes,a,3\n")
    (tmp_path / "set.json").write_text('{"features": [{"name": "age"}]}')
    said = run("convert", log, "train.csv", *options, code=code).stderr
    assert message.replace("\\", "") in said
    assert not (tmp_path / "train.csv").exists()
