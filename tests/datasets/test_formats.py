from inspect import signature

import pytest
from command_line import refusal

from treerank.datasets import formats
from treerank.lazy import load_object


@pytest.mark.parametrize("of_format", [formats.LETOR, formats.PARQUET])
def test_a_format_takes_all_options_of_its_readers(of_format):
    options = set(signature(load_object(of_format.reader)).parameters) - {"path"}
    assert options == {*of_format.options}
    in_batches = set(signature(load_object(of_format.batch_reader)).parameters)
    assert options - in_batches <= {"sparse", "dtype"}


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.csv/rows", "a.dat", "a.gz", "txt"])
def test_any_other_suffix_is_letor(name):  # that of a folder says nothing
    assert formats.format_of(name) is formats.LETOR
    if name not in ("a.dat", "a.gz"):
        assert formats.format_to_write(name) is formats.LETOR


def test_an_option_of_another_format_is_refused_with_the_names_of_tables():
    message = r"label must not be set for .* LETOR; .* for shop\. .*\(\.parquet, \.csv,"
    with pytest.raises(ValueError, match=message):
        formats.read_ranking_data("shop", label="grade")
    with pytest.raises(ValueError, match="sparse must not be set for a file of format Parquet"):
        formats.read_ranking_data("shop.parquet", sparse=True)


@pytest.mark.parametrize("name", ["a.xls", "a.txt.bz2", "a.gz", "a.PARQ", "a.parquet.gz"])
def test_no_file_is_written_under_the_suffix_of_no_format(tmp_path, name):
    (tmp_path / "a.txt").write_text("no LETOR file")  # the formats are named before it is read
    said = refusal("convert", tmp_path / "a.txt", tmp_path / name)
    assert f"{name}: the suffix must be one of LETOR (.txt, .txt.gz), Parquet," in said
    assert "got the suffix '." in said
    assert not (tmp_path / name).exists()


def test_the_longest_suffix_decides(monkeypatch):
    monkeypatch.setitem(formats.FORMATS, ".gz", formats.FileFormat("any", "", "", ""))
    assert formats.format_of("a.txt.gz") is formats.LETOR
    assert formats.format_of("a.gz").name == "any"
