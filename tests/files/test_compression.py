import bz2
import gzip
import io
import lzma
import os
import subprocess
import threading

import numpy as np
import pytest

from treerank.datasets import read_letor, read_trec_qrels
from treerank.files.compression import TEXT_IN_UTF8, Text, compressed, open_text, text_blocks
from treerank.search_engines import read_judgments


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            bz2.compress(b"1 qid:1"),
            r"compressed by bzip2\. Decompress it, or compress it by gzip\.",
        ),
        (lzma.compress(b"1 qid:1"), r"compressed by xz\. Decompress it, or compress it by gzip\."),
        ("1 qid:1".encode("utf-16"), r"UTF-16\. `iconv -f utf-16 -t utf-8` makes UTF-8 of it\."),
    ],
    ids=["bzip2", "xz", "UTF-16"],
)
def test_what_is_no_text_is_refused_with_what_makes_text_of_it(tmp_path, content, message):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    message = rf"a\.txt: must be text in UTF-8, plain or gzip; got .*{message}$"
    for read in (read_letor, read_trec_qrels, read_judgments):
        with pytest.raises(ValueError, match=message):
            read(path)


@pytest.mark.posix
def test_an_advised_command_makes_text_of_other_text(tmp_path):
    command = TEXT_IN_UTF8.split("`")[1].split()
    (tmp_path / "a.txt").write_text("1 qid:caf\xe9 1:2\n", encoding="latin-1")
    with pytest.raises(ValueError, match="query id must be text in UTF-8, as `iconv -f latin1"):
        read_letor(tmp_path / "a.txt")
    text = subprocess.run([*command, tmp_path / "a.txt"], stdout=subprocess.PIPE, check=True).stdout
    (tmp_path / "b.txt").write_bytes(text)
    assert read_letor(tmp_path / "b.txt").qid.tolist() == ["caf\xe9"]


def test_level_6_is_written():
    text = np.random.default_rng(0).integers(5, size=20_000).astype("S1").tobytes()
    file = io.BytesIO()
    with compressed(file, "a.gz") as stream:
        stream.write(text)
    levels = [gzip.compress(text, level, mtime=0)[10:] for level in range(1, 10)]
    assert [file.getvalue()[10:] == level for level in levels].index(True) == 5


@pytest.mark.parametrize("first_bytes", [b"", b"ab"])
def test_the_expected_size_of_gzip_is_what_its_end_says_up_to_the_largest_ratio(
    tmp_path, first_bytes
):
    end = first_bytes + (2_000).to_bytes(4, "little")
    for text, expected in ((end, 2_000), (first_bytes + b"\xff" * 4, 1032 * len(end))):
        (tmp_path / "a.gz").write_bytes(text)
        with open_text(tmp_path / "a.gz") as opened:
            assert opened.expected_size == expected
    (tmp_path / "a.gz").write_bytes(b"\xff" * 3)
    with open_text(tmp_path / "a.gz") as opened:
        assert opened.expected_size == 3


@pytest.mark.posix
def test_the_size_of_a_pipe_is_not_known(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"qid",))
    thread.start()
    with open_text(tmp_path / "pipe") as opened:
        assert (opened.expected_size, opened.stream.read()) == (0, b"qid")
    thread.join()


def test_the_mark_of_utf_8_is_left_out_before_the_first_line_only():
    mark = b"\xef\xbb\xbf"
    text = Text("a", io.BytesIO(mark + b"a\nb\n" + mark + b"c\n" + mark + b"d"), 0)
    blocks = [tuple(block) for block in text_blocks(text, 8)]
    assert blocks == [(b"a\nb\n", 1), (mark + b"c\n", 3), (mark + b"d\n", 4)]
