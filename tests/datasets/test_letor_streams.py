import gzip
import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest
from letor_blocks import read_in_blocks

from treerank.datasets.letor import read_letor
from treerank.files.compression import Text, text_blocks

pytestmark = pytest.mark.posix

TEXT = b"".join(b"%d qid:%d 1:%05d\n" % (i % 2, 1 + i // 100 % 9, i) for i in range(3000))
PACKED = gzip.compress(TEXT[:20_000]) + gzip.compress(TEXT[20_000:])


def assert_whole(data):
    assert data.X[:, 0].tolist() == list(range(3000))
    assert data.y.tolist() == [0, 1] * 1500


def fed(path, content, n_bytes):
    """Make a pipe and feed it some bytes at a time."""

    def feed():
        with open(path, "wb", buffering=0) as pipe:
            for start in range(0, len(content), n_bytes):
                pipe.write(content[start : start + n_bytes])

    os.mkfifo(path)
    feeder = threading.Thread(target=feed)
    feeder.start()
    return feeder


@pytest.mark.parametrize("content", [TEXT, PACKED], ids=["plain", "gzip"])
@pytest.mark.parametrize("n_bytes", [1, 8192, 10**6])
@pytest.mark.parametrize("block_size", [5000, 2**22])
def test_a_pipe_gives_what_a_file_gives(tmp_path, content, n_bytes, block_size):
    feeder = fed(tmp_path / "pipe", content, n_bytes)
    assert_whole(read_in_blocks(tmp_path / "pipe", block_size))
    feeder.join()


@pytest.mark.parametrize("content", [TEXT, PACKED], ids=["plain", "gzip"])
def test_a_minus_is_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert_whole(read_letor("-"))
    assert not sys.stdin.buffer.closed


def test_errors_name_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1 qid:1 x\n")))
    with pytest.raises(ValueError, match=r"^standard input, line 1, column 9: "):
        read_letor("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="standard input must be open"):
        read_letor("-")


@pytest.mark.parametrize("content", [b"", b"1", b"\x1f", b"\x1f\x8b"])
def test_a_pipe_that_ends_at_once_is_an_error(tmp_path, content):
    feeder = fed(tmp_path / "pipe", content, 1)
    with pytest.raises(ValueError, match=r"line 1, column|gzip stream must be whole"):
        read_letor(tmp_path / "pipe")
    feeder.join()


class Counted(bytes):
    """Bytes that count the bytes which are copied when something is put behind them."""

    n_copied = 0

    def __radd__(self, before):
        Counted.n_copied += len(before)
        return Counted(before + bytes(self))

    def rpartition(self, separator):
        return tuple(map(Counted, super().rpartition(separator)))


def test_a_line_of_many_pieces_is_put_together_once():
    line = b"1 qid:1 1:1 #" + b"x" * 10**5
    pieces = [Counted(line[i : i + 1000]) for i in range(0, len(line), 1000)]
    unread = iter([*pieces, b""])
    text = Text("long", SimpleNamespace(read=lambda _: next(unread)), 0)
    assert [block.text for block in text_blocks(text, 1000)] == [line + b"\n"]
    assert Counted.n_copied < 2 * len(line)
