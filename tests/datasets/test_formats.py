import gzip

import pytest
from command_line import refusal, run

from treerank.datasets import formats


@pytest.mark.parametrize("name", ["plain.txt", "packed.txt.gz", "rows"])
def test_a_file_is_converted_by_the_suffix(tmp_path, name):
    source = tmp_path / "a.csv" / "b.csv"  # the suffix of a folder says nothing
    source.parent.mkdir()
    source.write_text("label,query,x,comment\n1,7,1,a\n0,7,0.5,\n")
    run("convert", source, source.with_name(name))
    content = source.with_name(name).read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    assert text == b"1 qid:7 1:1 # a\n0 qid:7 1:0.5\n"


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.dat", "a.gz", "txt"])
def test_any_other_suffix_is_letor(name):
    assert formats.format_of(name) is formats.LETOR


def test_an_option_of_another_format_is_refused_with_the_names_of_tables():
    message = r"label must not be set for .* LETOR; .* for shop\. .*\(\.parquet, \.csv,"
    with pytest.raises(ValueError, match=message):
        formats.read_ranking_data("shop", label="grade")
    with pytest.raises(ValueError, match="sparse must not be set for a file of format Parquet"):
        formats.read_ranking_data("shop.parquet", sparse=True)


@pytest.mark.parametrize("name", ["a.xls", "a.txt.bz2", "a.gz", "A.PARQUET", "a.parquet.gz"])
def test_no_file_is_written_under_the_suffix_of_no_format(tmp_path, name):
    (tmp_path / "a.txt").write_text("no LETOR file")  # the formats are named before it is read
    said = refusal("convert", tmp_path / "a.txt", tmp_path / name)
    assert f"{name}: the name must be that of LETOR (.txt, .txt.gz), Parquet," in said
    assert "got the suffix '." in said
    assert not (tmp_path / name).exists()


def test_the_longest_suffix_decides(monkeypatch):
    monkeypatch.setitem(formats.FORMATS, ".gz", formats.FileFormat("any", "", "", ""))
    assert formats.format_of("a.txt.gz") is formats.LETOR
    assert formats.format_of("a.gz").name == "any"
