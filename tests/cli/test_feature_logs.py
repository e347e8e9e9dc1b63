import json

import pytest
from command_line import run
from search_files import FEATURES, JUDGED, LOGGED, judgment_files, plugin

from treerank import read_csv, read_letor
from treerank.datasets.parquet_files import column_names


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({query: plugin(LOGGED[query]) for query in LOGGED}))
    (tmp_path / "book.csv").write_text(judgment_files(JUDGED)["book.csv"])
    return path


def test_a_feature_log_becomes_a_table_of_the_judged_documents(log, tmp_path):
    target = tmp_path / "train.csv"
    result = run("convert", log, target, "--judgments", tmp_path / "book.csv", "--query", "search")
    assert result.stderr.count("1 of them not judged") == 1
    data = read_csv(target, query="search", document="document")
    assert column_names(target) == ["search", "label", "document", *FEATURES]
    assert list(zip(data.qid, data.doc_ids, data.y, strict=True)) == JUDGED
    for path in (log, tmp_path / "book.csv"):  # no spaces in the ids of LETOR rows
        path.write_text(path.read_text().replace("red shoes", "shoes"))
    run("convert", log, tmp_path / "train.txt", "--judgments", tmp_path / "book.csv")
    assert [*read_letor(tmp_path / "train.txt", comments=True).doc_ids] == [*data.doc_ids]


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
