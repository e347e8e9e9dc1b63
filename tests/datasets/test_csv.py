import gzip
import os

import numpy as np
import pandas as pd
import pytest
from command_line import SMALL, run

import treerank
from treerank.clicks import ClickLog
from treerank.datasets import Qrels
from treerank.datasets.formats import read_batches, read_ranking_data
from treerank.datasets.parquet import read_csv, read_parquet, write_parquet

rng = np.random.default_rng(0)
N = 120
TABLE = pd.DataFrame(
    {
        "session": np.repeat([f"q{i}" for i in range(12)], 10),
        "clicks": rng.integers(0, 3, N),
        "sku": [f"item {i}" for i in range(N)],
        "bm25": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "color": rng.choice(["red", "blue"], N),
        "new": rng.random(N) < 0.5,
    }
)
COLUMNS = {"label": "clicks", "query": "session", "document": "sku"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The table as a file of each format."""
    folder = tmp_path_factory.mktemp("tables")
    TABLE.to_parquet(folder / "a.parquet")
    for name, sep in {"a.csv": ",", "a.csv.gz": ",", "a.tsv": "\t", "a.tsv.gz": "\t"}.items():
        TABLE.to_csv(folder / name, sep=sep, index=name == "a.csv")
    return folder


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz"])
def test_text_is_read_as_parquet_is(files, name):
    expected = read_parquet(files / "a.parquet", **COLUMNS)
    batches = read_batches(files / name, batch_size=50, **COLUMNS)
    for data in (read_csv(files / name, **COLUMNS), read_ranking_data(files / name, **COLUMNS)):
        pd.testing.assert_frame_equal(data.X.to_pandas(), expected.X.to_pandas())
        for part in ("y", "qid", "doc_ids"):
            np.testing.assert_array_equal(getattr(data, part), getattr(expected, part))
    assert np.concatenate([b.doc_ids for b in batches]).tolist() == TABLE["sku"].tolist()


def test_cells_may_end_at_semicolons_be_empty_in_many_words_and_have_decimal_commas(tmp_path):
    words = ["", "NA", "N/A", "NaN", "None", "null", "-", "?", "1.5"]
    lines = ["query;label;price;title", *(f"a;1;{word};x, y" for word in words)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in ("a.csv", "b.csv.gz"):
        X = read_csv(tmp_path / name).X.to_pydict()
        assert X["title"] == ["x, y"] * 9
        np.testing.assert_array_equal(np.array(X["price"], float), [np.nan] * 8 + [1.5])
    path = tmp_path / "a.csv"
    rows = "1,1;1;1,5;0,25;1,5;5\n1,10;0;-2;;1,5 kg;5,1\n"
    path.write_text(f"query;label;price;rate;title;id\n{rows}")
    X, _, qid = data = read_csv(path, document="id")
    expected = {"price": [1.5, -2], "title": ["1,5", "1,5 kg"]}
    assert X.select(["price", "title"]).to_pydict() == expected
    np.testing.assert_array_equal(X["rate"].to_numpy(), [0.25, np.nan])
    assert [*qid, *data.doc_ids] == ["1,1", "1,10", "5", "5,1"]


def test_ids_keep_every_character_and_are_joined_as_text(tmp_path):
    path, names = tmp_path / "a.csv", "query,document,position,click,label,f\n"
    path.write_text(f"{names}007,1.10,1,0,3,1\n7,1e2,1,1,0,2\n8,true,1,0,0,2\n")
    data = read_csv(path, document="document")
    assert [*data.qid, *data.doc_ids] == ["007", "7", "8", "1.10", "1e2", "true"]
    assert ClickLog.from_table(path, session="query").items.document.tolist() == [*data.doc_ids]
    path.write_text(f"{names} 7,1.0,1,0,3,1\n-8,2.5,1,1,0,2\n")
    data = read_csv(path, document="document")
    ids = np.array(["7", "-8", "07"]), np.array(["1", "2.5", "1"])
    assert Qrels(*ids, np.array([3, 1, 0])).labels_of(data.qid, data.doc_ids).tolist() == [3, 1]
    assert read_csv(path, features="document").X["document"].to_pylist() == [1, 2.5]


@pytest.mark.parametrize("name", ["b.csv", "b.tsv.gz"])
def test_what_is_written_as_text_is_read_again(tmp_path, name):
    X = np.array([[0.1, np.nan], [1e-300, 3.0]])
    write_parquet(tmp_path / name, X, [1, 0], ["a", "b"], comments=["x", "y,z"])
    data = read_ranking_data(tmp_path / name, comments=True)
    np.testing.assert_array_equal(data.X.to_pandas(), X)
    assert data.comments.tolist() == ["x", "y,z"]


WRONG = {
    "label,query,a\n1,q,2\n0,q\n": r"a CSV file must be whole.*Row #3: Expected 3 columns, got 2",
    "": "a CSV file must be whole and readable; got 'Empty CSV file'",
    "query,a\nq,1\n": "column 'label': the column for label must exist.* Write label='NAME'",
    "label,query,a\n" + "1,q,2\n" * 20 + "0,q,1O\n": "'a': must hold numbers.*'1O' in row 20",
    "label,query,a\n1,q,2024-01-31\n": "'a': must hold numbers, .*date32.* such as days, or drop",
    "label,query,doc_id,a\n1,q,7,2\n": "'doc_id': an id must not be a feature.*document='doc_id'",
    "label|query|a\n1|q|7\n": r"column 'label': the column for label must exist.*label\|query",
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_name_file_column_row_and_rule(tmp_path, text):
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"(?s)^{path}.*{WRONG[text]}"):
        read_csv(path)


def test_the_shell_reads_text_by_names_of_columns_prints_ids_and_refuses_others(files, tmp_path):
    model, columns = tmp_path / "m", ["--label", "clicks", "--query", "session"]
    named = [*columns, "--id", "sku", "--drop", "new"]
    run("fit", files / "a.csv", "--model", model, *named, *SMALL)
    assert treerank.load(model).feature_names_in_.tolist() == ["bm25", "color"]
    ranked = run("rank", model, files / "a.tsv", "--query", "session", "--id", "sku", "--quiet")
    rows = [tuple(line.split("\t")[:2]) for line in ranked.stdout.splitlines()[1:]]
    assert sorted(rows) == sorted(zip(TABLE["session"], TABLE["sku"], strict=True))
    one, other = (run("evaluate", model, files / n, *columns) for n in ("a.csv", "a.parquet"))
    assert one.stdout == other.stdout
    path = tmp_path / "t.csv"  # an id that would be a feature
    path.write_text("label,query,doc_id,a\n1,q,7,2\n0,q,8,3\n")
    refused = run("fit", path, "--model", tmp_path / "m", code=1).stderr
    assert "--id doc_id" in refused
    assert "--drop doc_id" in refused
    run("convert", path, tmp_path / "t.txt.gz", "--id", "doc_id")
    text = gzip.decompress((tmp_path / "t.txt.gz").read_bytes()).decode()
    assert text == "1 qid:q 1:2 # docid = 7\n0 qid:q 1:3 # docid = 8\n"


def test_a_pipe_and_words_of_other_readers_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"read_csv has no sep; .* commas or semicolons"):
        read_csv("a.csv", sep=";")
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a.csv: must be a regular file, which can be read twice"):
        read_csv(tmp_path / "a.csv")
