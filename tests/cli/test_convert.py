"""Conversions keep the ids of documents: in their column in a table, in the comments of LETOR."""

import pytest
from command_line import refusal, run

from treerank import read_csv
from treerank.datasets import read_letor
from treerank.datasets.formats import read_ranking_data
from treerank.datasets.parquet_files import column_names


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("label,query,sku,price\n1,q,p1,2\n0,q,p2,3\n")
    return path


def test_a_table_keeps_the_name_of_its_column_of_ids(shop, tmp_path):
    path = shop
    for number in range(2):  # once more gives the same
        target = tmp_path / f"{number}.csv"
        run("convert", path, target, "--id", "sku")
        data = read_csv(target, document="sku")
        assert column_names(target) == ["query", "label", "sku", "price"]
        assert data.doc_ids.tolist() == ["p1", "p2"]
        path = target


def test_a_table_keeps_its_comments(shop, tmp_path):
    shop.write_text("label,query,document,price,comment\n1,q,p1,2,seen\n0,q,p2,3,\n")
    for target in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        run("convert", shop, target)
        data = read_ranking_data(target, comments=True)
        assert column_names(target) == ["query", "label", "document", "comment", "price"]
        assert [*data.doc_ids, *data.comments] == ["p1", "p2", "seen", ""]


def test_comments_of_letor_rows_have_each_id_once(shop, tmp_path):
    texts = [tmp_path / f"{number}.txt" for number in range(2)]
    run("convert", shop, texts[0], "--id", "sku")
    assert texts[0].read_text() == "1 qid:q 1:2 # docid = p1\n0 qid:q 1:3 # docid = p2\n"
    table = tmp_path / "noted.csv"
    rows = ["label,query,document,comment,price", "1,q,p1,docid = p1 seen,2", "0,q,p2,seen,3"]
    table.write_text("\n".join(rows))
    run("convert", table, texts[1])
    comments = read_letor(texts[1], comments=True).comments.tolist()
    assert comments == ["docid = p1 seen", "docid = p2 seen"]


def test_ids_with_spaces_are_no_ids_of_letor_rows(shop, tmp_path):
    shop.write_text(shop.read_text().replace("p1", "red 1").replace("p2", "red 2"))
    said = refusal("convert", shop, tmp_path / "a.txt", "--id", "sku")
    assert "ids of documents must be without white space in a LETOR file; got 'red 1'." in said
    assert not (tmp_path / "a.txt").exists()
    run("convert", shop, tmp_path / "a.csv", "--id", "sku")
    assert read_csv(tmp_path / "a.csv", document="sku").doc_ids.tolist() == ["red 1", "red 2"]


def test_letor_rows_without_a_label_are_refused_by_the_name_of_their_file(shop, tmp_path):
    shop.write_text(shop.read_text().replace("0,q,", ",q,"))
    target = tmp_path / "a.txt"
    said = refusal("convert", shop, target, "--drop", "sku")
    assert f"{target}: y must be finite in a LETOR file; got nan in row 1. Leave documents" in said
    assert not target.exists()
