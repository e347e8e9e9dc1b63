"""Formats: the suffix of a file's name says how it is read and written."""

import gzip

import pytest

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


def test_the_longest_suffix_decides(monkeypatch):
    monkeypatch.setitem(formats.FORMATS, ".gz", formats.Format("any", "", ""))
    assert formats.format_of("a.txt.gz") is formats.LETOR
    assert formats.format_of("a.gz").name == "any"
