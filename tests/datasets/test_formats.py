"""Formats: the suffix of a file's name says how it is read and written."""

import gzip

import pytest
from command_line import run

from treerank.datasets import formats


def test_data_are_written_and_read_by_the_suffix(tmp_path):
    for name in ("plain.txt", "packed.txt.gz"):
        formats.write_ranking_data(
            tmp_path / name, [[1.0], [0.0]], [1, 0], [7, 7], comments=["a", ""]
        )
        data = formats.read_ranking_data(tmp_path / name, comments=True)
        assert data.X.tolist() == [[1], [0]]
        assert data.comments.tolist() == ["a", ""]
    packed = gzip.decompress((tmp_path / "packed.txt.gz").read_bytes())
    assert packed == (tmp_path / "plain.txt").read_bytes()


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.dat", "a.gz", "txt"])
def test_any_other_suffix_is_letor(name):
    assert formats.format_of(name) is formats.LETOR


@pytest.mark.parametrize("name", ["a.xls", "a.txt.bz2", "a.gz", "A.PARQUET", "a.parquet.gz"])
def test_no_file_is_written_under_the_suffix_of_no_format(tmp_path, name):
    message = rf"{name}: .* LETOR \(.txt, .txt.gz\), Parquet, .*\); got the suffix '\.\w+'"
    with pytest.raises(ValueError, match=message):
        formats.write_ranking_data(tmp_path / name, [[1.0]], [1], [7])
    assert not (tmp_path / name).exists()


def test_a_conversion_names_the_formats_before_it_reads(tmp_path):
    source, target = tmp_path / "a.txt", tmp_path / "a.xls"
    source.write_text("no LETOR file")
    refused = run("convert", source, target)
    assert refused.exit_code == 1
    assert "a.xls: the name must be that of LETOR (.txt, .txt.gz)," in refused.stderr
    assert not target.exists()


def test_a_name_without_a_suffix_is_written_as_letor(tmp_path):
    folder = tmp_path / "a.csv"
    folder.mkdir()
    formats.write_ranking_data(folder / "rows", [[1.0]], [1], [7])
    assert (folder / "rows").read_text() == "1 qid:7 1:1\n"


def test_the_longest_suffix_decides(monkeypatch):
    monkeypatch.setitem(formats.FORMATS, ".gz", formats.FileFormat("any", "", ""))
    assert formats.format_of("a.txt.gz") is formats.LETOR
    assert formats.format_of("a.gz").name == "any"
