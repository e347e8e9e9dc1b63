import gzip
import io

import pytest

from treerank.files.compression import compressed, open_text


@pytest.mark.parametrize("name", ["a.csv.gz", "B.CSV.GZ"])
def test_the_same_text_gives_the_same_bytes_without_a_name_or_a_time(name):
    file = io.BytesIO()
    with compressed(file, name) as stream:
        stream.write(b"qid,label\n" * 50)
    # The header of RFC 1952: magic number, deflate, no flags and so no name, no time.
    assert file.getvalue()[:8] == b"\x1f\x8b\x08" + bytes(5)
    assert len(file.getvalue()) < 100


def test_other_names_are_written_as_they_are():
    file = io.BytesIO()
    with compressed(file, "a.csv") as stream:
        stream.write(b"qid")
    assert file.getvalue() == b"qid"


@pytest.mark.parametrize("text", [b"", b"qid", b"qid,label\n" * 5000])
def test_the_expected_size_of_a_file_is_that_of_its_text(tmp_path, text):
    for name, content in (("a.csv", text), ("a.csv.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        with open_text(tmp_path / name) as opened:
            assert len(text) <= opened.expected_size <= max(len(text), len(content))
            assert opened.stream.read() == text  # from its beginning


def test_a_file_too_short_for_gzip_is_refused_when_it_is_read(tmp_path):
    (tmp_path / "a.gz").write_bytes(b"abc")

    def read():
        with open_text(tmp_path / "a.gz") as opened:
            opened.stream.read()

    with pytest.raises(ValueError, match=r"a\.gz: the gzip stream must be whole"):
        read()
